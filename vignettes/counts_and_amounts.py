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
# # Counts, shares and amounts: the response decides the loss
#
# A best subset is best for a loss. If the loss takes the noise of the response for smaller than it is, more columns look useful than are. This page shows it on four responses: visits to a doctor (counts), pupils above the median of
# their subject (shares), salaries (amounts), and the quantiles of salaries. The first two data sets come with statsmodels, the third with l0path.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from l0path.datasets import load_hitters
from scipy import stats

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer folds, the same cells
FOLDS = 5 if SHORT else 10
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Counts: visits to a doctor
#
# The RAND health insurance experiment: visits to a doctor in a year, and nine columns about insurance and health, with the products of all pairs of them. 4000 of the 20 190 person-years are drawn. The variance of the visits is six times
# their mean, where a Poisson distribution has a variance equal to the mean.

# %%
rand = sm.datasets.randhie.load_pandas().data.sample(4000, random_state=0).reset_index(drop=True)
visits = rand["mdvis"].astype(int)
print(f"mean {visits.mean():.2f}, variance {visits.var():.1f}")
formula = "mdvis ~ (" + " + ".join(rand.columns.drop("mdvis")) + ")**2"
poisson = l0path.fit(formula, rand, loss="poisson", max_k=30)
negative = l0path.fit(formula, rand, loss="negative_binomial", max_k=30)
print(f"theta {negative.loss.theta:.2f}: a count of mean m has the variance m + m^2 / theta")
for name, path in (("Poisson", poisson), ("negative binomial", negative)):
    print(f"{name}: {path.model('bic').k} columns chosen by BIC, log-likelihood {path.score_table().loglik[path.select('bic')]:.0f}")
print("negative binomial:", negative.model("bic").features)

# %% [markdown]
# Under the Poisson loss BIC keeps three times as many columns: it takes what is noise for more than noise, because the true noise is larger than that of a Poisson distribution. The negative binomial loss has one number more, `theta`, which a
# pilot fit finds. The whole path has the same theta, so that models of different sizes can be compared. Its likelihood is far higher with fewer columns. How often is each count expected, and how often was it seen?

# %%
counts = np.arange(16)
seen = [(visits == c).mean() for c in counts]
mean_p, mean_n = poisson.predict(rand, "bic"), negative.predict(rand, "bic")
expected_p = [stats.poisson.pmf(c, mean_p).mean() for c in counts]
theta = negative.loss.theta
expected_n = [stats.nbinom.pmf(c, theta, theta / (theta + mean_n)).mean() for c in counts]
fig, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
ax.bar(counts, seen, color="#d9d9d9", label="seen")
ax.plot(counts, expected_p, "o-", color=ORANGE, label="Poisson, its best model by BIC")
ax.plot(counts, expected_n, "o-", color=BLUE, label="negative binomial, its best model by BIC")
plain(ax, xlabel=f"visits in a year (up to 15; the most seen is {visits.max()})", ylabel="share of persons")
ax.legend(frameon=False);

# %% [markdown]
# # Shares: pupils above the median
#
# In 303 school districts of California the pupils above and below the national median in mathematics were counted, and 20 columns describe the district (eight of them are products of others). The two columns of counts are the response: the loss is
# the binomial one, and each pupil counts as a trial.

# %%
star = sm.datasets.star98.load_pandas().data
Y, D = star[["NABOVE", "NBELOW"]], star.drop(columns=["NABOVE", "NBELOW"])
schools = l0path.cv_fit(D, Y, loss="binomial", cv=FOLDS, random_state=0, lambda2=0)
print("chosen by BIC:", len(schools.model("bic").features), "columns; by cross-validation, within one standard error of the best:", schools.model("1se").features)

# %%
bic = schools.score_table()["bic"]
kept = schools.scores.k > 0
fig, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
axes[0].semilogy(schools.scores.k, bic - bic.min() + 1, "o-", color=ORANGE)
plain(axes[0], xlabel="columns", ylabel="BIC above its minimum, plus 1", title="as if pupils were independent")
axes[1].errorbar(schools.scores.k[kept], schools.scores.cv_mean[kept], schools.scores.cv_se[kept], fmt="o-", color=BLUE, capsize=3)
axes[1].axvline(schools.model("1se").k, color=GREY, linestyle=":")
plain(axes[1], xlabel="columns", ylabel="deviance per pupil", title="districts that were held out")
for ax in axes:
    ax.set_xticks(range(0, 21, 5))

