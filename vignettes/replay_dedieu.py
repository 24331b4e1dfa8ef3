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
# # Learning sparse classifiers, replayed
#
# Dedieu, Hazimeh and Mazumder (*Learning Sparse Classifiers: Continuous and Mixed
# Integer Optimization Perspectives*, JMLR 22:135, 2021; the paper behind the R package
# L0Learn) ask how well the truth can be found when a logistic regression has few
# nonzero coefficients. This page repeats their Figures 1 and 2 (recovery, size and AUC
# against the number of rows) and their Table 2 (fifty and a hundred thousand columns).
#
# All data here are simulated, as there: rows are normal with correlation matrix Sigma,
# `k` coefficients are 1 at equal distances, and `P(y = 1) = 1 / (1 + exp(-s eta))`.
# Tuning is theirs too: a validation response `y'` drawn anew for the *same* X, and of
# all models on all paths the one of least validation deviance.
#
# What differs: their 100 lambda0 on 10 values of lambda2 or lambda1 are here all sizes
# (or 100 lambda0) on 4 values, 20 repetitions are 4, and MCP, GraSP and NHTP are
# quoted, not run.

# %%
import time
import warnings

import l0path
import numpy as np
import pandas as pd
from l0path import simulate
from l0path.diagnostics import support_recovery
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from common import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SHORT,
    SKY,
    recovery_panels,
    true_positives,
)

# %%
warnings.simplefilter(
    "ignore", l0path.errors.ConvergenceWarning
)  # of plain coordinate descent at the least lambda2; what counts is the model

# %% [markdown]
# ## Recovery against the number of rows: their Figures 1 and 2
#
# 1000 columns, 25 of them true, `s = 1`, correlation `0.9^|i-j|` (Figure 1) and
# `0.5^|i-j|` (Figure 2). Five methods. *CD* is coordinate descent alone, their
# Algorithm 1; *CDPSI* adds swaps in which the other coefficients stay as they are,
# their Algorithm 2; both along lambda0. *swap* is the default of this package, swaps
# with all coefficients fitted again, along the sizes. These have a ridge of 3e-4 to
# 0.3, a part of their grid from 1e-4 to 100 (the scale is the same); *swap, L0L1* has
# lambda1 in its place. *L1* is the lasso of scikit-learn. AUC is taken on 2000 new
# rows.

# %%
ROWS = (100, 200) if SHORT else (100, 300, 600, 1000)
REPEATS = 1 if SHORT else 4
COLUMNS, TRUE = (100, 8) if SHORT else (1000, 25)
RIDGES = (1e-3, 0.1) if SHORT else np.geomspace(3e-4, 0.3, 4)
METHODS = {
    "CD (Algorithm 1)": (
        SKY,
        {"algorithm": "cd", "lambda0": "grid", "lambda2": RIDGES},
    ),
    "CDPSI (Algorithm 2)": (
        BLUE,
        {"algorithm": "CDPSI", "lambda0": "grid", "lambda2": RIDGES},
    ),
    "swap": (ORANGE, {"lambda2": RIDGES}),
    "swap, L0L1": (PINK, {"lambda1": l0path.grid(n=len(RIDGES))}),
}


def lasso(X, y, X_valid, y_valid):
    """Coefficients and intercept of the L1 regression of least validation deviance."""
    scale = X.std(axis=0)
    best = (np.inf, None)
    for C in np.geomspace(0.3, 100, 8 if SHORT else 25) / np.sqrt(len(y)):
        model = LogisticRegression(
            C=C,
            l1_ratio=1,
            solver="liblinear",
            max_iter=300,
            intercept_scaling=10,
            random_state=0,
        ).fit(X / scale, y)
        best = min(
            best,
            (
                log_loss(y_valid, model.predict_proba(X_valid / scale)),
                model.coef_[0] / scale,
            ),
            key=lambda pair: pair[0],
        )
    return best[1]


rows = []
for rho in (0.9, 0.5):
    for n in ROWS:
        for repeat in range(REPEATS):
            data = simulate.logistic(n, COLUMNS, TRUE, rho=rho, random_state=repeat)
            new = simulate.logistic(
                2000, COLUMNS, TRUE, rho=rho, random_state=1000 + repeat
            )  # other rows, the same truth
            again = data.new_response(2000 + repeat)
            for name, (_, how) in METHODS.items():
                began = time.perf_counter()
                path = l0path.fit(
                    data.X, data.y, loss="logistic", max_k=2 * TRUE, **how
                )
                chosen = path.validate(data.X, again).model("min")
                found = support_recovery(path, data).loc[chosen.details.name]
                rows.append(
                    {
                        "rho": rho,
                        "n": n,
                        "method": name,
                        "F1": found.f1,
                        "support size": chosen.details["n_features"],
                        "false positives": found.false_positives,
                        "AUC": roc_auc_score(new.y, chosen.predict(new.X, type="link")),
                        "seconds": time.perf_counter() - began,
                    }
                )
            began = time.perf_counter()
            beta = lasso(data.X, data.y, data.X, again)
            found = support_recovery(beta, data).iloc[0]
            rows.append(
                {
                    "rho": rho,
                    "n": n,
                    "method": "L1",
                    "F1": found.f1,
                    "support size": found.k,
                    "false positives": found.false_positives,
                    "AUC": roc_auc_score(new.y, new.X @ beta),
                    "seconds": time.perf_counter() - began,
                }
            )
            rows.append(
                {
                    "rho": rho,
                    "n": n,
                    "method": "the truth",
                    "F1": 1.0,
                    "support size": TRUE,
                    "false positives": 0,
                    "AUC": roc_auc_score(new.y, new.eta),
                    "seconds": 0.0,
                }
            )
