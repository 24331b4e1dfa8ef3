# Write nested_r.csv and nested_r_values.csv: rows with responses of many kinds, and what R says of
# nested regressions of them (survival 3.5, MASS 7.3, nnet 7.3, lmtest 0.9, sandwich 3.0).
#
#     Rscript tests/data/make_nested_values.R tests/data

suppressMessages({library(survival); library(MASS); library(nnet); library(lmtest); library(sandwich)})
folder <- commandArgs(trailingOnly = TRUE)[1]
set.seed(11)
n <- 120
rows <- data.frame(a = round(rnorm(n), 2), b = round(rnorm(n), 2), c = round(rnorm(n), 2),
                   d = round(rnorm(n), 2))
eta <- 0.6 * rows$a - 0.4 * rows$b + 0.2 * rows$c
rows$real <- round(eta + rnorm(n) * (1 + abs(rows$a)), 3)
rows$sick <- rbinom(n, 1, plogis(eta))
rows$count <- rnbinom(n, size = 2, mu = exp(0.8 + eta))
rows$amount <- round(rgamma(n, 3, 3 / exp(eta)), 4)
rows$grade <- 1 + (eta + rlogis(n) > -1) + (eta + rlogis(n) > 0.5)
rows$kind <- sample(3, n, replace = TRUE) - (rows$a > 0.8)
rows$kind[rows$kind == 0] <- 1
rows$time <- ceiling(10 * rexp(n, exp(eta)))
rows$died <- rbinom(n, 1, 0.7)
rows$ward <- sample(8, n, replace = TRUE)
rows$weight <- round(runif(n, 0.3, 2), 2)
write.csv(rows, file.path(folder, "nested_r.csv"), row.names = FALSE, quote = FALSE)

out <- NULL
keep <- function(case, name, value) {
  out <<- rbind(out, data.frame(case = case, name = name, value = sprintf("%.16g", value)))
}
right <- c("~ a", "~ a + b", "~ a + b + c + d")
three <- function(left, fit) lapply(right, function(r) fit(as.formula(paste(left, r))))
table <- function(case, found, statistic, p) {
  keep(case, paste("statistic", 1:2), found[2:3, statistic])
  keep(case, paste("p", 1:2), found[2:3, p])
}
eps <- list(epsilon = 1e-14, maxit = 200)

m <- three("real", function(f) lm(f, rows))
table("squared", as.data.frame(anova(m[[1]], m[[2]], m[[3]])), "F", "Pr(>F)")
w <- three("real", function(f) lm(f, rows, weights = weight))
table("squared weighted", as.data.frame(anova(w[[1]], w[[2]], w[[3]])), "F", "Pr(>F)")
for (kind in c("HC0", "HC3")) {
  big <- vcovHC(m[[3]], kind)
  found <- as.data.frame(waldtest(m[[1]], m[[3]], vcov = big))
  keep(paste("squared", kind), c("statistic", "p"), unlist(found[2, c("F", "Pr(>F)")]))
  keep(paste("squared", kind), paste("coefficient p", c("one", "a", "b", "c", "d")),
       coeftest(m[[3]], vcov = big)[, 4])
}
big <- vcovCL(m[[3]], rows$ward)
keep("squared cluster", "statistic", waldtest(m[[1]], m[[3]], vcov = big)[2, "F"])
keep("squared cluster", paste("coefficient p", c("one", "a", "b", "c", "d")),
     coeftest(m[[3]], vcov = big, df = 7)[, 4])
keep("squared cluster", paste("low", c("one", "a", "b", "c", "d")),
     coefci(m[[3]], vcov = big, df = 7)[, 1])

families <- list(logistic = c("sick", "binomial"), poisson = c("count", "poisson"))
for (case in names(families)) {
  g <- three(families[[case]][1], function(f) glm(f, families[[case]][2], rows, control = eps))
  table(case, as.data.frame(anova(g[[1]], g[[2]], g[[3]], test = "Chisq")), "Deviance", "Pr(>Chi)")
  big <- vcovHC(g[[3]], "HC0")
  found <- as.data.frame(waldtest(g[[1]], g[[3]], vcov = big, test = "Chisq"))
  keep(paste(case, "HC0"), c("statistic", "p"), unlist(found[2, c("Chisq", "Pr(>Chisq)")]))
}
g <- three("count", function(f) glm(f, "quasipoisson", rows, control = eps))
table("quasipoisson", as.data.frame(anova(g[[1]], g[[2]], g[[3]], test = "F")), "F", "Pr(>F)")
g <- three("amount", function(f) glm(f, Gamma("log"), rows, control = eps))
table("gamma", as.data.frame(anova(g[[1]], g[[2]], g[[3]], test = "F")), "F", "Pr(>F)")
g <- three("count", function(f) glm.nb(f, rows, control = glm.control(epsilon = 1e-14, maxit = 200)))
table("negative_binomial", as.data.frame(anova(g[[1]], g[[2]], g[[3]])), "LR stat.", "Pr(Chi)")
control <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)
for (case in c("cox", "cox strata")) {
  wards <- if (case == "cox") "" else "+ strata(ward)"
  g <- lapply(paste("Surv(time, died)", right, wards), function(f) {
    coxph(as.formula(f), rows, control = control)
  })
  table(case, as.data.frame(anova(g[[1]], g[[2]], g[[3]])), "Chisq", "Pr(>|Chi|)")
}
g <- coxph(Surv(time, died) ~ a + b + c + d, rows, control = control, robust = TRUE,
           cluster = seq_len(n))
b <- coef(g)[2:4]
keep("cox robust", "statistic", drop(t(b) %*% solve(vcov(g)[2:4, 2:4]) %*% b))
g <- three("factor(grade)", function(f) {
  polr(f, rows, Hess = TRUE, control = list(reltol = 1e-15, maxit = 500))
})
table("ordinal", as.data.frame(anova(g[[1]], g[[2]], g[[3]])), "LR stat.", "Pr(Chi)")
keep("ordinal", paste("threshold", 1:2), g[[2]]$zeta)
keep("ordinal", paste("threshold se", 1:2), sqrt(diag(vcov(g[[2]])))[3:4])
g <- three("factor(kind)", function(f) multinom(f, rows, trace = FALSE, reltol = 1e-15, maxit = 500))
found <- as.data.frame(anova(g[[1]], g[[2]], g[[3]]))
table("multinomial", found, "LR stat.", "Pr(Chi)")
write.csv(out, file.path(folder, "nested_r_values.csv"), row.names = FALSE, quote = FALSE)
