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
# # Standard errors and p-values of rows that belong to persons
#
# Eight rows of one person say less than the rows of eight persons, and a standard error
# that takes rows for independent is too small. If the same rows have also chosen the
# features, a p-value is wrong twice. This page shows both errors where the truth is
# known, and mends both on the wages of 545 men. Folds for such rows are the subject of
# `several_rows_of_one_person.py`.

# %%
import l0path
import pandas as pd
from l0path.datasets import load_wages

from common import (
    SHORT,
    distribution_of_p_values,
    p_values_of_traits,
    ratios_of_errors,
    split_by_persons,
)

# %% [markdown]
# ## Two errors
#
# Forty persons are observed ten times each, and have ten traits that they keep. *No
# trait has an effect.* A trait that was named beforehand, without a look at the
# response, is tested as if all rows were independent, and again with the persons as
# clusters. Then the trait that fits best of ten is tested, with clusters.

# %%
p_values = p_values_of_traits(repeats=40 if SHORT else 200)
distribution_of_p_values(p_values)
(p_values < 0.05).mean().to_frame("share below 0.05")

# %% [markdown]
# A p-value of a feature without effect is below 0.05 in 5 % of all cases, if it is
# honest (the grey line). By rows it is below in more than four of ten cases. Clusters
# mend that, up to a little because forty are few, but they do not mend the choice: the
# best of ten traits is "significant" in most cases again. Both corrections are needed.
#
# ## Wages: standard errors
#
# 545 men, eight years each (Vella and Verbeek, Journal of Applied Econometrics 13,
# 1998). The index of the table is the man. The model is that of BIC; how much larger
# are its standard errors if men are the clusters?

# %%
data = load_wages()
man = data.X.index.to_numpy()
X = data.X.drop(columns="occupation").assign(experience_2=data.X.experience**2)
model = l0path.fit(X, data.y).model("bic")
rows, men = model.refit(), model.refit(cov_type="cluster", cov_kwds={"groups": man})
ratios_of_errors((men.bse / rows.bse).drop("(Intercept)"))

# %% [markdown]
# Schooling stays what it is for a man, so 4360 rows say about it what 545 men say: the
# standard error is about twice as large. Features that change over the years lose
# less.
#
# ## Wages: p-values
#
# These men have also chosen the model. For p-values that hold, half of the men choose
# and the other half test, by clusters. (`split_inference` splits rows; for men a helper
# of this page does it. The median over splits, doubled, is a valid p-value:
# Meinshausen, Meier and Buhlmann 2009 with gamma = 1/2, here with the number of tested
# features as the correction.)

# %%
honest = split_by_persons(X, data.y, man, n_splits=10 if SHORT else 50)
pd.DataFrame({"p by rows, same men": rows.pvalues, "p by men, split": honest})

# %% [markdown]
# Schooling, union membership and, less surely, marriage stand; a feature that fewer
# than half of the splits choose has the p-value 1. That says how little 272 men can
# tell about it, not that it has no effect.
#
# ## What to take along
#
# * A model fixed beforehand: `refit(cov_type="cluster", cov_kwds={"groups": person})`.
# * After a choice: split persons, not rows, and cluster the half that tests.
# * `docs/inference.md` has the other ways after the selection.
