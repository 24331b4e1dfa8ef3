# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Coming from L0Learn, glmnet or abess
#
# If you know one of these R packages, this page is a dictionary: what you write there, what you write here, what is called by the same name and means something else, and what is not here at all.
# Calls in R are shown as text and not run; everything in Python is run.
#
# One difference comes before all others. L0Learn and glmnet walk along a *penalty* and show the models they meet. Here, as in abess, the path goes by default along the *size*: one model for every
# number of columns `k`. `lambda0="grid"` walks along the penalty instead.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_hitters, load_wdbc
from sklearn.linear_model import ElasticNet

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repeats, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
BLUE, ORANGE, GREEN, PINK, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6b6b6b"
SHADES = [BLUE, ORANGE, GREEN, PINK, SKY, "#E69F00", "#000000", GREY]


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


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

# %% [markdown]
# # The same analysis, four times
#
# Salaries of 263 baseball players, 19 columns: fit, cross-validate, look at one model, predict. In L0Learn:
#
# ```r
# fit <- L0Learn.fit(x, y, penalty = "L0", algorithm = "CDPSI", maxSuppSize = 19)
# cv  <- L0Learn.cvfit(x, y, penalty = "L0", algorithm = "CDPSI", maxSuppSize = 19, nFolds = 10, seed = 1)
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
# fit <- abess(x, y, family = "gaussian", tune.type = "cv", nfolds = 10, support.size = 0:19)
# coef(fit, support.size = fit[["best.size"]]); predict(fit, newx)
# ```
#
# and here:

# %%
hitters = load_hitters()
X, y = hitters.X, hitters.y
cv = l0path.cv_fit(X, y, max_k=19, cv=10, random_state=1, lambda2=0)
cv.plot();

# %%
print(f"min: k = {cv.model('min').k}, 1se: k = {cv.model('1se').k}")
print(cv.coef("1se").round(2).to_string())
print("\nthree predictions:", cv.predict(X.iloc[:3], "1se").round(0).tolist())

# %% [markdown]
# ## A walk along the penalty, as in L0Learn
#
# `lambda0="grid"` with `algorithm="CDPSI"` is L0Learn's way of doing it: each penalty is a little below the one at which the model must change. What it cannot show are sizes that are best at no
# penalty; and a walk that changes few columns at a time, the others being held, can also miss models that are:

# %%
walk = l0path.fit(X, y, lambda0="grid", algorithm="CDPSI")
path = cv
on_hull = path.details.lambda0_high.notna()
visited = sorted(set(walk.details.n_features))
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.plot(path.details.k[on_hull], path.details.loss[on_hull], color=GREY, linewidth=1, zorder=1)
ax.scatter(path.details.k[on_hull], path.details.loss[on_hull], s=46, color=BLUE, zorder=2, label="best at some lambda0")
ax.scatter(path.details.k[~on_hull], path.details.loss[~on_hull], s=46, facecolor="white", edgecolor=BLUE, zorder=2, label="best of its size, at no lambda0")
met = walk.details.groupby("n_features").loss.min()
ax.scatter(met.index, met, s=26, marker="x", color=ORANGE, zorder=3, label="met on the walk along lambda0")
low, high = path.details.loss.min(), path.details.loss.max()
plain(ax, xlabel="columns, k", ylabel="loss (half the mean squared error)", ylim=(low - 0.03 * (high - low), low + 0.45 * (high - low)), xticks=range(0, 20, 2))
ax.legend(frameon=False, fontsize=9)
print(f"sizes on the walk: {visited}; models that are worse than the best of their size: {(met - path.details.set_index('k').loss.reindex(met.index) > 1e-9 * met).sum()}")

# %% [markdown]
# ## The scale of the penalties
#
# All penalties here are for the *mean* loss and standardised columns (see `l0path.fit`), so they do not depend on the number of rows. L0Learn sums over the rows, brings columns to unit length, and
# with the squared loss also the response. `l0path.losses.l0learn_scale` has the factors that bring penalties to the scale of `fit`:

