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
# # Counts and shares: noise that is larger than the loss believes
#
# A best subset is best for a loss. If the loss takes the noise of the response for
# smaller than it is, more features look useful than are. This page shows it on two
# responses: visits to a doctor (counts) and pupils above the median of their subject
# (shares). Both data sets come with statsmodels. Positive amounts and quantiles are the
# subject of `amounts_and_quantiles.py`.

# %%
import l0path
import statsmodels.api as sm

from common import SHORT, bic_and_districts, counts_seen_and_expected

# %% [markdown]
# ## Counts: visits to a doctor
#
# The RAND health insurance experiment: visits to a doctor in a year, and nine features
# about insurance and health, with the products of all pairs of them. 4000 of the 20 190
# person-years are drawn. The variance of the visits is six times their mean, where a
# Poisson distribution has a variance equal to the mean.

# %%
rand = sm.datasets.randhie.load_pandas().data.sample(4000, random_state=0)
print(f"mean {rand.mdvis.mean():.2f}, variance {rand.mdvis.var():.1f}")
formula = "mdvis ~ (" + " + ".join(rand.columns.drop("mdvis")) + ")**2"
poisson = l0path.fit(formula, rand, loss="poisson", max_k=30).model("bic")
negative = l0path.fit(formula, rand, loss="negative_binomial", max_k=30).model("bic")
print(f"Poisson: {poisson.k} features chosen by BIC")
print(negative)

# %% [markdown]
# Under the Poisson loss BIC keeps three times as many features: it takes what is noise
# for more than noise, because the true noise is larger than that of a Poisson
# distribution. The negative binomial loss has one number more, `theta`, which a pilot
# fit finds. The whole path has the same theta, so that models of different sizes can be
# compared. Its likelihood is far higher with fewer features. How often is each count
# expected, and how often was it seen?

# %%
counts_seen_and_expected(rand, poisson, negative)

# %% [markdown]
# ## Shares: pupils above the median
#
# In 303 school districts of California the pupils above and below the national median
# in mathematics were counted, and 20 features describe the district (eight of them are
# products of others). The two columns of counts are the response: the loss is the
# binomial one, and each pupil counts as a trial.

# %%
star, folds = sm.datasets.star98.load_pandas().data, 5 if SHORT else 10
Y, D = star[["NABOVE", "NBELOW"]], star.drop(columns=["NABOVE", "NBELOW"])
schools = l0path.cv_fit(D, Y, loss="binomial", cv=folds, random_state=0, lambda2=0)
bic_and_districts(schools)
print(f"BIC: {schools.model('bic').k} features; folds: {schools.model('1se').features}")

# %% [markdown]
# BIC falls on to the last feature, because it takes all pupils for independent; but
# pupils of a district share their schools, so the noise is that of districts. Folds
# leave out whole districts (rows), and there nothing is gained after a few features.
# Whenever the units that vary are larger than those that were counted, trust the folds.
#
# ## What to take
#
# | response | loss | look at |
# |---|---|---|
# | counts | `poisson`; `negative_binomial` where the variance exceeds the mean | expected against seen counts |
# | successes of trials | `binomial`, two columns of counts | folds over the units that vary, not BIC |
#
# All of them take weights, offsets, bounds, groups, penalties and formulas;
# `docs/families.md` has the table of what is served.
