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
# # Many good models
#
# The best subset is one model. Often a dozen others are as good, up to differences that
# no one would bet on, and they use other columns. Whoever reports only the winner
# reports a coin toss. This page lists *all* good models, with the statement that none
# is missing, and asks what they have in common.
#
# The data: the growth of 72 countries between 1960 and 1992, and 41 columns that
# economists have proposed as its causes (Fernandez, Ley and Steel, Journal of Applied
# Econometrics 16, 2001). There are 2^41 models, two million millions.

# %%
import l0path

from common import averaged_coefficients, importance_ranges, predictions_of_good_models

# %%
growth = l0path.datasets.load_growth()
path = l0path.fit(growth.X, growth.y)

# %% [markdown]
# # Part 1: a list, and that it is complete
#
# All models of six columns whose sum of squares is within 10 percent of the best one:

# %%
six = path.near_best(k=6, within=0.1)
six

# %% [markdown]
# "The list is complete" comes from the search: every set of six columns that is not in
# the list was ruled out by a bound. `six.complete` is that statement; where a limit
# (`max_models`, `time_limit`) ends the search before, it is False.
#
# # Part 2: what do they share?
#
# A picture says most. Every row is a model, the best at the top; every column of the
# picture is a column of the data. Blue is a positive coefficient, orange a negative
# one.

# %%
ax = six.plot()

# %% [markdown]
# Income in 1960 and the Confucian share are in every model: they are needed, whatever
# else is chosen. Others take turns. `substitutes` makes this exact. It lists the
# smallest sets of columns of which *every* good model has at least one. A set of one
# column is one that cannot be done without; a set of two says: one of these, and the
# data cannot tell which.

# %%
for one in six.substitutes[:8]:
    print(" or ".join(one))

# %% [markdown]
# The importance of a column is not one number, either. How much worse does a model
# become when the column is left out? That depends on the other columns that the model
# has. Here is the range over all good models:

# %%
importance_ranges(six.importance.head(12))

# %% [markdown]
# A bar that begins at 0 belongs to a column that some good model does without. One that
# begins far from 0 belongs to a column that every good model leans on (Fisher, Rudin
# and Dominici, JMLR 20, 2019, call this the importance over a class of models).
#
# # Part 3: over all sizes
#
# With a criterion the list goes over all sizes. Two units of BIC are the usual limit of
# "not worth a mention". (BIC wants 20 to 24 columns here, many for 72 countries: it
# does not charge for the 41 that were tried. `criterion="ebic"` does.)

# %%
good = path.near_best(criterion="bic", within=2)
good

# %%
weight = good.coef.weight.drop("(Intercept)").sort_values(ascending=False)
print("in every model:", ", ".join(weight.index[weight > 0.9999]))
weight[weight <= 0.9999].head(4).round(2).to_frame()

# %% [markdown]
# `weight` sums over the models that have a column; a model counts by exp(-BIC / 2), an
# approximation of its posterior probability. Coefficients can be averaged with these
# weights; `spread` is the standard deviation *between* the models, which the standard
# errors of a single model leave out.

# %%
averaged_coefficients(good.average().drop("(Intercept)"), growth.X.std())

# %% [markdown]
# # Part 4: does it matter?
#
# For some questions it does not matter which model is right. Predictions of the good
# models may agree although their columns do not:

# %%
predictions_of_good_models(good.predict(growth.X), growth.y)

# %% [markdown]
# # What to take away
#
# * `path.near_best(k=, within=)` and `path.near_best(criterion=, within=)` list every
#   good model; `complete` says that none is missing.
# * Report columns that every good model has, and sets of which every one needs a member
#   (`substitutes`); do not report one of the set as *the* cause.
# * `average` and `predict` carry the doubt about the model on to coefficients and
#   predictions. They say nothing of the doubt within a model: see `after_selection.py`.
# * `path.explore("growth.html", near_best=good)` puts the list into a page that one can
#   send.
