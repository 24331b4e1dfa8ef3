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
# # Many good models
#
# The best subset is one model. Often a dozen others are as good, up to differences that no one would bet on, and they use other columns. Whoever reports only the winner reports a coin toss. This page lists *all* good models, with the statement
# that none is missing, and asks what they have in common.
#
# The data: the growth of 72 countries between 1960 and 1992, and 41 columns that economists have proposed as its causes (Fernandez, Ley and Steel, Journal of Applied Econometrics 16, 2001). There are 2^41 models, two million millions.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import l0path

pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4, "display.max_colwidth", 90)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6b6b6b"
growth = l0path.datasets.load_growth()
path = l0path.fit(growth.X, growth.y)


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Part 1: a list, and that it is complete
#
# All models of six columns whose sum of squares is within 10 percent of the best one:

# %%
six = path.near_best(k=6, within=0.1)
six

# %%
six.table[["objective", "apart", "features"]].head(6)

# %% [markdown]
# "No other is" comes from the search: every set of six columns that is not in the list was ruled out by a bound. `six.complete` is that statement; where a limit (`max_models`, `time_limit`) ends the search before, it is False.
#
# # Part 2: what do they share?
#
# A picture says most. Every row is a model, the best at the top; every column of the picture is a column of the data. Blue is a positive coefficient, red a negative one.

# %%
fig, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
six.plot(ax=ax);

# %% [markdown]
# Income in 1960 and the Confucian share are in every model: they are needed, whatever else is chosen. Others take turns. `substitutes` makes this exact. It lists the smallest sets of columns of which *every* good model has at least one. A set of one column is one that cannot be done without; a set of two says: one
# of these, and the data cannot tell which.

# %%
for one in six.substitutes[:8]:
    print(" or ".join(one))

# %% [markdown]
# The importance of a column is not one number, either. How much worse does a model become when the column is left out? That depends on the other columns that the model has. Here is the range over all good models:

# %%
importance = six.importance.iloc[:12][::-1]
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.hlines(importance.index, 100 * importance.low, 100 * importance.high, color=BLUE, linewidth=5, alpha=0.6)
ax.scatter(100 * importance.low, importance.index, color=BLUE, s=26, zorder=3)
ax.scatter(100 * importance.high, importance.index, color=BLUE, s=26, zorder=3)
plain(ax, xlabel="increase of the sum of squares when the column is left out, % of the best one", xlim=(-2, None))
ax.grid(axis="x", alpha=0.3)

# %% [markdown]
# A bar that begins at 0 belongs to a column that some good model does without. One that begins far from 0 belongs to a column that every good model leans on (Fisher, Rudin and Dominici, JMLR 20, 2019, call this the importance over a class of models).
#
# # Part 3: over all sizes
#
# With a criterion the list goes over all sizes. Two units of BIC are the usual limit of "not worth a mention". (BIC wants 20 to 24 columns here, many for 72 countries: it does not charge for the 41 that were tried. `criterion="ebic"` does.)

# %%
good = path.near_best(criterion="bic", within=2)
good

# %%
weight = good.coef.weight.drop("(Intercept)").sort_values(ascending=False)
print("in every model:", ", ".join(weight.index[weight > 0.9999]))
open_columns = weight[weight <= 0.9999]
pd.DataFrame({"weight": open_columns, "share of the models": good.frequencies[open_columns.index]})

# %% [markdown]
# `weight` sums over the models that have a column; a model counts by exp(-BIC / 2), an approximation of its posterior probability. Coefficients can be averaged with these weights; `spread` is the standard deviation *between* the models, which the standard errors of a single model leave out.

# %%
coef = good.average().drop("(Intercept)")
coef = coef.assign(scale=growth.X.std()[coef.index])
shown = coef.assign(mean=coef["mean"] * coef.scale, spread=coef.spread * coef.scale).sort_values("mean")
fig, ax = plt.subplots(figsize=(8, 5.4), layout="constrained")
ax.errorbar(shown["mean"], shown.index, xerr=2 * shown.spread, fmt="o", color=BLUE, ecolor=GREY, markersize=4, elinewidth=2)
ax.axvline(0, color=GREY, linewidth=0.8)
plain(ax, xlabel="averaged coefficient of a column of unit variance, +- 2 standard deviations between the models")

# %% [markdown]
# # Part 4: does it matter?
#
# For some questions it does not matter which model is right. Predictions of the good models may agree although their columns do not:

# %%
predicted = good.predict(growth.X)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].scatter(predicted["mean"], growth.y, s=16, color=BLUE)
plain(axes[0], xlabel="averaged prediction", ylabel="growth", title="the good models explain growth")
axes[1].hist(predicted.spread / np.std(growth.y), bins=20, color=ORANGE)
plain(axes[1], xlabel="spread between models / sd of growth", ylabel="countries", title="and agree about most countries")

# %% [markdown]
# # What to take away
#
# * `path.near_best(k=, within=)` and `path.near_best(criterion=, within=)` list every good model; `complete` says that none is missing.
# * Report columns that every good model has, and sets of which every one needs a member (`substitutes`); do not report one of the set as *the* cause.
# * `average` and `predict` carry the doubt about the model on to coefficients and predictions. They say nothing of the doubt within a model: see `after_selection.py`.
# * `path.explore("growth.html", near_best=good)` puts the list into a page that one can send.
