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
# # Good models together: averages, and what they agree on
#
# A dozen models may be as good as the best one, with other features
# (`many_good_models.py` lists them). Which one is right may matter or not. This page
# averages coefficients and predictions over all good models, so that the doubt about
# the model goes into the numbers. The data are the growth of 72 countries between 1960
# and 1992, and 41 features that economists have proposed as its causes (Fernandez, Ley
# and Steel, Journal of Applied Econometrics 16, 2001).

# %%
import l0path

from common import averaged_coefficients, predictions_of_good_models

# %%
growth = l0path.datasets.load_growth()
path = l0path.fit(growth.X, growth.y)

# %% [markdown]
# ## Good models of all sizes
#
# With a criterion the list goes over all sizes. Two units of BIC are the usual limit of
# "not worth a mention". (BIC wants 20 to 24 features here, many for 72 countries: it
# does not charge for the 41 that were tried. `criterion="ebic"` does.)

# %%
good = path.near_best(criterion="bic", within=2)
print(f"{len(good)} models; complete: {good.complete}")
weight = good.coef.weight.drop("(Intercept)").sort_values(ascending=False)
print("in every model:", ", ".join(weight.index[weight > 0.9999]))
weight[weight <= 0.9999].head(4).round(2).to_frame()

# %% [markdown]
# `weight` sums over the models that have a feature; a model counts by exp(-BIC / 2), an
# approximation of its posterior probability. Coefficients can be averaged with these
# weights; `spread` is the standard deviation *between* the models, which the standard
# errors of a single model leave out.

# %%
averaged_coefficients(good.average().drop("(Intercept)"), growth.X.std())

# %% [markdown]
# ## Does it matter?
#
# For some questions it does not matter which model is right. Predictions of the good
# models may agree although their features do not:

# %%
predictions_of_good_models(good.predict(growth.X), growth.y)

# %% [markdown]
# ## What to take along
#
# * `path.near_best(criterion=, within=)` lists the good models of all sizes; `complete`
#   says that none is missing.
# * `average` and `predict` carry the doubt about the model on to coefficients and
#   predictions. They say nothing of the doubt within a model: see `after_selection.py`.
