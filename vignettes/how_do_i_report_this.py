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
# # How do I report this?
#
# The analysis is done and has to be written down: what was searched, what was proven,
# how the size was chosen, how well the model predicts, which p-values hold. Each
# sentence of the report has a call behind it. This page makes them all for one data
# set, with the words that the numbers allow, and ends with a list of what not to write.

# %%
import l0path
import pandas as pd
from l0path.datasets import load_diabetes

from common import SHORT

# %% [markdown]
# ## What was searched
#
# 442 patients with diabetes, the progression of the disease in a year, and 64 features:
# ten measurements, their squares and their products (Efron and others 2004). Say how
# many features there were *before* any screening, and which were forced in.

# %%
data = load_diabetes(expansion=True)
cv = l0path.cv_fit(data.X, data.y, cv=5 if SHORT else 10, random_state=1, lambda2=0)
print(f"{len(data.y)} rows, {cv.p} features, sizes up to {cv.table.k.max()}")

# %% [markdown]
# ## How the size was chosen
#
# The rule, the folds, the seed, and that the whole search was repeated in every fold. A
# figure of all sizes shows at a glance how much the choice matters.

# %% tags=["thumbnail"]
cv.plot(k=20).figure.set_size_inches(7.2, 3)
model = cv.model("1se")

# %% [markdown]
# ## What may be claimed about the model
#
# `refit_swap` says that no exchange of one feature for another improves the model. That
# is a check, not a proof. A proof is one call more:

# %%
print(model.certify(n_best=3))

# %% [markdown]
# | the output says | the report says |
# |---|---|
# | `optimality` is `global`, or the certificate is `proven` | "the model of seven features with the smallest residual sum of squares" |
# | `unique` too | "the only one" |
# | a gap of 3 % | "no model of this size has a residual sum of squares more than 3 % smaller" |
# | `refit_swap` | "a model that no exchange of a feature improves" |
#
# Then say how close the next ones come. A reader takes a list of features for *the*
# features otherwise.

# %%
near = model.alternatives(n=200)
first = near.iloc[0]
print((near.relative < 0.01).sum(), "exchanges cost less than 1 % of the objective;")
print(f"the first: {first.added} for {first.dropped}, {first.relative:.2%}")

# %% [markdown]
# ## How well it predicts
#
# Three numbers are easily confused. On the rows of the fit the share of explained
# variance is too high. The held-out score of the chosen size is better, but the size
# was chosen by it. Nested cross-validation scores the whole procedure, and that is what
# a new sample will see.

# %%
nested = l0path.nested_cv(data.X, data.y, cv=5, random_state=1, lambda2=0)
null, held_out = cv.scores.cv_mean[0], cv.scores.cv_mean[model.details.name]
print(f"on the rows of the fit:      {model.deviance_ratio:.3f} of the variance")
print(f"held out, size chosen by it: {1 - held_out / null:.3f}")
print(f"nested:                      {1 - nested.mean / null:.3f}")

# %% [markdown]
# ## Which p-values hold
#
# A refit gives coefficients and standard errors, and its summary says "conditional on
# selection": the same rows have chosen the features. Splitting gives p-values that
# hold. Both belong into the table, each under its name.

# %%
refit, repeats = model.refit(), 20 if SHORT else 100
split = l0path.split_inference(data.X, data.y, n_splits=repeats, random_state=1)
columns = {"coef": refit.params, "std. error": refit.bse, "p, same rows": refit.pvalues}
columns |= {"chosen in": split.selected, "p, splitting": split.p_value}
pd.DataFrame(columns).loc[model.features].round(4)

# %% [markdown]
# ## What others need to repeat it
#
# `cv.compare([5, model.k]).to_latex()` is the table of models in the format of
# journals. `cv.save("report.npz")` keeps all models and what was claimed about them for
# a supplement; `l0path.load` reads it. Versions and seeds go into the text.
#
# ## The paragraph
#
# > We searched all subsets of 64 features (ten measurements, their squares and
# > products) for least squares models of every size from 0 to 64 (l0path 0.2, local
# > search). The size was chosen by ten-fold cross-validation with the
# > one-standard-error rule, the search being repeated in every fold (seed 1). The
# > chosen model has seven features; it was proven by leaps and bounds to have the
# > smallest residual sum of squares of all models of seven features. It explains 53 %
# > of the variance on the rows of the fit and some 48 % by nested cross-validation.
# > Coefficients and standard errors are those of least squares on the chosen features
# > and do not account for the choice. The p-values do: they are from 100 random splits
# > of the rows (Meinshausen, Meier and Buhlmann 2009).
#
# ## What not to write
#
# | not | but |
# |---|---|
# | "the optimal model" | optimal for what, among which, and proven or not |
# | "the variables that determine y" | the features of one good model; see the exchanges |
# | "X was not significant and was removed" | "X is not in the best model of this size" |
# | "p < 0.001" from a refit | the p-value by splitting, or that the choice is ignored |
# | "R squared 0.53" alone | with the nested one beside it |
#
# `docs/problem.md` has the words of optimality, `docs/inference.md` the ways to
# p-values, `docs/choosing.md` the rules.
