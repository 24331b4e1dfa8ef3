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
# what you write here, what is called by the same name and means something else, and
# what is not here at all. Calls in R are shown as text and not run; everything in
# Python is run.
#
# One difference comes before all others. L0Learn and glmnet walk along a *penalty* and
# show the models they meet. Here, as in abess, the path goes by default along the
# *size*: one model for every number of columns `k`. `lambda0="grid"` walks along the
# penalty instead.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_hitters, load_wdbc
from sklearn.linear_model import ElasticNet

from common import SHORT, lasso_and_subsets, walk_along_lambda0

# %% [markdown]
# # The dictionary
#
# ## The fit
#
# | | L0Learn | glmnet | abess | here |
# |---|---|---|---|---|
# | call | `L0Learn.fit(x, y)` | `glmnet(x, y)` | `abess(x, y)` | `l0path.fit(X, y)` |
# | by a formula | | | `abess(y ~ ., data)` | `l0path.fit("y ~ .", data)`, and `cv_fit`, `nested_cv`; factors and splines come in whole |
# | loss | `loss = "SquaredError"`, `"Logistic"`, `"SquaredHinge"` | `family = "gaussian"`, `"binomial"`, `"poisson"` | `family = ` the same | `loss="squared"`, `"logistic"`, `"squared_hinge"`, `"poisson"`, `"huber"`, `"smoothed_hinge"`; the names on the left are understood |
# | largest model | `maxSuppSize` (100) | `dfmax` | `support.size` | `max_k` (at most 100 and half of the rows) |
# | some sizes | | | `support.size = c(3, 5)` | `k=[3, 5]` |
# | number of penalties | `nLambda` (100) | `nlambda` (100) | | `lambda0=l0path.grid(n=100)` |
# | own penalties | `lambdaGrid = list(...)` | `lambda =` | | `lambda0=[...]` |
# | ridge beside it | `penalty = "L0L2"`, `nGamma`, `gammaMin`, `gammaMax` | `alpha < 1` | `lambda =` | `lambda2=` a number, a list, or `"grid"` for ten values |
# | L1 beside it | `penalty = "L0L1"` | `alpha = 1` | | `lambda1=`, likewise; both together |
# | bounds | `lows`, `highs` | `lower.limits`, `upper.limits` | `beta.low`, `beta.high` | `lower`, `upper` |
# | intercept | `intercept = TRUE` | `intercept = TRUE` | `fit.intercept` | `fit_intercept=True` |
# | scaling | always | `standardize = TRUE` | `normalize` | `standardize=True` |
# | row weights | | `weights` | `weight` | `sample_weight`, `freq_weight`, `class_weight` |
# | offset | | `offset` | | `offset=` (values, or the name of a column), `offset(...)` in a formula |
# | columns always in | `excludeFirstK` (the first ones, not selected but fitted) | `penalty.factor = 0` | `always.include` | `always_include` (names or indices) |
# | columns never in | | `exclude` | | `exclude` |
# | costs that differ by column | | `penalty.factor` | | `penalty_factor` |
# | groups | | | `group.index` | `groups=` (any order, overlap allowed) |
# | search | `algorithm = "CD"`, `"CDPSI"` | | `splicing.type`, `max.splicing.iter` | `algorithm="swap"` (default), `"cd"`, `"CDPSI"`, ...; `LocalSearch(effort="high")` |
# | first screening | `screenSize` | strong rules | `screening.num` | none that can lose a column: every model is checked over all columns |
# | threads | | | `num.threads` | `n_jobs` |
# | sparse X | `dgCMatrix` | `dgCMatrix` | `dgCMatrix` | any SciPy sparse matrix |
#
# ## What to do with the result
#
# | | L0Learn | glmnet | abess | here |
# |---|---|---|---|---|
# | the path as a table | `print(fit)` | `print(fit)` | `print(fit)` | `path.details` |
# | coefficients | `coef(fit, lambda, gamma)` | `coef(fit, s)` | `coef(fit, support.size)` | `path.coef(k=5)`, `path.coef(lambda0=...)`, `path.coef("bic")` |
# | which features at which size | | | | `path.details.features`; `path.coef()`, a column for each size |
# | models side by side | | | | `path.compare([3, 5, "bic"])`, and its `.to_latex()` |
# | all details of one model | | | `extract(fit, 5)` | `path.model(k=5)`, and `.summary()` |
# | prediction | `predict(fit, newx, lambda, gamma)` | `predict(fit, newx, s, type)` | `predict(fit, newx, support.size)` | `path.predict(X, k=5, type="response", "link" or "class")` |
# | criterion | | | `tune.type = "gic"` (default), `"bic"`, `"aic"`, `"ebic"` | `path.model("gic")`, also `"aicc"`, `"mbic"`, `"cp"`; all by `path.score_table()` |
# | cross-validation | `L0Learn.cvfit(x, y, nFolds, seed)` | `cv.glmnet(x, y, nfolds, foldid)` | `tune.type = "cv"`, `nfolds`, `foldid` | `l0path.cv_fit(X, y, cv=10, random_state=1)`; `cv=` also takes fold ids |
# | what is scored | loss | `type.measure` | loss | `scoring="deviance"`, `"mse"`, `"auc"`, `"misclassification"`, ... |
# | the choice | least `cvMeans` by hand | `lambda.min`, `lambda.1se` | built in | `cv.model("min")`, `cv.model("1se")` |
# | held-out predictions | | `keep = TRUE` | | `cv.held_out("min")` |
# | plot | `plot(fit)` | `plot(fit)` | `plot(fit)` | `path.plot("coef")`, `"loss"`, `"criteria"`, `"support"`, ... |
#
# # The same analysis, four times
#
# Salaries of 263 baseball players, 19 columns: fit, cross-validate, look at one model,
# predict. In L0Learn:
#
# ```r
# fit <- L0Learn.fit(x, y, penalty = "L0", algorithm = "CDPSI", maxSuppSize = 19)
# cv  <- L0Learn.cvfit(x, y, penalty = "L0", algorithm = "CDPSI", maxSuppSize = 19,
#                      nFolds = 10, seed = 1)
# i   <- which.min(cv$cvMeans[[1]])
# coef(cv, lambda = cv$fit$lambda[[1]][i], gamma = 0)
# predict(cv, newx, lambda = cv$fit$lambda[[1]][i], gamma = 0)
# ```
#
# in glmnet (the lasso, another model):
#
# ```r
# cv <- cv.glmnet(x, y, nfolds = 10)
# plot(cv); coef(cv, s = "lambda.1se"); predict(cv, newx, s = "lambda.1se")
# ```
#
# in abess:
#
# ```r
# fit <- abess(x, y, family = "gaussian", tune.type = "cv", nfolds = 10,
#              support.size = 0:19)
# coef(fit, support.size = fit[["best.size"]]); predict(fit, newx)
# ```
#
# and here:

