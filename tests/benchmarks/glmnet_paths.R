# Called by glmnet_paths.py. Debian: r-cran-glmnet, r-cran-survival.
#
# Rscript glmnet_paths.R data FOLDER
#     writes the survival data NAME.csv (time, event, columns) of the R package survival.
# Rscript glmnet_paths.R fit FOLDER FAMILY
#     reads X.csv, y.csv (class numbers, or time and event) and folds.csv (number of the fold of each
#     row), fits glmnet's path on all rows and on those of each fold, and writes df.csv (the number of
#     columns for each lambda) and link.bin (predictors of all rows: fold by fold rows x lambda, or
#     rows x class x lambda).
suppressMessages({library(glmnet); library(survival)})
args <- commandArgs(trailingOnly = TRUE)
folder <- args[2]

write_data <- function(name, time, event, columns) {
  frame <- data.frame(time = time, event = as.numeric(event), columns)
  frame <- frame[complete.cases(frame), ]
  write.csv(frame, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}

numbers <- function(formula, data) {
  options(na.action = "na.pass")
  model.matrix(formula, data)[, -1]
}

if (args[1] == "data") {
  pbc <- survival::pbc
  write_data("pbc", pbc$time, pbc$status == 2,
             numbers(~ trt + age + sex + ascites + hepato + spiders + edema + bili + chol + albumin +
                       copper + alk.phos + ast + trig + platelet + protime + stage, pbc))
  lung <- survival::lung
  write_data("lung", lung$time, lung$status == 2,
             numbers(~ age + sex + ph.ecog + ph.karno + pat.karno + meal.cal + wt.loss, lung))
  tumours <- survival::rotterdam
  write_data("rotterdam", tumours$dtime, tumours$death == 1,
             numbers(~ year + age + meno + size + factor(grade) + nodes + pgr + er + hormon + chemo,
                     tumours))
} else {
  family <- args[3]
  X <- as.matrix(read.csv(file.path(folder, "X.csv")))
  y <- as.matrix(read.csv(file.path(folder, "y.csv")))
  folds <- read.csv(file.path(folder, "folds.csv"))[, 1]
  response <- if (family == "cox") Surv(y[, 1], y[, 2]) else factor(y[, 1])
  fitted <- function(rows, ...) {
    part <- if (family == "cox") response[rows, ] else response[rows]
    glmnet(X[rows, , drop = FALSE], part, family = family, type.multinomial = "grouped", ...)
  }
  whole <- fitted(seq_along(folds))
  out <- file(file.path(folder, "link.bin"), "wb")
  for (f in sort(unique(folds))) {
    one <- fitted(which(folds != f), lambda = whole$lambda)
    writeBin(as.double(predict(one, X, s = whole$lambda, type = "link")), out)
  }
  close(out)
  write.csv(whole$df, file.path(folder, "df.csv"), row.names = FALSE)
}