# %% [markdown]
# BIC falls on to the last column, because it takes all pupils for independent; but pupils of a district share their schools, so the noise is that of districts. Folds leave out whole districts (rows), and there nothing is gained after
# a few columns. Whenever the units that vary are larger than those that were counted, trust the folds.
#
# # Amounts: salaries
#
# Salaries of baseball players are positive and their spread grows with their mean. The squared loss lets the largest salaries decide; the gamma loss takes deviations in proportion to the mean. With its log link effects multiply, so counts of
# hits and years enter by their logarithm.

# %%
hitters = load_hitters()
X, salary = hitters.X, hitters.y
counted = X.columns[X.max() > 1]
logs = X.assign(**np.log1p(X[counted])).rename(columns={name: f"log {name}" for name in counted})
squared = l0path.cv_fit(X, salary, cv=FOLDS, random_state=0, lambda2=0)
gamma = l0path.cv_fit(logs, salary, loss="gamma", cv=FOLDS, random_state=0, lambda2=0)
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
mean = squared.held_out("min")
axes[0].scatter(mean, salary - mean, s=14, color=ORANGE, alpha=0.6)
axes[0].axhline(0, color=GREY, linewidth=0.8)
plain(axes[0], xlabel="held-out prediction, thousand dollars", ylabel="salary less prediction", title=f"squared loss, {squared.model('min').k} columns")
mean = gamma.held_out("min")
axes[1].scatter(mean, salary / mean, s=14, color=BLUE, alpha=0.6)
axes[1].axhline(1, color=GREY, linewidth=0.8)
axes[1].set(xscale="log", yscale="log")
plain(axes[1], xlabel="held-out prediction, thousand dollars", ylabel="salary / prediction", title=f"gamma loss, log link, {gamma.model('min').k} columns")
print(f"smallest held-out prediction: {squared.held_out('min').min():.0f} by the squared loss, {gamma.held_out('min').min():.0f} by the gamma loss")

# %% [markdown]
# Left, the differences fan out: the squared loss weighs a player at the right end like all others, although much more is left to chance there. Right, the ratios have about the same spread everywhere, but for a few players who earned far more than
# any model says, and no predicted salary can be negative, as it is for one player on the left.
#
# # Quantiles: what do the best paid earn?
#
# The columns that matter for the middle need not matter at the ends. A path of the quantile loss for each of three levels:

# %%
levels = (0.1, 0.5, 0.9)
quantiles = {q: l0path.cv_fit(X, salary, loss=l0path.losses.Quantile(q), max_k=8, cv=FOLDS, random_state=0, lambda2=0) for q in levels}
held_out = pd.DataFrame({q: cv.held_out("min") for q, cv in quantiles.items()})
pd.DataFrame({q: {"columns": ", ".join(cv.model("min").features), "share of players below, held out": (salary < held_out[q]).mean()} for q, cv in quantiles.items()}).T

# %%
order = held_out[0.5].sort_values().index
place = np.arange(len(order))
fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
ax.fill_between(place, held_out[0.1][order], held_out[0.9][order], color=BLUE, alpha=0.2, linewidth=0, label="10 % to 90 %, held out")
ax.plot(place, held_out[0.5][order], color=BLUE, label="median, held out")
ax.scatter(place, salary[order], s=10, color="#333333", label="salary")
plain(ax, xlabel="players in the order of their predicted median", ylabel="thousand dollars")
ax.legend(frameon=False, loc="upper left")
inside = ((salary > held_out[0.1]) & (salary < held_out[0.9])).mean()
print(f"{inside:.0%} of the salaries lie between the held-out quantiles; 80 % are meant to")

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
# All of them take weights, offsets, bounds, groups, penalties and formulas; `docs/families.md` has the table of what is served.
