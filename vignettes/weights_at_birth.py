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
# # From a question to a methods paragraph: weights at birth
#
# How does smoking during pregnancy go with the weight of the child, and does it matter for whom? A small data set with factors, and the whole way of an analysis: the terms, all subsets of them, interactions and what they contain, p-values that hold although
# the terms were chosen, the table, the figure and the paragraph.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_birth_weights
from statsmodels.stats.anova import anova_lm

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer splits, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4, "display.max_colwidth", 60)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # The data
#
# 1387 births in the United States (Mullahy, Review of Economics and Statistics 79, 1997), the weight in ounces; 16 ounces are 454 grams. Cigarettes per day, years of school and the birth order become factors, because nobody
# knows that their effects are straight lines. Factors are coded against their first level, so the first level is chosen with care: no cigarettes, twelve years of school, the first child.

# %%
data = load_birth_weights()
births = data.X.assign(weight=data.y)
births["smoking"] = pd.cut(births.cigarettes, [-1, 0, 10, 100], labels=["none", "1 to 10", "more"])
school = pd.cut(births.mother_education, [-1, 11, 12, 15, 30], labels=["under 12", "12", "13 to 15", "16 or more"])
births["school"] = school.cat.reorder_categories(["12", "under 12", "13 to 15", "16 or more"])
births["birth"] = pd.Categorical(births.parity.clip(upper=3).map({1: "first", 2: "second", 3: "later"}), ["first", "second", "later"])
births["sex"] = births.male.map({0: "girl", 1: "boy"})
births["ethnicity"] = births.white.map({0: "other", 1: "white"})
births["log_income"] = np.log2(births.income)
births.groupby("smoking", observed=True).weight.agg(["size", "mean", "std"])

# %% tags=["thumbnail"]
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, factor in zip(axes, ("sex", "ethnicity", "school"), strict=True):
    means = births.groupby([factor, "smoking"], observed=True).weight.agg(["mean", "sem"])
    levels = births[factor].astype("category").cat.categories
    for shift, (level, color) in enumerate(zip(levels, (BLUE, ORANGE, GREEN, GREY), strict=False)):
        one = means.loc[level]
        ax.errorbar(np.arange(3) + 0.07 * shift, one["mean"], one["sem"], fmt="o-", color=color, capsize=3, label=level)
    plain(ax, xlabel="cigarettes per day", title=factor, xticks=range(3), xticklabels=["none", "1 to 10", "more"])
    ax.legend(frameon=False, fontsize=9)
axes[0].set_ylabel("mean weight, ounces (one standard error)");

# %% [markdown]
# Children of smokers are lighter in every group. The lines are not quite parallel, and with that many groups some would not be even if nothing but chance were at work.
#
# # All subsets of the terms
#
# Six terms have 64 subsets. The path has the best one of each size and says so: `global` means that all others of that size were compared or refuted. A factor enters as a whole, so `k` counts terms.

# %%
TERMS = ["smoking", "school", "birth", "sex", "ethnicity", "log_income"]
path = l0path.fit(f"weight ~ {' + '.join(TERMS)}", births)
scores = path.score_table()
overview = pd.DataFrame({"k": path.details.k, "terms": [", ".join(model.groups) for model in path], "R2": path.details.deviance_ratio, "bic": scores.bic - scores.bic.min(), "aic": scores.aic - scores.aic.min(), "optimality": path.details.optimality})
overview.round(3)

# %% [markdown]
# BIC takes two terms, AIC five: the columns are the difference from the best model. What could stand in for a term? `alternatives` exchanges one for another; `relative` is the rise of the residual sum of squares.

# %%
path.model(k=2).alternatives().head(6)[["dropped", "added", "relative", "proven"]]

# %% [markdown]
# Smoking and ethnicity have no stand-in that is nearly as good.
#
# # Interactions, and what they contain
#
# Does smoking matter more for some? Fifteen products of two terms are candidates now. A product of factors means something only beside the terms that it contains. Without them the model depends on which level comes first, as the
# following shows: the same data, with two codings of smoking, and `heredity=None`, which lets everything in.

# %%
PRODUCTS = f"weight ~ ({' + '.join(TERMS)})**2"
found = {}
for first in ("none", "more"):
    levels = [first, *(level for level in ("none", "1 to 10", "more") if level != first)]
    coded = births.assign(smoking=births.smoking.cat.reorder_categories(levels))
    for heredity in (None, "strong"):
        model = l0path.fit(PRODUCTS, coded, heredity=heredity, max_k=2).model(k=2)
        found[f"heredity {heredity}", f"'{first}' comes first"] = {"best two terms": ", ".join(model.groups), "R2": model.deviance_ratio}