# %%
scale = l0path.losses.l0learn_scale(y)
same = l0path.fit(X, y, lambda0=scale.lambda0 * np.array([0.1, 0.03, 0.01]))
print(scale)
same.details[["lambda0", "n_features", "loss", "deviance_ratio"]]

# %% [markdown]
# glmnet already uses a mean loss. Its `lambda` and `alpha` are `lambda1 = lambda alpha` and `lambda2 = lambda (1 - alpha) / 2` here, *with `lambda0=[0]`*: without a cost of columns the problem is
# the elastic net, and this package solves it too. As a proof, the elastic net of scikit-learn (the same objective as glmnet's, on standardised columns) against ours:

# %%
Z = (X - X.mean()) / X.std(ddof=0)
rows = []
for alpha in (1.0, 0.5):
    for strength in (100.0, 20.0, 2.0):
        ours = l0path.fit(X, y, lambda0=[0.0], lambda1=strength * alpha, lambda2=strength * (1 - alpha) / 2)
        net = ElasticNet(alpha=strength, l1_ratio=alpha, max_iter=100_000, tol=1e-10).fit(Z, y)
        apart = np.abs(ours.coef(index=0, standardized=True, full=True).drop("(Intercept)") - net.coef_).max()
        rows.append({"alpha": alpha, "lambda": strength, "nonzero": ours.model(index=0).details['n_features'], "largest coefficient": np.abs(net.coef_).max(), "largest difference": f"{apart:.0e}"})
pd.DataFrame(rows).set_index(["alpha", "lambda"])

# %% [markdown]
# So the two paths can be drawn side by side from one package: the lasso, which shrinks everything and takes columns in gently, and best subsets, which do not shrink. Look at `k = 7`: for one size two
# columns in grey take over, with large coefficients of opposite signs (careers' hits and times at bat, nearly the same information). The lasso does not do such things. They are a reason to look at a
# path before using it, or to add a small `lambda2`.

# %%
grid = np.geomspace(1.02 * np.abs(Z.T @ (y - y.mean())).max() / len(y), 0.3, 12 if SHORT else 40)
net = l0path.fit(X, y, lambda0=[0.0], lambda1=grid)
lasso = net.coef(standardized=True).drop("(Intercept)")
subset = path.coef("all", standardized=True).drop("(Intercept)")
main = subset[[i for i in subset if path.details.k[i] == 6]].iloc[:, 0].abs().nlargest(6).index
fig, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained", sharey=True)
for name in subset.index:
    color = SHADES[list(main).index(name)] if name in main else "#c8c8c8"
    label = name if name in main else None
    order = 2 if name in main else 1
    if name in lasso.index:
        axes[0].plot(net.details.lambda1, lasso.loc[name], color=color, linewidth=1.5, zorder=order)
    axes[1].plot(path.details.k, subset.loc[name], color=color, linewidth=1.5, zorder=order, label=label, marker="o", markersize=2.5)
axes[0].set_xscale("log")
axes[0].invert_xaxis()
axes[0].minorticks_off()
axes[0].set_xticks([200, 50, 10, 2, 0.5], ["200", "50", "10", "2", "0.5"])
plain(axes[0], title="the lasso: lambda0 = 0", xlabel="lambda1", ylabel="standardised coefficient")
plain(axes[1], title="best subsets: lambda1 = 0", xlabel="columns, k", xticks=range(0, 20, 2))
axes[1].legend(frameon=False, fontsize=9, loc="upper left");

# %% [markdown]
# ## A formula, as in abess and lm
#
# Factors and splines are groups that come in whole (`groups=False`: column by column); new rows are encoded as the old ones were.

# %%
table = pd.concat([X, y], axis=1)
grouped = l0path.fit("Salary ~ AtBat + Hits + Walks + CRBI + PutOuts + bs(Years, df=4) + C(Division_W)", table)
print(grouped.model(k=4).groups)
print(grouped.predict(table.iloc[:3], k=4).round(0).tolist())

# %% [markdown]
# ## Criteria instead of folds, as in abess
#
# abess chooses by GIC unless told otherwise, over sizes up to about `n / (log(log n) log p)`. The same here is a criterion on the path:

