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
# # Several rows of one person
#
# Eight wages of one man are not the wages of eight men. Where rows come in persons, schools or sites, the search stays as it is, but two things change: how new data are imitated by folds, and how much the rows say. This page shows both,
# first where the truth is known, then on the wages of 545 men.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_wages

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repeats, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4, "display.max_colwidth", 110)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Part 1: traits without any effect
#
# Forty persons are observed ten times each. Every person has a level of their own, and thirty traits that they keep: blood group, height, schooling. *No trait has an effect.* One column that changes from row to row, the dose, has one.

# %%
def persons(rng, count=40, times=10, traits=30):
    """(X, y, person): traits of a person without effect, and `dose`, which has one."""
    person = np.repeat(np.arange(count), times)
    fixed = pd.DataFrame(rng.normal(size=(count, traits)), columns=[f"trait {j + 1}" for j in range(traits)])
    X = fixed.loc[person].reset_index(drop=True).assign(dose=rng.normal(size=count * times))
    level = rng.normal(size=count)
    return X, level[person] + 0.8 * X.dose + rng.normal(size=count * times), person


X, y, person = persons(np.random.default_rng(0))
by_rows = l0path.cv_fit(X, y, cv=10, random_state=1, lambda2=0)
by_persons = l0path.cv_fit(X, y, cv=10, groups_cv=person, random_state=1, lambda2=0)
for name, cv in (("rows", by_rows), ("persons", by_persons)):
    print(f"folds of {name}: {cv.model('min').k} columns at the least error, {cv.model('1se').k} by one standard error")

# %% tags=["thumbnail"]
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for name, cv, color in (("folds of rows", by_rows, ORANGE), ("folds of persons", by_persons, BLUE)):
    ax.fill_between(cv.scores.k, cv.scores.cv_mean - cv.scores.cv_se, cv.scores.cv_mean + cv.scores.cv_se, color=color, alpha=0.15, linewidth=0)
    ax.plot(cv.scores.k, cv.scores.cv_mean, "o-", color=color, markersize=4, label=name)
ax.axvline(1, color=GREY, linestyle=":")
ax.annotate("the truth: one column", (1, ax.get_ylim()[1]), xytext=(6, -4), textcoords="offset points", color=GREY, va="top")
plain(ax, xlabel="columns in the model, k", ylabel="held-out squared error", yscale="log", yticks=[2, 5, 10, 20], yticklabels=["2", "5", "10", "20"])
ax.minorticks_off()
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.05, 0.85));

# %% [markdown]
# Folds of rows leave out some rows of every person. The thirty traits are as good as a name tag: they tell the model who it is, and it recalls the level of that person from the other rows. So the error falls and falls, and it is right, for *another row of the
# same persons*. For a new person it is the blue curve that counts: nothing helps but the dose. `groups_cv=` names the persons, and all rows of one are left out together.
#
# # Part 2: how much do rows say?
#
# The second error is that of the standard error. A trait that was named beforehand, without a look at the response, is tested as if all rows were independent, and again with the persons as clusters. Then the trait that fits best of ten is tested, with clusters.

# %%
repeats = 40 if SHORT else 200
p_values = []
for seed in range(repeats):
    X, y, person = persons(np.random.default_rng(100 + seed), traits=10)
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": person}}
    best = l0path.fit(X, y, always_include=["dose"], max_k=1).model(k=1)
    fixed = l0path.fit(X[["trait 1", "dose"]], y, k=[2]).model(k=2)
    first = best.features[0] if best.features[0] != "dose" else best.features[1]
    p_values.append([fixed.refit().pvalues["trait 1"], fixed.refit(**clusters).pvalues["trait 1"], best.refit(**clusters).pvalues[first]])
p_values = np.array(p_values)
labels = ["fixed beforehand, errors by rows", "fixed beforehand, errors by persons", "best of ten traits, errors by persons"]
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
levels = np.linspace(0, 1, 101)
for values, label, color in zip(p_values.T, labels, (ORANGE, BLUE, GREEN), strict=True):
    ax.plot(levels, [(values <= level).mean() for level in levels], color=color, label=label)
    print(f"{label}: {np.mean(values < 0.05):.0%} of the p-values are below 0.05")
ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
plain(ax, xlabel="p-value", ylabel="share of p-values up to it; no trait has an effect")
ax.legend(frameon=False, loc="lower right");