# %%
hitters = load_hitters()
X, y = hitters.X, hitters.y
cv = l0path.cv_fit(X, y, max_k=19, cv=10, random_state=1, lambda2=0)
ax = cv.plot()

# %%
print(cv.model("1se"))
print("three predictions:", cv.predict(X.iloc[:3], "1se").round(0).tolist())

# %% [markdown]
# ## A walk along the penalty, as in L0Learn
#
# `lambda0="grid"` with `algorithm="CDPSI"` is L0Learn's way of doing it: each penalty
# is a little below the one at which the model must change. What it cannot show are
# sizes that are best at no penalty; and a walk that changes few columns at a time, the
# others being held, can also miss models that are:

# %%
walk = l0path.fit(X, y, lambda0="grid", algorithm="CDPSI")
walk_along_lambda0(cv, walk)

# %% [markdown]
# ## The scale of the penalties
#
# All penalties here are for the *mean* loss and standardized columns (see
# `l0path.fit`), so they do not depend on the number of rows. L0Learn sums over the
# rows, brings columns to unit length, and with the squared loss also the response.
# `l0path.losses.l0learn_scale` has the factors that bring penalties to the scale of
# `fit`:

# %%
scale = l0path.losses.l0learn_scale(y)
same = l0path.fit(X, y, lambda0=scale.lambda0 * np.array([0.1, 0.03, 0.01]))
print(scale)
same.details[["lambda0", "n_features", "loss", "deviance_ratio"]]

# %% [markdown]
# glmnet already uses a mean loss. Its `lambda` and `alpha` are `lambda1 = lambda alpha`
# and `lambda2 = lambda (1 - alpha) / 2` here, *with `lambda0=[0]`*: without a cost of
# columns the problem is the elastic net, and this package solves it too. As a proof,
# the elastic net of scikit-learn (the same objective as glmnet's, on standardized
# columns) against ours:

# %%
Z = (X - X.mean()) / X.std(ddof=0)
for alpha, strength in ((1.0, 100.0), (1.0, 2.0), (0.5, 100.0), (0.5, 2.0)):
    ours = l0path.fit(
        X,
        y,
        lambda0=[0.0],
        lambda1=strength * alpha,
        lambda2=strength * (1 - alpha) / 2,
    )
    net = ElasticNet(alpha=strength, l1_ratio=alpha, max_iter=100_000, tol=1e-10)
    coef = ours.coef(index=0, standardized=True, full=True).drop("(Intercept)")
    apart = np.abs(coef - net.fit(Z, y).coef_).max() / np.abs(net.coef_).max()
    print(f"alpha {alpha}, lambda {strength:g}: relative difference {apart:.0e}")

# %% [markdown]
# So the two paths can be drawn side by side from one package: the lasso, which shrinks
# everything and takes columns in gently, and best subsets, which do not shrink. Look at
# `k = 7`: for one size two columns in grey take over, with large coefficients of
# opposite signs (careers' hits and times at bat, nearly the same information). The
# lasso does not do such things. They are a reason to look at a path before using it, or
# to add a small `lambda2`.