pd.DataFrame(found).T

# %% [markdown]
# With `heredity="strong"`, the default where an interaction contains a factor, the answer does not depend on the coding. So the question is: what does a product add to a model that has all six terms? They are put into every model, `k` counts what
# comes on top, and the folds say whether it helps births that the fit has not seen. The same folds are used for all sizes, so the differences are sharper than the standard errors.

# %%
options = {"always_include": TERMS, "max_k": 6}
beside = l0path.cv_fit(PRODUCTS, births, cv=5 if SHORT else 10, n_repeats=1 if SHORT else 3, random_state=1, **options, lambda2=0)
change = beside.folds - beside.folds.iloc[0]
criteria = beside.score_table()
fig, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
for name, color in (("bic", ORANGE), ("aic", BLUE)):
    axes[0].plot(beside.scores.k, criteria[name] - criteria[name].iloc[0], "o-", color=color, label=name.upper())
axes[0].axhline(0, color=GREY, linewidth=0.8)
axes[0].legend(frameon=False)
plain(axes[0], xlabel="products beside the six terms", ylabel="difference from none")
axes[1].errorbar(beside.scores.k, change.mean(axis=1), change.std(axis=1, ddof=1) / np.sqrt(change.shape[1]), fmt="o-", color=BLUE, capsize=3)
axes[1].axhline(0, color=GREY, linewidth=0.8)
plain(axes[1], xlabel="products beside the six terms", ylabel="held-out error, difference from none")
print("the best product:", beside.model(k=1).groups[-1])

# %% [markdown]
# No criterion and no fold wants a product. "No interaction was found" is what may be said; that there is none would need more births.
#
# # p-values that hold
#
# The model with the five terms of AIC, in the usual table of an analysis of variance. All its p-values are small, and too small: the rows have also chosen the terms.

# %%
results = path.model(k=5).refit()
print(results.selection.split(":")[0])
anova_lm(results, typ=2)

# %% [markdown]
# Splitting does without this: half of the births choose the terms, the others test them, many times over. The same five terms are asked for.

# %%
names = results.params.index.drop("(Intercept)")
split = l0path.split_inference(f"weight ~ {' + '.join(TERMS)}", births, k=5, n_splits=20 if SHORT else 100, random_state=1)
table = pd.DataFrame({"ounces": results.params[names], "naive p": results.pvalues[names], "chosen in": split.selected[names], "honest p": split.p_value[names], "low": split.ci_low[names], "high": split.ci_high[names]})
table.round(4)

# %%
order = np.arange(len(table))[::-1]
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
naive = results.conf_int().loc[names]
ax.hlines(order + 0.14, naive.lower, naive.upper, color=ORANGE, linewidth=3, label="on the rows that chose")
ax.hlines(order - 0.14, table.low, table.high, color=BLUE, linewidth=3, label="by splitting")
ax.plot(table.ounces, order + 0.14, "o", color=ORANGE)
ax.axvline(0, color=GREY, linewidth=0.8)
plain(ax, yticks=order, yticklabels=table.index, xlabel="ounces, with intervals of 95 % for each coefficient alone")
ax.legend(frameon=False, loc="lower left", fontsize=9);

# %% [markdown]
# More than ten cigarettes a day, and ethnicity, are sure. The birth order, the sex of the child and fewer cigarettes look sure in the naive table and are not by splitting, which uses only half of the births to test. Later children and boys *are* heavier, as
# larger studies know. So a large honest p-value is no proof of no effect, and a small naive one is no proof of one.
#
# # The paragraph
#
# > Birth weight was modelled by least squares on six candidate terms (cigarettes per day in three classes, education of the mother in four, birth order in three, sex, ethnicity, logarithm of the family income). All subsets of the terms were compared (l0path),
# > and the best of every size was proven to be so. BIC chose two terms (smoking, ethnicity), AIC five; we report the latter. Products of two terms were searched beside the six terms, with the terms that they contain; none was
# > kept by AIC or BIC, nor by ten-fold cross-validation. P-values and intervals are from 100 random splits into halves that choose and halves that test (Meinshausen, Meier and Buhlmann 2009), because those of a refit on the same births ignore the
# > selection. Children of mothers who smoked more than ten cigarettes a day were lighter by some eleven ounces (310 grams) than those of non-smokers. The data are observational: smokers differ from others in more than these terms.
#
# The last sentence is the one that no table gives. `docs/inference.md` compares the ways to honest numbers, and the page on tasks "A paper to write" has the words for other results.