figures = pd.DataFrame(rows)
means = figures.groupby(["rho", "n", "method"], sort=False)[
    ["F1", "support size", "false positives", "AUC"]
].mean()
print(means.unstack("method")[["F1", "support size"]].round(2).to_string())

# %%
colors = {name: color for name, (color, _) in METHODS.items()} | {
    "L1": GREEN,
    "the truth": GREY,
}
recovery_panels(colors, means)
# %%
wide = figures.pivot_table(index=["rho", "n"], columns="method", values="F1")
for rho in (0.9, 0.5):
    part = wide.loc[rho]
    print(
        f"correlation {rho:g}: F1 over all n: "
        + ", ".join(f"{name} {part[name].mean():.2f}" for name in [*METHODS, "L1"])
    )
print(
    "seconds for a whole grid, median: "
    + ", ".join(
        f"{name} {value:.1f}"
        for name, value in figures[figures.method != "the truth"]
        .groupby("method", sort=False)
        .seconds.median()
        .items()
    )
)

# %% [markdown]
# ## Fifty and a hundred thousand columns: their Table 2
#
# `n = 1000`. Setting 1: 50 000 independent columns, 30 true. Setting 2: 100 000
# columns, every two correlated by 0.3, 20 true. `s = 1000`.
#
# Here the recipe needs a remark. With `s = 1000` the response is a function of the
# columns, up to one row in thousands: the validation response equals the training
# response, and the least validation deviance is the least *training* deviance. It is
# that of the least ridge and the largest model of whatever path was computed. The rule
# says nothing about the size, then; where a path *ends* does. So two things are
# reported: the first size at which all rows of `y'` are classified rightly, and false
# positives *by size*, which leaves nobody a choice. The ridge is the least of their
# grid, 1e-8.

# %%
SETTINGS = {
    "1": {"n": 1000, "p": 50_000, "k": 30, "correlation": "iid"},
    "2": {"n": 1000, "p": 100_000, "k": 20, "rho": 0.3, "correlation": "constant"},
}
if SHORT:
    SETTINGS = {
        "1": {"n": 300, "p": 600, "k": 8, "correlation": "iid"},
        "2": {"n": 300, "p": 600, "k": 6, "rho": 0.3, "correlation": "constant"},
    }
TIMES = 1 if SHORT else 10
table, curves = [], {}
for setting, how in SETTINGS.items():
    for repeat in range(TIMES):
        data = simulate.logistic(**how, scale=1000, random_state=repeat)
        again = data.new_response(1000 + repeat)
        began = time.perf_counter()
        path = l0path.fit(
            data.X,
            data.y,
            loss="logistic",
            lambda2=1e-8,
            max_k=how["k"] + (0 if SHORT else 10),
        )
        seconds = time.perf_counter() - began
        recovery = support_recovery(path, data)
        wrong = path.validate(data.X, again, scoring="misclassification").scores.cv_mean
        first = int(np.argmax(wrong.to_numpy() == wrong.min()))
        truth = l0path.fit(
            data.X[:, data.support], data.y, loss="logistic", lambda2=1e-8, k=how["k"]
        )
        table.append(
            {
                "setting": setting,
                "validation rows that differ": int((again != data.y).sum()),
                "wrong rows at best": round(wrong.min() * how["n"]),
                "size": int(recovery.k[first]),
                "FP": int(recovery.false_positives[first]),
                "TP": int(recovery.true_positives[first]),
                "objective / that of the truth": path.model(k=how["k"]).objective
                / truth.model(k=how["k"]).objective,
                "seconds": seconds,
            }
        )
        curves[setting, repeat] = recovery
        del data, path
table = pd.DataFrame(table)
print(table.to_string())

# %%
theirs = pd.DataFrame(
    {
        "FP": [0.0, 0.0, 617.2, 0.0, 44.7, 50.5, 11.5, 11.2, 242.2, 80.1, 92.5, 45.3],
        "size": [
            30.0,
            30.0,
            647.2,
            30.0,
            74.7,
            80.5,
            14.6,
            14.5,
            256.9,
            91.5,
            100.0,
            54.4,
        ],
    },
    index=pd.MultiIndex.from_product(
        [
            ["1", "2"],
            ["L0L2, Algorithm 2", "L0L1, Algorithm 2", "L1", "MCP", "NHTP", "GraSP"],
        ]
    ),
)
theirs["TP"] = (
    theirs["size"] - theirs.FP
)  # Table 2 of the paper, means of ten repetitions
ours = table.groupby("setting")[["size", "FP", "TP", "seconds"]].agg(["mean", "sem"])
print("ours, mean and standard error\n" + ours.round(2).to_string())
print("\ntheirs, from the paper\n" + theirs.round(1).to_string())

