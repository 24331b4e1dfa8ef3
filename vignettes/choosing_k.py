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
# # Choosing the size: cross-validation, criteria, and where they disagree
#
# A path gives one model for every size `k`. Which `k`? There are two ways to answer. **Cross-validation** leaves rows out, fits on the rest, and looks at how well the rows left out are predicted. A
# **criterion** (AIC, BIC and their relatives) looks at the training fit alone, and charges a price for each column. Both are one call, so it is easy to compute all of them and awkward to explain why
# they differ.
#
# This page explains. Its one idea: *every rule is a price per column, and the data say what each column is worth*. Where the two curves cross is the choice. Rules disagree because they were made for
# different questions, not because one of them is wrong.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_diabetes, load_growth, load_hitters, load_srbct
from sklearn.model_selection import train_test_split

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repetitions, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
BLUE, ORANGE, GREEN, PINK, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6b6b6b"
RULES = ["aic", "aicc", "cp", "gic", "bic", "ebic", "mbic"]


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Part 1: cross-validation
#
# 442 diabetes patients, ten measurements with their squares and products: 64 columns. `cv_fit` fits the path on all rows and once in every fold; standardisation, search and everything else see the
# training rows of the fold only.

# %%
diabetes = load_diabetes(expansion=True)
X, y = diabetes.X, diabetes.y
cv = l0path.cv_fit(X, y, max_k=30, cv=10, random_state=1, lambda2=0)
cv.plot();

# %%
for which in ("min", "1se"):
    m = cv.model(which)
    print(f"{which}: k = {m.k}, held-out mean squared error {cv.scores.cv_mean[m.details.name]:.0f} (standard error {cv.scores.cv_se[m.details.name]:.0f}): {', '.join(m.features)}")

# %% [markdown]
# `"min"` is the model of least held-out error. `"1se"` is the smallest model whose error is within one standard error of it: if the curve cannot tell two sizes apart, take the simpler.
#
# ## The folds are random, and so is the choice
#
# Another `random_state` cuts the rows into other folds. The same data, the same paths, only the cut differs:

# %%
SEEDS = 6 if SHORT else 60
single = {seed: l0path.cv_fit(X, y, max_k=30, cv=10, random_state=seed, lambda2=0) for seed in range(SEEDS)}
chosen = pd.DataFrame([{which: c.model(which).k for which in ("min", "1se")} for c in single.values()])
repeated = l0path.cv_fit(X, y, max_k=30, cv=10, n_repeats=3 if SHORT else 20, random_state=1000, lambda2=0)

fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(3, 2))
for c in list(single.values())[:40]:
    axes[0].plot(c.scores.k, c.scores.cv_mean, color=BLUE, linewidth=0.6, alpha=0.35)
axes[0].plot(repeated.scores.k, repeated.scores.cv_mean, color=ORANGE, linewidth=2, label=f"mean of {repeated.scores.n_folds.iloc[0] // 10} repeats")
axes[0].plot([], [], color=BLUE, linewidth=0.8, label="one cut into ten folds")
low = repeated.scores.cv_mean.min()
plain(axes[0], xlabel="number of columns, k", ylabel="held-out mean squared error", ylim=(low * 0.97, low * 1.22))
axes[0].legend(frameon=False, fontsize=9)
counts = {which: chosen[which].value_counts().reindex(range(chosen.max().max() + 1), fill_value=0) / SEEDS for which in ("min", "1se")}
for which, color, shift in (("1se", GREEN, -0.2), ("min", BLUE, 0.2)):
    axes[1].bar(counts[which].index + shift, counts[which], width=0.4, color=color, label=f'"{which}"')
plain(axes[1], xlabel="k chosen", ylabel=f"share of {SEEDS} cuts")
axes[1].xaxis.get_major_locator().set_params(integer=True)
axes[1].legend(frameon=False, fontsize=9);

# %%
print(f"one cut:  min chooses k = {chosen['min'].min()} to {chosen['min'].max()}, 1se k = {chosen['1se'].min()} to {chosen['1se'].max()}")
print(f"repeated: min chooses k = {repeated.model('min').k}, 1se k = {repeated.model('1se').k}")

