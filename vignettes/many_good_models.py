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
# no one would bet on, and they use other features. Whoever reports only the winner
# reports a coin toss. This page lists *all* good models, with the statement that none
# is missing, and asks what they have in common. What to do with them is the subject of
# `averaging_good_models.py`.
#
# The data: the growth of 72 countries between 1960 and 1992, and 41 features that
# economists have proposed as its causes (Fernandez, Ley and Steel, Journal of Applied
# Econometrics 16, 2001). There are 2^41 models, two million millions.

# %%
import l0path

from common import importance_ranges

# %%
growth = l0path.datasets.load_growth()
path = l0path.fit(growth.X, growth.y)

# %% [markdown]
# ## A list, and that it is complete
#
# All models of six features whose sum of squares is within 10 percent of the best one:

# %%
six = path.near_best(k=6, within=0.1)
print(f"{len(six)} models; complete: {six.complete}")
six.table.head(4)

# %% [markdown]
# "The list is complete" comes from the search: every set of six features that is not in
# the list was ruled out by a bound. `six.complete` is that statement; where a limit
# (`max_models`, `time_limit`) ends the search before, it is False.
#
# ## What do they share?
#
# A picture says most. Every row is a model, the best at the top; every feature of the
# picture is a feature of the data. Blue is a positive coefficient, orange a negative
# one.

# %%
ax = six.plot()

# %% [markdown]
# Income in 1960 and the Confucian share are in every model: they are needed, whatever
# else is chosen. Others take turns. `substitutes` makes this exact. It lists the
# smallest sets of features of which *every* good model has at least one. A set of one
# feature is one that cannot be done without; a set of two says: one of these, and the
# data cannot tell which.

# %%
for one in six.substitutes[:8]:
    print(" or ".join(one))

# %% [markdown]
# The importance of a feature is not one number, either. How much worse does a model
# become when the feature is left out? That depends on the other features that the model
# has. Here is the range over all good models:

# %%
importance_ranges(six.importance.head(12))

# %% [markdown]
# A bar that begins at 0 belongs to a feature that some good model does without. One
# that begins far from 0 belongs to a feature that every good model leans on (Fisher,
# Rudin and Dominici, JMLR 20, 2019, call this the importance over a class of models).
#
# ## What to take away
#
# * `path.near_best(k=, within=)` and `path.near_best(criterion=, within=)` list every
#   good model; `complete` says that none is missing.
# * Report features that every good model has, and sets of which every one needs a
#   member (`substitutes`); do not report one of the set as *the* cause.
# * `path.explore("growth.html", near_best=six)` puts the list into a page that one can
#   send.
