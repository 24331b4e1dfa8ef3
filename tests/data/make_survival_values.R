# Write survival_r.csv and survival_r_values.csv: rows with entry times, ties, weights and strata, and
# what R's package survival says of them (Debian: r-cran-survival 3.5-3).
#
#     Rscript tests/data/make_survival_values.R tests/data

library(survival)
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(4)
n <- 80
rows <- data.frame(a = round(rnorm(n), 2), b = round(rnorm(n), 2), c = round(rnorm(n), 2))
life <- ceiling(6 * rexp(n, exp(0.7 * rows$a - 0.5 * rows$b)))
censored <- ceiling(10 * rexp(n)) + 0.5
rows$stop <- pmin(life, censored)
rows$event <- as.integer(life <= censored)
rows$start <- pmax(0, rows$stop - ceiling(8 * rexp(n)))
rows$weight <- round(runif(n, 0.5, 2), 2)
rows$ward <- sample(c("east", "west"), n, replace = TRUE)
write.csv(rows, file.path(folder, "survival_r.csv"), row.names = FALSE, quote = FALSE)

out <- NULL
keep <- function(case, name, value) {
  out <<- rbind(out, data.frame(case = case, name = name, value = sprintf("%.16g", value)))
}
control <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)
models <- list(
  plain = Surv(stop, event) ~ a + b + c,
  late = Surv(start, stop, event) ~ a + b + c,
  strata = Surv(stop, event) ~ a + b + c + strata(ward),
  late_strata = Surv(start, stop, event) ~ a + b + c + strata(ward)
)
for (ties in c("efron", "breslow")) for (model in names(models)) for (weighted in c(FALSE, TRUE)) {
  w <- if (weighted) rows$weight / mean(rows$weight) else rep(1, n)
  fit <- coxph(models[[model]], rows, weights = w, ties = ties, control = control)
  case <- paste(ties, model, if (weighted) "weighted" else "equal")
  for (name in names(coef(fit))) keep(case, name, coef(fit)[[name]])
  robust <- coxph(models[[model]], rows, weights = w, ties = ties, control = control,
                  cluster = seq_len(n))
  wards <- coxph(models[[model]], rows, weights = w, ties = ties, control = control,
                 cluster = seq_len(n) %% 12)
  for (j in 1:3) {
    name <- names(coef(fit))[j]
    keep(case, paste("se", name), sqrt(robust$naive.var[j, j]))
    keep(case, paste("robust", name), sqrt(robust$var[j, j]))
    keep(case, paste("cluster", name), sqrt(wards$var[j, j]))
  }
  keep(case, "loglik0", fit$loglik[1])
  keep(case, "loglik", fit$loglik[2])
  eta <- as.matrix(rows[c("a", "b", "c")]) %*% coef(fit)
  keep(case, "concordance", concordance(fit)$concordance)
  for (i in 1:3) {
    hazard <- summary(survfit(fit, newdata = rows[i, ]), times = c(2, 5, 9))$cumhaz
    keep(case, paste("hazard", i, c(2, 5, 9)), hazard)
  }
}
fit <- coxph(models$plain, rows, control = control)
keep("uno", "concordance", concordance(fit, timewt = "n/G2")$concordance)
for (weighted in c(FALSE, TRUE)) {
  w <- if (weighted) rows$weight / mean(rows$weight) else rep(1, n)
  curve <- survfit(Surv(stop, event) ~ 1, rows, weights = w, conf.type = "log-log", robust = FALSE)
  case <- if (weighted) "curve weighted" else "curve equal"
  for (i in seq_along(curve$time)) {
    keep(case, paste("survival", curve$time[i]), curve$surv[i])
    keep(case, paste("low", curve$time[i]), curve$lower[i])
    keep(case, paste("high", curve$time[i]), curve$upper[i])
  }
}
curve <- survfit(Surv(start, stop, event) ~ 1, rows)
for (i in seq_along(curve$time)) keep("curve late", paste("survival", curve$time[i]), curve$surv[i])
write.csv(out, file.path(folder, "survival_r_values.csv"), row.names = FALSE, quote = FALSE)
