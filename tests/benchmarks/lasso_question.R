# Called by lasso_question.py. Debian: r-cran-glmnet.
#
# Rscript lasso_question.R FOLDER N P FOLDS LAMBDAS
#     reads x.bin (n x p, by columns) and y.bin (n), doubles, and folds.bin (n integers, from 1) of
#     every folder below FOLDER, fits the lasso's path without an intercept on all rows and, at the
#     same lambdas, on the rows outside each fold, and writes coef.bin: for the whole and then for
#     each fold the coefficients p x LAMBDAS (a path that ended early repeats its last model), and
#     seconds.txt, the processor time of all these fits.
options(warn = 1)
suppressMessages(library(glmnet))
args <- commandArgs(trailingOnly = TRUE)
numbers <- as.integer(args[2:5])
n <- numbers[1]; p <- numbers[2]; folds <- numbers[3]; count <- numbers[4]
glmnet.control(fdev = 0)

filled <- function(fit) {
  found <- as.matrix(coef(fit))[-1, , drop = FALSE]
  cbind(found, matrix(rep(found[, ncol(found)], count - ncol(found)), p))
}

for (folder in list.dirs(args[1], recursive = FALSE)) {
  X <- matrix(readBin(file.path(folder, "x.bin"), "double", n * p), n, p)
  y <- readBin(file.path(folder, "y.bin"), "double", n)
  fold <- readBin(file.path(folder, "folds.bin"), "integer", n, size = 4)
  began <- sum(proc.time()[1:2])
  smallest <- if (n < p) 0.01 else 1e-4
  whole <- glmnet(X, y, nlambda = count, lambda.min.ratio = smallest, intercept = FALSE)
  out <- file(file.path(folder, "coef.bin"), "wb")
  writeBin(as.double(filled(whole)), out)
  for (f in seq_len(folds)) {
    part <- glmnet(X[fold != f, ], y[fold != f], lambda = whole$lambda, intercept = FALSE)
    writeBin(as.double(filled(part)), out)
  }
  close(out)
  write(sum(proc.time()[1:2]) - began, file.path(folder, "seconds.txt"))
}