# %% [markdown]
# Two sizes compete here, 7 and 11, and the cut decides between them: our first one happened to be among the minority that says 7. `n_repeats=` averages over cuts and takes this noise away. It costs
# as many times more, and is worth it where the choice is to be reported. What it does not take away is that these are the same 442 patients every time. So the standard
# error is taken within each repeat and averaged: it does not shrink with repeats, and "1se" still means "within what the data can tell".
#
# # Part 2: criteria, as prices
#
# A criterion is `-2 loglik` plus a price for each column. So a column is bought if it lowers `-2 loglik` by more than the price. Prices per column, `n` rows, `p` columns, `d` coefficients:
#
# | rule | price of the k-th column | made for |
# |---|---|---|
# | AIC, Cp | 2 (Cp: in units of the noise variance of the full model) | prediction: the error on new responses at the same rows |
# | AICc | 2 and more, growing with d | the same, when d is not small against n |
# | BIC | log n | finding the true columns among *few* candidates |
# | EBIC | log n + 2 log((p - k + 1) / k) | finding them among *many*: it also charges for the search |
# | mBIC | log n + 2 log(p / 4 - 1) | the same, if about four are expected |
# | GIC | log(log n) log p | the same, with p that grows faster than any power of n |
#
# `path.score_table()` has all of them. For each size, what is the column worth, and what would each rule charge?

# %%
path = cv
scores = path.score_table()
scores.loc[:10, ["loglik", "df", "aic", "aicc", "bic", "ebic", "gic", "mbic", "cp"]].round(1)


# %%
def prices(ax, path, rules, top, legend):
    """Gain of each further column (bars) against the price that each rule charges for it (lines), with the size each rule selects (dots)."""
    scores, k = path.score_table(), path.details.k.to_numpy()
    gain = 2.0 * np.diff(scores.loglik)
    ax.bar(k[1:], gain, width=0.8, color="#d0d0d0", label="gain in 2 loglik")
    for (rule, color), lift in zip(rules.items(), np.linspace(0.97, 0.69, len(rules)), strict=True):
        price = np.diff(scores[rule]) + gain
        ax.plot(k[1:], price, color=color, linewidth=1.6, label=rule)
        at = path.details.k[path.select(rule)]
        ax.annotate("", (at, 0), xytext=(at, top * lift), arrowprops={"arrowstyle": "-", "color": color, "linewidth": 1, "linestyle": ":"})
        ax.text(at + 0.4, top * lift, f"{rule}: {at}", color=color, fontsize=8.5, va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85})
    plain(ax, xlabel="k-th column", ylim=(0, top))
    if legend:
        ax.set_ylabel("gain and price")


COLORS = {"aic": BLUE, "aicc": SKY, "bic": GREEN, "ebic": ORANGE, "gic": PINK, "mbic": GREY}
hitters, growth = load_hitters(), load_growth()
paths = {"hitters: 263 rows, 19 columns": l0path.fit(hitters.X, hitters.y), "diabetes: 442 rows, 64 columns": path, "growth: 72 rows, 41 columns": l0path.fit(growth.X, growth.y, max_k=30)}
fig, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (title, one), left in zip(axes, paths.items(), (True, False, False), strict=True):
    prices(ax, one, COLORS, 22, left)
    ax.set_title(title, fontsize=10)
handles, labels = axes[0].get_legend_handles_labels()
fig.legend(handles, labels, frameon=False, fontsize=9, ncols=7, loc="outside upper center");

# %%
rows = {}
for title, one in paths.items():
    rows[title.split(":")[0]] = {rule: one.details.k[one.select(rule)] for rule in RULES}
data = {"hitters": (hitters.X, hitters.y), "diabetes": (X, y), "growth": (growth.X, growth.y)}
for name, (A, r) in data.items():
    c = l0path.cv_fit(A, r, max_k=30 if name != "hitters" else None, cv=10, n_repeats=1 if SHORT else 10, random_state=1, lambda2=0)
    rows[name] |= {'CV "min"': c.model("min").k, 'CV "1se"': c.model("1se").k}
pd.DataFrame(rows).T

# %% [markdown]
# Read the bars first. On the first data sets they fall below every price after a handful of columns: rules differ by a few columns that are worth between 2 and about 10 units of `2 loglik`, which is
# where it is a matter of *purpose* whether to buy. (EBIC's price falls with `k`, because there are fewer and fewer further supports of the next size; past half of the columns it is even below that of
# BIC.) A rule takes the size of least *total*, not the first bar below its line, so a strong late column can pull weaker ones in before it.
#
# Growth is another matter: the bars do not fall. With 72 rows and 41 columns, *searched* columns look valuable for ever, since each is the best of dozens. Prices of `log n` were derived for a column
# named beforehand. AIC and BIC run far along the path there, and EBIC goes with them, because 22 of 41 is where its price has become small. Of the criteria only mBIC, whose price does not fall, stops
# early. Cross-validation, which does not believe the training fit at all, has its turn in the last two parts.
#
# # Part 3: columns that were screened away still count: `p_total=`
#
# A frequent way to fool oneself: take thousands of columns, keep the best by some quick look at the response, and let a criterion choose among those. The criterion is told of 60 columns and charges
# for 60. Here are the 2308 genes of 83 tumours, and a response that is *pure noise*: the right answer is `k = 0`.