# %% [markdown]
# A p-value of a column without effect is below 0.05 in 5 % of all cases, if it is honest (the grey line). By rows it is below in more than four of ten cases. Clusters mend that, up to a little because forty are few, but they do not mend the choice: the best of ten traits
# is "significant" in most cases again. Both corrections are needed.
#
# # Part 3: wages
#
# 545 men, eight years each (Vella and Verbeek, Journal of Applied Econometrics 13, 1998). The index of the table is the man.

# %%
data = load_wages()
wages = data.X.assign(log_wage=data.y, black=data.X.black.astype(int))
man = wages.index.to_numpy()
formula = "log_wage ~ education + bs(experience, df=4) + np.log(hours) + black + hispanic + married + union + C(occupation) + C(year)"
cv = l0path.cv_fit(formula, wages, cv=10, groups_cv=man, random_state=1, lambda2=0)
path = cv
pd.DataFrame({"k": cv.scores.k, "terms": [", ".join(one.groups) for one in path], "held-out error": cv.scores.cv_mean, "standard error": cv.scores.cv_se})

# %% [markdown]
# The choice by folds of men, and what a man adds to the standard errors:

# %%
model = cv.model("1se")
rows, men = model.refit(), model.refit(cov_type="cluster", cov_kwds={"groups": man})
errors = pd.DataFrame({"coef": rows.params, "by rows": rows.bse, "by men": men.bse, "ratio": men.bse / rows.bse}).drop("(Intercept)")
errors.round(4)

# %%
fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
place = np.arange(len(errors))[::-1]
ax.barh(place, errors.ratio, color=np.where(errors.ratio > 1, BLUE, GREY))
ax.axvline(1, color="#333333", linewidth=0.8)
plain(ax, yticks=place, yticklabels=errors.index, xlabel="standard error by men / standard error by rows");

# %% [markdown]
# Schooling stays what it is for a man, so 4360 rows say about it what 545 men say: the standard error is nearly twice as large. Columns that change over the years lose less.
#
# These men have also chosen the model. For p-values that hold, half of the men choose and the other half test, by clusters. (`split_inference` splits rows; for men the few lines below do it, and the median over splits, doubled, is a valid p-value: Meinshausen, Meier and
# Buhlmann 2009 with gamma = 1/2, here with the number of tested columns as the correction.)

# %%
numbers = pd.DataFrame({"education": wages.education, "experience": wages.experience, "experience^2": wages.experience**2, "log hours": np.log(wages.hours), "black": wages.black, "hispanic": wages.hispanic, "married": wages.married, "union": wages.union, "year": wages.year})
tested = []
rng = np.random.default_rng(1)
everyone = np.unique(man)
for _ in range(10 if SHORT else 50):
    choosing = np.isin(man, rng.choice(everyone, len(everyone) // 2, replace=False))
    chosen = l0path.fit(numbers[choosing], data.y[choosing]).model("bic")
    test = chosen.refit(X=numbers[~choosing], y=data.y[~choosing], cov_type="cluster", cov_kwds={"groups": man[~choosing]})
    corrected = (test.pvalues.drop("(Intercept)") * chosen.k).clip(upper=1)
    tested.append(corrected.reindex(numbers.columns, fill_value=1.0))
honest = (2 * pd.DataFrame(tested).median()).clip(upper=1)
whole = l0path.fit(numbers, data.y).model("bic").refit()
pd.DataFrame({"p by rows, same men": whole.pvalues.reindex(numbers.columns), "p by men, split": honest}).style.format("{:.2g}", na_rep="not chosen")

# %% [markdown]
# Schooling, union membership and, less surely, marriage stand; a column that fewer than half of the splits choose has the p-value 1. That says how little 272 men can tell about it, not that it has no effect.
#
# # What to take
#
# | question | answer |
# |---|---|
# | How well are *new persons* predicted? | `cv_fit(..., groups_cv=person)`, also in `nested_cv` |
# | How well are new rows of *these* persons predicted? | folds of rows; then think of a model with a level for each person |
# | Standard errors of a model fixed beforehand | `refit(cov_type="cluster", cov_kwds={"groups": person})` |
# | p-values after a choice | split persons, not rows, and cluster the half that tests |
#
# A model with random levels for persons would use the rows better. It is not searched here; the columns that are found can be given to `statsmodels`' `MixedLM`. `docs/choosing.md` has the folds, `docs/inference.md` the ways after the selection.
