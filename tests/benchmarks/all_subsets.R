# Processor seconds and residual sums of squares of all sizes by the package leaps:
# Rscript all_subsets.R X.csv y.csv repeats -> two lines, seconds and sums of squares.
library(leaps)
args <- commandArgs(trailingOnly = TRUE)
X <- as.matrix(read.csv(args[1], header = FALSE))
y <- scan(args[2], quiet = TRUE)
run <- function() {
  regsubsets(X, y, nvmax = ncol(X), nbest = 1, method = "exhaustive", really.big = TRUE)
}
found <- NULL
seconds <- replicate(as.integer(args[3]), sum(system.time(found <<- run())[1:2]))
cat(min(seconds), "\n")
cat(format(found$ress[, 1], digits = 15), "\n")
