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
# # Amounts and quantiles: salaries, and what the best paid earn
#
# Salaries are positive, their spread grows with their mean, and a few are very large.
# The squared loss does not know this. This page compares it with a loss that does, and
# asks for quantiles where the mean is not the question. The data are 263 baseball
# players and 19 features of their careers.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_hitters

from common import SHORT, held_out_quantiles, residuals_of_two_losses

# %% [markdown]
# ## Amounts: salaries
#
# Salaries of baseball players are positive and their spread grows with their mean. The
# squared loss lets the largest salaries decide; the gamma loss takes deviations in
# proportion to the mean. With its log link effects multiply, so counts of hits and
# years enter by their logarithm.

# %%
hitters, folds = load_hitters(), 5 if SHORT else 10
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
# ## Quantiles: what do the best paid earn?
#
# The features that matter for the middle need not matter at the ends. A path of the
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
# ## What to take along
#
# | response | loss | look at |
# |---|---|---|
# | positive amounts | `gamma`; `tweedie` where zeros occur | residuals in proportion to the prediction |
# | amounts, one end matters | `quantile` with a level | share below the prediction, held out |
#
# All losses take weights, offsets, bounds, groups, penalties and formulas;
# `docs/families.md` has the table of what is served.
