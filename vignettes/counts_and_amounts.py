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
# # Counts, shares and amounts: the response decides the loss
#
# A best subset is best for a loss. If the loss takes the noise of the response for
# smaller than it is, more columns look useful than are. This page shows it on four
# responses: visits to a doctor (counts), pupils above the median of their subject
# (shares), salaries (amounts), and the quantiles of salaries. The first two data sets
# come with statsmodels, the third with l0path.

# %%
import l0path
import numpy as np
import pandas as pd
import statsmodels.api as sm
from l0path.datasets import load_hitters

from common import (
    SHORT,
    bic_and_districts,
    counts_seen_and_expected,
    held_out_quantiles,
    residuals_of_two_losses,
)

# %% [markdown]
# # Counts: visits to a doctor
#
# The RAND health insurance experiment: visits to a doctor in a year, and nine columns
# about insurance and health, with the products of all pairs of them. 4000 of the 20 190
# person-years are drawn. The variance of the visits is six times their mean, where a
# Poisson distribution has a variance equal to the mean.

# %%
rand = sm.datasets.randhie.load_pandas().data.sample(4000, random_state=0)
print(f"mean {rand.mdvis.mean():.2f}, variance {rand.mdvis.var():.1f}")
formula = "mdvis ~ (" + " + ".join(rand.columns.drop("mdvis")) + ")**2"
poisson = l0path.fit(formula, rand, loss="poisson", max_k=30).model("bic")
negative = l0path.fit(formula, rand, loss="negative_binomial", max_k=30).model("bic")
print(f"Poisson: {poisson.k} columns chosen by BIC")
print(negative)

# %% [markdown]
# Under the Poisson loss BIC keeps three times as many columns: it takes what is noise
# for more than noise, because the true noise is larger than that of a Poisson
# distribution. The negative binomial loss has one number more, `theta`, which a pilot
# fit finds. The whole path has the same theta, so that models of different sizes can be
# compared. Its likelihood is far higher with fewer columns. How often is each count
# expected, and how often was it seen?

# %%
counts_seen_and_expected(rand, poisson, negative)

# %% [markdown]
# # Shares: pupils above the median
#
# In 303 school districts of California the pupils above and below the national median
# in mathematics were counted, and 20 columns describe the district (eight of them are
# products of others). The two columns of counts are the response: the loss is the
# binomial one, and each pupil counts as a trial.

# %%
star, folds = sm.datasets.star98.load_pandas().data, 5 if SHORT else 10
Y, D = star[["NABOVE", "NBELOW"]], star.drop(columns=["NABOVE", "NBELOW"])
schools = l0path.cv_fit(D, Y, loss="binomial", cv=folds, random_state=0, lambda2=0)
bic_and_districts(schools)
print(f"BIC: {schools.model('bic').k} columns; folds: {schools.model('1se').features}")

# %% [markdown]
# BIC falls on to the last column, because it takes all pupils for independent; but
# pupils of a district share their schools, so the noise is that of districts. Folds
# leave out whole districts (rows), and there nothing is gained after a few columns.
# Whenever the units that vary are larger than those that were counted, trust the folds.
#
# # Amounts: salaries
#
# Salaries of baseball players are positive and their spread grows with their mean. The
# squared loss lets the largest salaries decide; the gamma loss takes deviations in
# proportion to the mean. With its log link effects multiply, so counts of hits and
# years enter by their logarithm.

# %%
hitters = load_hitters()
X, salary = hitters.X, hitters.y
counted = X.columns[X.max() > 1]
logs = X.assign(**np.log1p(X[counted])).rename(columns=lambda name: f"log {name}")
squared = l0path.cv_fit(X, salary, cv=folds, random_state=0, lambda2=0)
gamma = l0path.cv_fit(logs, salary, loss="gamma", cv=folds, random_state=0, lambda2=0)
residuals_of_two_losses(squared, gamma, salary)
least = [cv.held_out("min").min() for cv in (squared, gamma)]
print(f"smallest prediction: squared loss {least[0]:.0f}, gamma loss {least[1]:.0f}")

# %% [markdown]
# Left, the differences fan out: the squared loss weighs a player at the right end like
# all others, although much more is left to chance there. Right, the ratios have about
# the same spread everywhere, but for a few players who earned far more than any model
# says, and no predicted salary can be negative, as it is for one player on the left.
#
# # Quantiles: what do the best paid earn?
#
# The columns that matter for the middle need not matter at the ends. A path of the
# quantile loss for each of three levels:

# %%
quantiles = {}
for q in (0.1, 0.5, 0.9):
    loss = l0path.losses.Quantile(q)
    one = l0path.cv_fit(
        X, salary, loss=loss, max_k=8, cv=folds, random_state=0, lambda2=0
    )
    print(f"{q}: {', '.join(one.model('min').features)}")
    quantiles[q] = one.held_out("min")
held_out = pd.DataFrame(quantiles)
held_out_quantiles(held_out, salary)
inside = ((salary > held_out[0.1]) & (salary < held_out[0.9])).mean()
print(f"{inside:.0%} of the salaries are between these quantiles; 80 % are meant to be")

# %% [markdown]
# # What to take
#
# | response | loss | look at |
# |---|---|---|
# | counts | `poisson`; `negative_binomial` where the variance exceeds the mean | expected against seen counts |
# | successes of trials | `binomial`, two columns of counts | folds over the units that vary, not BIC |
# | positive amounts | `gamma`; `tweedie` where zeros occur | residuals in proportion to the prediction |
# | amounts, one end matters | `quantile` with a level | share below the prediction, held out |
#
# All of them take weights, offsets, bounds, groups, penalties and formulas;
# `docs/families.md` has the table of what is served.