# %%
n, p = X.shape
limit = int(n / (np.log(np.log(n)) * np.log(p)))
chosen = l0path.fit(X, y, max_k=min(p, limit)).model("gic")
print(f"k = {chosen.k}: {', '.join(chosen.features)}")

# %% [markdown]
# ## Two classes
#
# 569 breast tumours, benign or malignant. `cv.glmnet(x, y, family = "binomial", type.measure = "auc")`, `L0Learn.cvfit(x, y, loss = "Logistic", penalty = "L0L2")` and `abess(x, y, family =
# "binomial")` become

# %%
breast = load_wdbc()
classes = l0path.cv_fit(breast.X, breast.y, loss="logistic", lambda2=[1e-3] if SHORT else [1e-4, 1e-3, 1e-2], max_k=8 if SHORT else 15, cv=5 if SHORT else 10, scoring="auc", random_state=1)
best = classes.model("1se")
print(f"1se: k = {best.k}, lambda2 = {best.details['lambda2']:g}, held-out AUC {classes.scores.cv_mean[best.details.name]:.4f}: {', '.join(best.features)}")

# %% [markdown]
# Any two labels will do, `path.classes` says which is the positive one. Where some columns separate the classes, the path without a ridge ends at that size, warns, and says so in `path.status`; the
# lasso does not come to this point, because its penalty keeps all coefficients finite. With many columns give a `lambda2`, as above (`classification_many_genes.py`).
#
# # Same word, other meaning
#
# * **lambda**: `lambda` of L0Learn is `lambda0` here, its `gamma` is `lambda1` or `lambda2`; glmnet's `lambda` is `lambda1` and `lambda2`; `lambda` of abess is a ridge.
# * **gamma** here is the width of the smoothed hinge and nothing else.
# * **alpha** does not exist: the two penalties are given by themselves.
# * **deviance**: the score of `cv_fit` is `2 (loss - loss of a perfect fit)` per row, so the mean squared error for the squared loss, as in glmnet.
# * **folds**: models of the folds are matched by *size* here, and by penalty in glmnet and L0Learn.
# * **1se**: the *smallest* model within one standard error of the best, over all penalties at once; not the largest penalty.
# * **k** does not count columns that are forced in; `n_features` does.
# * **a table of zeros**: `coef(fit)` in R is a sparse vector over all columns; `path.coef(k=5)` has the chosen ones by name, `full=True` all.
#
# # What is not here
#
# * Any GLM family by a `family = ` object (glmnet): not here. Censored survival times are `loss="cox"`, several classes `loss="multinomial"`, ordered ones (abess) `loss="ordinal"`, several responses a `Y` of
#   several columns; gamma, negative binomial, Tweedie and binomial responses and quantiles are `loss="gamma"` and so on; a loss of your own is `l0path.own_loss`.
# * **The relaxed lasso and adaptive weights** in one call: not here; models of sizes are not shrunk in the first place, and weights go into `penalty_factor`.
# * **A lasso at glmnet's speed**: `lambda0=[0.0]` is right, as shown, but not what this package was made fast for.
#
# Asked for one of these, the package does not guess:

# %%
def refuses(call):
    """The error of a call, as text."""
    try:
        call()
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("this was expected to be refused")


three = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
print(refuses(lambda: l0path.fit(X, y, loss="inverse_gaussian")))
print(refuses(lambda: l0path.fit(X, three, loss="logistic")))

# %% [markdown]
# # What is here and not there
#
# * Every size, with what was checked about each model, over all columns (`path.details.optimality`), and lower bounds or proofs where you ask: `fit(certify=True)`, `path.certify(k=6)`. See
#   `exact_or_heuristic.py`.
# * Near ties: `path.model(k=6).alternatives()`, `path.model(k=6).summary()`.
# * Repeated and nested cross-validation, held-out predictions: `choosing_k.py`.
# * Data larger than memory and squares and products that are never stored: `l0path.designs`.
#
# If your question is prediction from many weak signals, or a model of the third list above, stay with glmnet or abess. If it is *which columns, how many, and how sure is that*, this is the place.