# %%
genes = load_srbct().X
rng = np.random.default_rng(0)
rows = []
for _ in range(4 if SHORT else 50):
    noise = rng.standard_normal(len(genes))
    look = np.abs(np.corrcoef(genes.to_numpy().T, noise)[-1, :-1])
    best = np.argsort(-look)[:60]
    one = l0path.fit(genes.iloc[:, best], noise, max_k=20)
    row = {rule: one.details.k[one.select(rule)] for rule in ("aicc", "bic", "ebic", "mbic", "gic")}
    rows.append(row | {f"{rule}, p_total=2308": one.details.k[one.select(rule, p_total=genes.shape[1])] for rule in ("ebic", "mbic", "gic")}
                | {f'CV "1se", {what}': l0path.cv_fit(table, noise, max_k=10, cv=10, random_state=1, lambda2=0).model("1se").k for what, table in (("on the 60 screened", genes.iloc[:, best]), ("on all 2308", genes))})
fooled = pd.DataFrame(rows)
pd.DataFrame({"mean k (truth: 0)": fooled.mean(), "share of k = 0": (fooled == 0).mean()}).round(2)

# %% [markdown]
# Every criterion that was told of 60 columns finds something in noise, nearly always. With `p_total=` those that charge for the search are told how long the search really was, and EBIC and mBIC then
# find nothing, as they should. AIC and BIC have no such argument, because they never charged for a search. Cross-validation on the screened columns is fooled too, less often than the criteria: the
# screening saw the held-out rows, so the folds are no fair judges of it. The repair there is to have the screening *inside* the fold, which here means: give all the columns to `cv_fit`; it can take
# them.
#
# # Part 4: the honest error: nested cross-validation
#
# `cv_mean` of the chosen model was the smallest of many numbers, so it is too small: the winner of a contest is lucky as well as good. `nested_cv` puts the choice itself to the test: in each outer
# fold, cross-validation chooses a size on the training rows alone, and the chosen model is scored on rows that neither the fit nor the choice has seen.

# %%
OUTER = 1 if SHORT else 3
rows = []
for name, (A, r) in data.items():
    for which in ("min", "1se", "bic"):
        nested = l0path.nested_cv(A, r, outer=5 if SHORT else 10, cv=5 if SHORT else 10, rule=which, max_k=15, n_repeats=OUTER, random_state=1)
        null = np.var(r)
        rows.append({"data": name, "rule": which, "inner, of the winner": nested.table.inner_mean.mean() / null, "nested": nested.mean / null, "too small by": 1 - nested.table.inner_mean.mean() / nested.mean,
                     "k, smallest": nested.table.k.min(), "median": nested.table.k.median(), "largest": nested.table.k.max()})
honest = pd.DataFrame(rows).set_index(["data", "rule"])
print("errors as a share of the variance of the response")
honest.round(3)

# %%
fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, ((name, rule), row) in enumerate(honest.iterrows()):
    line = place + place // 3 * 0.8
    ax.plot([row["inner, of the winner"], row["nested"]], [line, line], color=GREY, linewidth=1.5)
    ax.scatter(row["inner, of the winner"], line, s=42, facecolor="white", edgecolor=BLUE, linewidth=1.5, zorder=3, label="inner score of the chosen model" if place == 0 else None)
    ax.scatter(row["nested"], line, s=42, color=ORANGE, zorder=3, label="on rows the choice has not seen" if place == 0 else None)