# %%
most = np.abs(Z.T @ (y - y.mean())).max() / len(y)
grid = np.geomspace(1.02 * most, 0.3, 12 if SHORT else 40)
lasso_and_subsets(l0path.fit(X, y, lambda0=[0.0], lambda1=grid), cv)

# %% [markdown]
# ## A formula, as in abess and lm
#
# Factors and splines are groups that come in whole (`groups=False`: column by column);
# new rows are encoded as the old ones were.

# %%
table = pd.concat([X, y], axis=1)
formula = "Salary ~ AtBat + Hits + Walks + CRBI + PutOuts + bs(Years, df=4)"
grouped = l0path.fit(f"{formula} + C(Division_W)", table)
print(grouped.model(k=4).groups)

# %% [markdown]
# ## Criteria instead of folds, as in abess
#
# abess chooses by GIC unless told otherwise, over sizes up to about `n / (log(log n)
# log p)`. The same here is a criterion on the path:

# %%
n, p = X.shape
limit = int(n / (np.log(np.log(n)) * np.log(p)))
print(l0path.fit(X, y, max_k=min(p, limit)).model("gic"))

# %% [markdown]
# ## Two classes
#
# 569 breast tumours, benign or malignant. `cv.glmnet(x, y, family = "binomial",
# type.measure = "auc")`, `L0Learn.cvfit(x, y, loss = "Logistic", penalty = "L0L2")` and
# `abess(x, y, family = "binomial")` become

# %%
breast = load_wdbc()
ridges, how = [1e-3] if SHORT else [1e-4, 1e-3, 1e-2], {"loss": "logistic"}
how |= {"lambda2": ridges, "max_k": 8 if SHORT else 15, "scoring": "auc"}
classes = l0path.cv_fit(breast.X, breast.y, cv=5, random_state=1, **how)
print(classes.model("1se"))

# %% [markdown]
# Any two labels will do, `path.classes` says which is the positive one. Where some
# columns separate the classes, the path without a ridge ends at that size, warns, and
# says so in `path.status`; the lasso does not come to this point, because its penalty
# keeps all coefficients finite. With many columns give a `lambda2`, as above
# (`classification_many_genes.py`).
#
# # Same word, other meaning
#
# * **lambda**: `lambda` of L0Learn is `lambda0` here, its `gamma` is `lambda1` or
#   `lambda2`; glmnet's `lambda` is `lambda1` and `lambda2`; `lambda` of abess is a
#   ridge.
# * **gamma** here is the width of the smoothed hinge and nothing else.
# * **alpha** does not exist: the two penalties are given by themselves.
# * **deviance**: the score of `cv_fit` is `2 (loss - loss of a perfect fit)` per row,
#   so the mean squared error for the squared loss, as in glmnet.
# * **folds**: models of the folds are matched by *size* here, and by penalty in glmnet
#   and L0Learn.
# * **1se**: the *smallest* model within one standard error of the best, over all
#   penalties at once; not the largest penalty.
# * **k** does not count columns that are forced in; `n_features` does.
# * **a table of zeros**: `coef(fit)` in R is a sparse vector over all columns;
#   `path.coef(k=5)` has the chosen ones by name, `full=True` all.
#
# # What is not here
#
# * Any GLM family by a `family = ` object (glmnet): not here. Censored survival times
#   are `loss="cox"`, several classes `loss="multinomial"`, ordered ones (abess)
#   `loss="ordinal"`, several responses a `Y` of several columns; gamma, negative
#   binomial, Tweedie and binomial responses and quantiles are `loss="gamma"` and so on;
#   a loss of your own is `l0path.own_loss`.
# * **The relaxed lasso and adaptive weights** in one call: not here; models of sizes
#   are not shrunk in the first place, and weights go into `penalty_factor`.
# * **A lasso at glmnet's speed**: `lambda0=[0.0]` is right, as shown, but not what this
#   package was made fast for.
#
# Asked for one of these, the package does not guess:

# %%
three = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
for response, loss in ((y, "inverse_gaussian"), (three, "logistic")):
    try:
        l0path.fit(X, response, loss=loss)
    except ValueError as error:
        print(error)

# %% [markdown]
# # What is here and not there
#
# * Every size, with what was checked about each model, over all columns
#   (`path.details.optimality`), and lower bounds or proofs where you ask:
#   `fit(certify=True)`, `path.certify(k=6)`. See `exact_or_heuristic.py`.
# * Near ties: `path.model(k=6).alternatives()`, `path.model(k=6).summary()`.
# * Repeated and nested cross-validation, held-out predictions: `choosing_k.py`.
# * Data larger than memory and squares and products that are never stored:
#   `l0path.designs`.
#
# If your question is prediction from many weak signals, or a model of the third list
# above, stay with glmnet or abess. If it is *which columns, how many, and how sure is
# that*, this is the place.
