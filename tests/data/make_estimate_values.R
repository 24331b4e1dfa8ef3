# Write estimates_r_values.csv: what R says of regressions of the rows of weights_r.csv, with
# intervals of 95 %, p-values, and covariances for unequal variances (Debian: r-base 4.2,
# r-cran-mass, r-cran-nnet, r-cran-survival, r-cran-sandwich).
#
#     Rscript tests/data/make_estimate_values.R tests/data

suppressMessages({library(MASS); library(nnet); library(survival); library(sandwich)})
folder <- commandArgs(trailingOnly = TRUE)[1]
rows <- read.csv(file.path(folder, "weights_r.csv"))
rows$w <- rows$weight / mean(rows$weight)
control <- glm.control(epsilon = 1e-14, maxit = 100)

out <- NULL
keep <- function(case, what, names, values) {
  names <- sub("(Intercept)", "Intercept", names, fixed = TRUE)
  values <- sprintf("%.16g", values)
  out <<- rbind(out, data.frame(case = case, what = what, name = names, value = values))
}
# confint() of glm, polr and glm.nb profiles the likelihood; confint.default has Wald's intervals
write_table <- function(case, b, ends, p) {
  keep(case, "estimate", names(b), b)
  keep(case, "lower", names(b), ends[, 1])
  keep(case, "upper", names(b), ends[, 2])
  if (!is.null(p)) keep(case, "p_value", names(b), p)
}
write_robust <- function(case, fit) {
  for (type in c("HC0", "HC1", "HC2", "HC3"))
    keep(case, type, names(coef(fit)), sqrt(diag(vcovHC(fit, type = type))))
}
write_fit <- function(case, fit) {
  ends <- if (inherits(fit, "glm")) confint.default(fit) else confint(fit)
  write_table(case, coef(fit), ends, coef(summary(fit))[, 4])
  write_robust(case, fit)
}
write_fit("squared", lm(number ~ a + b + c, rows))
write_fit("squared weighted", lm(number ~ a + b + c, rows, weights = w))
families <- list(
  logistic = list(class ~ a + b + c, binomial()),
  poisson = list(count ~ a + b + c, poisson()),
  gamma = list(amount ~ a + b + c, Gamma(link = "log"))
)
for (case in names(families)) {
  f <- families[[case]]
  if (case != "gamma") write_fit(case, glm(f[[1]], f[[2]], rows, control = control))
  else write_robust(case, glm(f[[1]], f[[2]], rows, control = control))
  fit <- suppressWarnings(glm(f[[1]], f[[2]], rows, weights = w, control = control))
  write_robust(paste(case, "weighted"), fit)
}
fit <- glm(share ~ a + b + c, binomial(), rows, weights = trials, control = control)
write_fit("binomial", fit)
fit <- polr(factor(level) ~ a + b + c, rows, Hess = TRUE, control = list(reltol = 1e-15))
write_table("ordinal", coef(fit), confint.default(fit)[1:3, ], NULL)
fit <- multinom(level ~ a + b + c, rows, trace = FALSE, reltol = 1e-15, abstol = 1e-12)
b <- coef(fit)["3", ]
write_table("multinomial", b, confint(fit)[, , "3"], NULL)
fit <- coxph(Surv(amount, class) ~ a + b + c, rows, control = coxph.control(eps = 1e-14))
write_table("cox", coef(fit), confint(fit), coef(summary(fit))[, 5])
write.csv(out, file.path(folder, "estimates_r_values.csv"), row.names = FALSE, quote = FALSE)