# %%
true_positives(SETTINGS, TIMES, curves, theirs)
# %%
for setting, size in (("1", 30), ("2", 15)):
    if not SHORT:
        at = np.array(
            [
                curves[setting, repeat].set_index("k").false_positives[size]
                for repeat in range(TIMES)
            ]
        )
        print(
            f"setting {setting}, at size {size}: false positives {at.mean():.1f} "
            f"(standard error {at.std(ddof=1) / np.sqrt(TIMES):.1f}), theirs "
            f"{theirs.loc[(setting, 'L0L2, Algorithm 2'), 'FP']} at "
            f"{theirs.loc[(setting, 'L0L2, Algorithm 2'), 'size']}"
        )
    missed = table[table.setting == setting]["objective / that of the truth"] > 1 + 1e-6
    print(
        f"setting {setting}: the truth has a lower objective than the model found of "
        f"its size in {missed.sum()} of {TIMES} repetitions"
    )

# %% [markdown]
# Whose fault is it that the truth of setting 2 is not found: the search's, or the
# objective's? With the ridge of 1e-8 the truth has the lower objective, so it is the
# search's: all sets that separate the classes have a loss near nothing, and away from
# them the objective does not point to the one with the widest margin. Would a larger
# ridge point better? The same columns, the first repetitions:

# %%
rows = []
how = SETTINGS["2"]
for repeat in range(min(TIMES, 2)):
    data = simulate.logistic(**how, scale=1000, random_state=repeat)
    for ridge in (1e-3, 1e-1):
        path = l0path.fit(
            data.X, data.y, loss="logistic", lambda2=ridge, max_k=how["k"] + 4
        )
        truth = l0path.fit(
            data.X[:, data.support], data.y, loss="logistic", lambda2=ridge, k=how["k"]
        )
        found = support_recovery(path, data).set_index("k")
        rows.append(
            {
                "repetition": repeat,
                "lambda2": ridge,
                f"TP at size {how['k']}": int(found.true_positives[how["k"]]),
                "objective / that of the truth": path.model(k=how["k"]).objective
                / truth.model(k=how["k"]).objective,
            }
        )
    del data, path
pd.DataFrame(rows).set_index(["repetition", "lambda2"])

# %% [markdown]
# Where the ratio is below 1 the search has found something *better than the truth* by
# the objective it was given, and no better search could help: with 100 000 columns and
# 1000 rows, some set of wrong columns fits the shrunken problem better.
#
# ## What agrees with the paper, and what does not
#
# Numbers are those of the full form (4 repetitions for the figures, so a mean F1 may be
# off by 0.05 or more; 10 for the table).
#
# *Agrees.*
#
# * High correlation: swaps matter. At 600 rows F1 is 0.48 for coordinate descent, 0.75
#   with partial swaps, 0.80 with refitted ones; at 1000 rows 0.78 against 0.98 for both
#   kinds of swaps. At 300 rows nobody gets beyond 0.41, in line with their "below 0.8
#   for n under 600".
# * Medium correlation: all L0 methods are alike, and from 600 rows on the support is
#   found, with a false column at most (they say from about 500).
# * The lasso takes 45 to 190 columns, and its F1 never exceeds 0.31.
# * Table 2, setting 1: no false positive and size 30, in ten of ten, as theirs.
# * Table 2, setting 2: nobody finds the support. At 15 columns, the size at which the
#   paper's models end, there are 9.2 false positives here (standard error 1.1) and 11.5
#   there (0.4): somewhat better, though the spread is large.
#
# *Does not, or not without a remark.*
#
# * In setting 2 our first model that classifies every row rightly has 20.1 columns,
#   13.9 of them false and 6.2 true; theirs has 14.6, 11.5 and 3.1. By the number of
#   false positives theirs is better, by the share of true ones ours (31 % against 21
#   %). The two numbers belong to different sizes, and which size is reported is decided
#   by where a path ends, not by the validation rule of the paper, which is silent where
#   the response is (nearly) free of noise.
# * With few rows L0 has no lead in prediction: up to 300 rows the AUC of the lasso is
#   as good or better, at both correlations. The paper reports the best AUC for L0 at
#   every n of the high correlation.
# * Refitted swaps against partial ones: ahead or equal in F1 at every n, but by little,
#   and twice as slow for the whole grid. On these data their Algorithm 2 is nearly as
#   good as our default.
# * L0L1 takes very small models where rows are few (12 columns at 100 rows), and pays
#   for it in AUC.
