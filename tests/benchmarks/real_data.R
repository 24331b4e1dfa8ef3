# Called by real_data.py. Debian: r-cran-glmnet.
#
# Rscript real_data.R FOLDER FAMILY
#     for every folder below FOLDER reads x.csv, y.csv, folds.csv (training rows, their response and
#     the number of their fold, from 1) and new.csv (test rows), chooses by cross-validation with
#     these folds ("lambda.min") the ridge, the lasso, the elastic net (mixture 1/2) and the relaxed
#     lasso, and writes predictions.csv (linear predictors of the test rows) and counts.csv (nonzero
#     coefficients), a column for each of the four.
options(warn = 1)
suppressMessages(library(glmnet))
args <- commandArgs(trailingOnly = TRUE)
for (folder in list.dirs(args[1], recursive = FALSE)) {
  read <- function(name) as.matrix(read.csv(file.path(folder, name), header = FALSE))
  X <- read("x.csv"); new <- read("new.csv"); y <- read("y.csv")[, 1]; folds <- read("folds.csv")[, 1]
  chosen <- function(...) cv.glmnet(X, y, family = args[2], foldid = folds, ...)
  fits <- list(ridge = chosen(alpha = 0), lasso = chosen(), net = chosen(alpha = 0.5),
               relaxed = chosen(relax = TRUE))
  links <- sapply(fits, function(fit) as.numeric(predict(fit, new, s = "lambda.min")))
  counts <- sapply(fits, function(fit) sum(as.numeric(coef(fit, s = "lambda.min"))[-1] != 0))
  write.csv(links, file.path(folder, "predictions.csv"), row.names = FALSE)
  write.csv(t(counts), file.path(folder, "counts.csv"), row.names = FALSE)
}
