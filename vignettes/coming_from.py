# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Coming from L0Learn, glmnet or abess
#
# If you know one of these R packages, this page is a dictionary: what you write there,
# what you write here, and what is called by the same name and means something else.
# Calls in R are shown as text and not run; everything in Python is run.
#
# One difference comes before all others. L0Learn and glmnet walk along a *penalty* and
# show the models they meet. Here, as in abess, the path goes by default along the
# *size*: one model for every number of features `k`. `penalties_of_others.py` shows how
# penalties correspond.

# %%
import l0path
from l0path.datasets import load_hitters

from common import SHORT

# %% [markdown]
# ## The same analysis
#
# Salaries of 263 baseball players, 19 features: fit, cross-validate, look at one model,
# predict.
#
# ```r
# cv <- L0Learn.cvfit(x, y, penalty = "L0", algorithm = "CDPSI", nFolds = 10, seed = 1)
# lambda <- cv$fit$lambda[[1]][which.min(cv$cvMeans[[1]])]
# coef(cv, lambda = lambda, gamma = 0); predict(cv, newx, lambda = lambda, gamma = 0)
#
# cv <- cv.glmnet(x, y, nfolds = 10)  # the lasso, another model
# plot(cv); coef(cv, s = "lambda.1se"); predict(cv, newx, s = "lambda.1se")
#
# fit <- abess(x, y, tune.type = "cv", nfolds = 10, support.size = 0:19)
# coef(fit, support.size = fit[["best.size"]]); predict(fit, newx)
# ```
#
# and here:

# %%
hitters = load_hitters()
X, y = hitters.X, hitters.y
cv = l0path.cv_fit(X, y, cv=5 if SHORT else 10, random_state=1, lambda2=0)
print(cv.model("1se"))
print("three predictions:", cv.predict(X.iloc[:3], "1se").round(0).tolist())
ax = cv.model("1se").plot()

# %% [markdown]
# ## The fit
#
# | | L0Learn | glmnet | abess | here |
# |---|---|---|---|---|
# | call | `L0Learn.fit(x, y)` | `glmnet(x, y)` | `abess(x, y)` | `l0path.fit(X, y)` |
# | formula | | | `abess(y ~ ., data)` | `fit("y ~ .", data)`; factors and splines come in whole |
# | loss | `loss = "Logistic"`, ... | `family = "binomial"`, ... | as glmnet | `loss="logistic"`, ... |
# | sizes | `maxSuppSize` | `dfmax` | `support.size` | `max_k=10`, `k=[3, 5]` |
# | bounds | `lows`, `highs` | `lower.limits`, `upper.limits` | `beta.low`, `beta.high` | `lower`, `upper` |
# | intercept | `intercept` | `intercept` | `fit.intercept` | `fit_intercept` |
# | scaling | always | `standardize` | `normalize` | `standardize` |
# | weights | | `weights` | `weight` | `sample_weight`, `freq_weight`, `class_weight` |
# | offset | | `offset` | | `offset=` |
# | always in | `excludeFirstK` | `penalty.factor = 0` | `always.include` | `always_include` |
# | never in | | `exclude` | | `exclude` |
# | costs | | `penalty.factor` | | `penalty_factor` |
# | groups | | | `group.index` | `groups=` |
# | search | `algorithm` | | `splicing.type` | `algorithm`; `LocalSearch(effort="high")` |
# | screening | `screenSize` | strong rules | `screening.num` | none that loses a feature |
# | threads | | | `num.threads` | `n_jobs` |
# | sparse X | `dgCMatrix` | `dgCMatrix` | `dgCMatrix` | any SciPy sparse matrix |
#
# ## The result
#
# | | L0Learn | glmnet | abess | here |
# |---|---|---|---|---|
# | table | `print(fit)` | `print(fit)` | `print(fit)` | `path.details` |
# | coefficients | `coef(fit, lambda, gamma)` | `coef(fit, s)` | `coef(fit, support.size)` | `path.coef(k=5)`, `path.coef("bic")` |
# | which features | | | | `path.details.features` |
# | one model | | | `extract(fit, 5)` | `path.model(k=5).summary()` |
# | several models | | | | `path.compare([3, 5, "bic"])` |
# | prediction | `predict(fit, newx, ...)` | `predict(fit, newx, s, type)` | `predict(fit, newx, support.size)` | `path.predict(X, k=5, type="link")` |
# | criterion | | | `tune.type = "gic"` | `path.model("gic")` |
# | folds | `L0Learn.cvfit` | `cv.glmnet` | `tune.type = "cv"` | `l0path.cv_fit(X, y)` |
# | score | loss | `type.measure` | loss | `scoring="auc"`, ... |
# | choice | least `cvMeans` | `lambda.min`, `lambda.1se` | built in | `cv.model("min")`, `cv.model("1se")` |
# | held out | | `keep = TRUE` | | `cv.held_out("min")` |
# | plot | `plot(fit)` | `plot(fit)` | `plot(fit)` | `path.plot("coef")`, ... |
#
# ## Same word, other meaning
#
# * **lambda**: `lambda` of L0Learn is `lambda0` here, its `gamma` is `lambda1` or
#   `lambda2`; glmnet's `lambda` is `lambda1` and `lambda2`; abess's is a ridge.
# * **deviance**: the score of `cv_fit` is `2 (loss - loss of a perfect fit)` per row,
#   so the mean squared error for the squared loss, as in glmnet.
# * **folds**: models of the folds are matched by *size* here, and by penalty in glmnet
#   and L0Learn.
# * **1se**: the *smallest* model within one standard error of the best, over all
#   penalties at once; not the largest penalty.
# * **k** does not count features that are forced in; `n_features` does.
#
# ## What is not here, and what is not there
#
# * Not here: the relaxed lasso and adaptive weights in one call, and a lasso at
#   glmnet's speed.
# * Not there: models with a proof (`path.certify(k=6)`), lists of all good models
#   (`path.near_best`), nested cross-validation, data larger than memory.
#
# If your question is prediction from many weak signals, stay with glmnet. If it is
# *which features, how many, and how sure is that*, this is the place.
