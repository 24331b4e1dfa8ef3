# Write weights_r.csv and weights_r_values.csv: rows with weights, and what R says of regressions of
# them with weights of mean 1 (Debian: r-base 4.2, r-cran-mass, r-cran-nnet, r-cran-sandwich,
# r-cran-quantreg).
#
#     Rscript tests/data/make_weights_values.R tests/data

suppressMessages({library(MASS); library(nnet); library(sandwich); library(quantreg)})
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(7)
n <- 70
rows <- data.frame(a = round(rnorm(n), 2), b = round(rnorm(n), 2), c = round(rnorm(n), 2))
eta <- 0.8 * rows$a - 0.5 * rows$b
rows$number <- round(2 + 3 * eta + 2 * rnorm(n), 2)
rows$class <- rbinom(n, 1, plogis(eta))
rows$count <- rpois(n, exp(0.5 + eta))
rows$spread <- rnbinom(n, size = 1.5, mu = exp(1 + eta))
rows$amount <- round(rgamma(n, 2, 2 / exp(eta)), 3) + 0.001
rows$level <- cut(eta + rlogis(n), c(-Inf, -0.7, 0.7, Inf), labels = FALSE)
rows$trials <- sample(1:9, n, replace = TRUE)
rows$share <- rbinom(n, rows$trials, plogis(eta)) / rows$trials
rows$weight <- round(runif(n, 20, 90))
rows$copies <- sample(0:4, n, replace = TRUE)
write.csv(rows, file.path(folder, "weights_r.csv"), row.names = FALSE, quote = FALSE)

out <- NULL
keep <- function(case, name, value) {
  out <<- rbind(out, data.frame(case = case, name = name, value = sprintf("%.16g", value)))
}
w <- rows$weight / mean(rows$weight)
again <- rows[rep(seq_len(n), rows$copies), ]
again$importance <- again$weight / mean(again$weight)
control <- glm.control(epsilon = 1e-14, maxit = 100)
write_model <- function(case, fit, robust = NULL, loglik = logLik(fit)) {
  b <- coef(fit)
  for (j in seq_along(b)) {
    name <- sub("(Intercept)", "Intercept", names(b)[j], fixed = TRUE)
    keep(case, name, b[[j]])
    keep(case, paste("se", name), sqrt(vcov(fit)[j, j]))
    if (!is.null(robust)) keep(case, paste("robust", name), sqrt(robust[j, j]))
  }
  keep(case, "loglik", as.numeric(loglik))
}
fit <- lm(number ~ a + b + c, rows, weights = weight)
write_model("squared", fit, vcovHC(fit, type = "HC0"))
keep("squared", "loglik0", as.numeric(logLik(lm(number ~ 1, rows, weights = weight))))
fit <- lm(number ~ a + b + c, again)
write_model("squared copies", fit, vcovHC(fit, type = "HC0"))
fit <- lm(number ~ a + b + c, again, weights = weight)
write_model("squared both", fit, vcovHC(fit, type = "HC0"))
warned <- function(value) suppressWarnings(value)  # of counts that are no whole numbers
glms <- list(
  logistic = list(class ~ a + b + c, binomial()),
  poisson = list(count ~ a + b + c, poisson()),
  gamma = list(amount ~ a + b + c, Gamma(link = "log"))
)
for (case in names(glms)) {
  f <- glms[[case]][[1]]
  rows$w <- w
  fit <- warned(glm(f, glms[[case]][[2]], rows, weights = w, control = control))
  # R rounds weighted counts of the binomial likelihood: the sum is written out
  p <- fitted(fit)
  loglik <- switch(case,
    logistic = sum(w * dbinom(rows$class, 1, p, log = TRUE)),
    poisson = sum(w * dpois(rows$count, p, log = TRUE)),
    gamma = NA
  )
  write_model(case, fit, sandwich(fit), loglik)
  fit <- glm(f, glms[[case]][[2]], again, control = control)
  write_model(paste(case, "copies"), fit, sandwich(fit))
  fit <- warned(glm(f, glms[[case]][[2]], again, weights = importance, control = control))
  write_model(paste(case, "both"), fit, sandwich(fit), NA)
}
rows$wt <- w * rows$trials
fit <- warned(glm(share ~ a + b + c, binomial(), rows, weights = wt, control = control))
loglik <- sum(w * dbinom(round(rows$share * rows$trials), rows$trials, fitted(fit), log = TRUE))
write_model("binomial", fit, sandwich(fit), loglik)
fit <- glm(share ~ a + b + c, binomial(), rows, weights = trials, control = control)
write_model("binomial trials", fit, sandwich(fit))
fit <- polr(factor(level) ~ a + b + c, rows, weights = w, Hess = TRUE,
            control = list(reltol = 1e-15, maxit = 1000))
robust <- warned(sandwich(fit))
for (name in c("a", "b", "c")) {
  keep("ordinal", name, coef(fit)[[name]])
  keep("ordinal", paste("robust", name), sqrt(robust[name, name]))
}
keep("ordinal", "loglik", as.numeric(logLik(fit)))
fit <- multinom(factor(level) ~ a + b + c, rows, weights = w, trace = FALSE, reltol = 1e-15,
                abstol = 1e-15, maxit = 1000)
for (level in rownames(coef(fit))) for (name in c("a", "b", "c"))
  keep("multinomial", paste(level, name), coef(fit)[level, name])
keep("multinomial", "loglik", as.numeric(logLik(fit)))
fit <- glm.nb(spread ~ a + b + c, rows, weights = w, control = glm.control(1e-14, maxit = 200))
write_model("negative_binomial", fit)
keep("negative_binomial", "theta", fit$theta)
fit <- rq(number ~ a + b + c, 0.5, rows, weights = w)
for (name in c("a", "b", "c")) keep("quantile", name, coef(fit)[[name]])
write.csv(out, file.path(folder, "weights_r_values.csv"), row.names = FALSE, quote = FALSE)