ax.set_yticks([p + p // 3 * 0.8 for p in range(len(honest))], [f"{name}, {rule}" for name, rule in honest.index])
ax.invert_yaxis()
plain(ax, xlabel="mean squared error / variance of the response")
ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=2);

# %% [markdown]
# The larger the search for the number of rows, the longer the line. With hundreds of rows the winner's own score is 3 to 10 % too good, which rarely matters. On growth it is half of the truth, and the
# sizes chosen in the outer folds, printed in the last columns of the table, say the same in another way: the size is not determined by 72 rows. A nested error is that of the *procedure*, not of the
# one model you will report; it is the number to put beside it.
#
# # Part 5: which rule predicts best?
#
# Two thirds of the rows to choose and fit, one third to judge, many times over, on the same splits for every rule.

# %%
SPLITS = 3 if SHORT else 40
FAIR = ["aic", "aicc", "bic", "ebic", "mbic", "CV min", "CV 1se", "largest k"]
results = []
for name, (A, r) in data.items():
    for seed in range(SPLITS):
        train, test = train_test_split(np.arange(len(r)), test_size=1 / 3, random_state=seed)
        c = l0path.cv_fit(A.iloc[train], r.iloc[train], max_k=min(A.shape[1], len(train) // 2), cv=5, random_state=seed, lambda2=0)
        for rule in FAIR:
            m = c.model(rule.split()[1]) if rule.startswith("CV") else c.model(k=c.details.k.max()) if rule == "largest k" else c.model(rule)
            results.append({"data": name, "rule": rule, "k": m.k, "error": np.mean((r.iloc[test] - m.predict(A.iloc[test])) ** 2) / np.var(r.iloc[test])})
results = pd.DataFrame(results)
summary = results.groupby(["data", "rule"], sort=False).agg(k=("k", "mean"), error=("error", "median"), bad=("error", lambda e: e.quantile(0.9))).reset_index()

# %%
fig, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
for ax, (name, part) in zip(axes, summary.groupby("data", sort=False), strict=True):
    for place, (_, row) in enumerate(part.iterrows()):
        errors = results[(results.data == name) & (results.rule == row.rule)].error
        ax.plot(errors.quantile([0.1, 0.9]), [place, place], color="#c4c4c4", linewidth=4, solid_capstyle="round")
        ax.scatter(row.error, place, s=36, color=ORANGE if row.rule.startswith("CV") else GREY if row.rule.startswith("largest") else BLUE, zorder=3)
        ax.annotate(f"k = {row.k:.1f}", (1.01, place), xycoords=("axes fraction", "data"), fontsize=8, va="center", color=GREY)
    ax.set_yticks(range(len(part)), part.rule)
    ax.invert_yaxis()
    ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_title(name, fontsize=10)
    plain(ax, xlabel="test error / variance", xscale="log")
    low, high = 0.95 * results[results.data == name].groupby("rule").error.quantile(0.1).min(), 1.05 * max(1.0, part.bad.max())
    ticks = np.array([0.5, 1, 2, 4, 8, 16, 32, 64] if high > 4 * low else [0.4, 0.5, 0.6, 0.8, 1, 2])
    ax.minorticks_off()
    ax.set_xticks(ticks[(ticks > low) & (ticks < high)], [f"{t:g}" for t in ticks[(ticks > low) & (ticks < high)]])
    ax.set_xlim(low, high)
fig.suptitle("median and 10 to 90 % of the splits; the dotted line is no better than the mean", fontsize=9, color=GREY);

# %%
summary.pivot_table(index="rule", columns="data", values="error", sort=False)[list(data)].round(3)

# %% [markdown]
# No rule wins everywhere. Where columns are few and rows many (hitters), buying too much costs next to nothing and stopping early costs something: AIC, AICc, even all columns predict best. With 64
# columns and 442 rows, prices near `log n` and cross-validation are ahead, and taking everything is worst. On growth any rule that goes on adding columns is a disaster on some of the splits, and the rules that stop
# early are ahead.
#
# # What to do with this
#
# | you want | take | and know |
# |---|---|---|
# | good predictions | cross-validation, `"min"`, with `n_repeats=` if you publish the size | never far behind above, not always first; report the nested error beside it |
# | the same from a short list | `"1se"`, one cut | it gave something away on hitters, and was among the best on growth |
# | something quick, few columns and hundreds of rows | AICc | it does not charge for the search, so not with dozens of columns |
# | the columns that matter, few candidates, many rows | BIC | it trusts the training fit: on few rows it goes on buying |
# | the same with many candidates | EBIC or mBIC, `p_total=` if columns were screened | they miss weak columns, and are meant to; EBIC's price falls with k, so keep `max_k` well below p |
#
# And a warning that no rule repairs. Where rules agree, the data determine the size well. Where they differ as on growth, from 7 to 26 columns, *the data do not determine the size*, and the honest report shows
# more than one model.
