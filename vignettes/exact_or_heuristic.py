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
# # Exact against heuristic: was the search good enough, and what does it cost to know?
#
# The search for a path is a local one. It is fast, it checks every model against all
# exchanges of one column, and by itself it proves nothing: a better subset may exist
# that differs in two columns or more. Branch and bound, or leaps and bounds, can settle
# the matter by ruling out all other subsets in bulk. It costs more, sometimes far more.
# (Where it costs next to nothing, for least squares with few columns, `fit` adds such
# proofs without being asked. All fits of this page say `certify=False`, so that the
# local search is seen by itself.)
#
# So the practical question is not *exact or heuristic*, but: **how often is the
# heuristic wrong, by how much, and when can I afford to know?** This page asks it of
# real data: six sets, from 19 to 2308 columns. All numbers, times among them, are
# printed by the code. Times depend on the machine, and where a search is given a time
# limit, so does what it proves.

# %%
import time

import l0path
import numpy as np
import pandas as pd
from l0path.datasets import (
    load_diabetes,
    load_growth,
    load_hitters,
    load_sonar,
    load_srbct,
    load_wdbc,
)
from l0path.solvers import LocalSearch

from common import (
    SHORT,
    bounds_over_time,
    excess_of,
    longer_and_longer,
    seconds_to_proofs,
    ten_best,
    verdict_board,
    verdicts_of,
)

# %%
LIMIT = 1.0 if SHORT else 4.0  # seconds for each proof

# %% [markdown]
# # Part 1: one data set, every size proved
#
# Why do some countries grow faster than others? 72 countries, 41 candidate causes, 2^41
# possible models: a classic of the literature on model choice. The path by local
# search:

# %%
growth = load_growth()
X, y = growth.X, growth.y
began = time.perf_counter()
path = l0path.fit(X, y, certify=False)
print(f"{len(path)} models in {time.perf_counter() - began:.2f} s")
path

# %% [markdown]
# `certify` takes one of them and searches for a proof. No ridge and no bounds on
# coefficients are needed here, since there are more rows than columns.

# %%
path.certify(k=5, time_limit=None)

# %% [markdown]
# *Proven optimal*: none of the other subsets of five columns fits better. The search
# did not look at them one by one. A *node* is a question with some columns decided
# ("with `Confucian`, without `Mining`; the rest open"), and a lower bound over all that
# is open; where the bound is above the best model known, everything below the node is
# ruled out at once. Now all sizes up to `K`:

# %%
K = 7 if SHORT else 13
proofs = {k: path.certify(k=k, time_limit=60) for k in range(1, K + 1)}
rows = []
for k, c in proofs.items():
    rows.append(
        {
            "k": k,
            "status": c.status,
            "subsets": f"{float(np.prod([(41 - i) / (k - i) for i in range(k)])):.1e}",
            "nodes": c.nodes,
            "seconds": c.seconds,
            "gap": c.gap,
            "path was": "optimal"
            if c.proven and c.incumbent >= path.model(k=k).objective * (1 - 1e-9)
            else f"{path.model(k=k).objective / c.incumbent - 1:.2%} worse"
            if c.proven
            else "?",
        }
    )
pd.DataFrame(rows).set_index("k")

# %%
wrong = [
    k for k, c in proofs.items() if c.incumbent < path.model(k=k).objective * (1 - 1e-9)
]
print(
    f"proved: {sum(c.proven for c in proofs.values())} of {K} sizes; sizes at which a "
    f"better model than that of the path was found: {wrong or 'none'}"
)

# %% [markdown]
# Compare the columns `subsets` and `nodes`: that is what bounds save.
#
# All of this in one call is `algorithm="exact"`: the default path first, then a proof
# for each of its models, `time_limit` for all together.

# %%
exact = l0path.fit(X, y, algorithm="exact", max_k=6, time_limit=60)
exact.details[["k", "objective", "lower_bound", "gap", "deviance_ratio", "optimality"]]

# %% [markdown]
# # Part 2: what a proof costs
#
# Two things decide: the size, and how much a ridge (`lambda2`) helps the bounds. Growth
# again, and the 64 columns of the diabetes study (442 patients, measurements with their
# squares and products), each without and with a ridge. A search that met its time limit
# is drawn hollow at the limit, with the gap that it left.

# %%
wide = load_diabetes(expansion=True)
sizes = [1, 4] if SHORT else [1, 2, 3, 4, 6, 8, 10, 12]
costs = {}
for name, (A, r, ridges) in {
    "growth": (X, y, (0.0, 0.01, 0.1)),
    "diabetes, 64 columns": (wide.X, wide.y, (0.0, 0.01, 0.1)),
}.items():
    for ridge in ridges:
        one = l0path.fit(A, r, lambda2=ridge, max_k=20, certify=False)
        costs[name, ridge] = {k: one.certify(k=k, time_limit=LIMIT) for k in sizes}

# %%
seconds_to_proofs(costs, LIMIT, sizes)

# %% [markdown]
# Each further column multiplies the number of subsets, and the models at the top differ
# ever less; the time grows too, yet far slower than that number (table of Part 1). A
# ridge makes the bounds sharper, and long searches shorter. But it also changes the
# question: the proof is about the shrunken objective (see `how_good_is_my_model.py`).
# Does it change the *answer*? Where both are proved, compare the supports:

# %%
rows = []
for name in ("growth", "diabetes, 64 columns"):
    for k in sizes:
        bare = costs[name, 0.0][k]
        row = {"data": name, "k": k, "R2, lambda2 = 0": bare.model.deviance_ratio}
        for ridge in (0.01, 0.1):
            other = costs[name, ridge][k]
            both = bare.proven and other.proven
            row[f"same support at {ridge:g}"] = str(
                set(bare.model.support) == set(other.model.support)
            ) + ("" if both else " (not both proved)")
        row["R2 at 0.1"] = costs[name, 0.1][k].model.deviance_ratio
        rows.append(row)
pd.DataFrame(rows).set_index(["data", "k"])

# %% [markdown]
# # Part 3: the scoreboard
#
# Seven problems, every size, the same short time limit for each proof. Squared loss for
# salaries, growth and diabetes; logistic for the breast tumours, sonar returns and the
# childhood tumours (63 samples, 2308 genes: Ewing sarcoma, or rhabdomyosarcoma, against
# the rest), with `lambda2 = 0.01` where there is no proof without a ridge or it takes
# long.

# %%
hitters, breast, sonar, child = load_hitters(), load_wdbc(), load_sonar(), load_srbct()
genes, kinds = child.X[child.train], child.y[child.train]
logistic = {"loss": "logistic", "lambda2": 0.01}
problems = {
    "hitters": (hitters.X, hitters.y, {}),
    "growth": (X, y, {}),
    "diabetes 64, ridge": (wide.X, wide.y, {"lambda2": 0.01}),
    "breast tumours, ridge": (breast.X, breast.y, logistic),
    "sonar, ridge": (sonar.X, sonar.y, logistic),
    "EWS genes, ridge": (genes, kinds == "EWS", logistic),
    "RMS genes, ridge": (genes, kinds == "RMS", logistic),
}
kept = [1, 2, 5] if SHORT else list(range(1, 11))
paths = {
    name: l0path.fit(A, r, max_k=12, certify=False, **how)
    for name, (A, r, how) in problems.items()
}
board = {
    (name, k): one.certify(k=k, time_limit=LIMIT)
    for name, one in paths.items()
    for k in kept
}

# %%
verdicts, texts = verdicts_of(board, paths, kept)
verdict_board(verdicts, texts, kept, problems)

# %%
print(f"{(verdicts == 0).sum()} of {verdicts.size} models were proved to be the best,")
print(f"{np.isin(verdicts, (1, 3)).sum()} were replaced by better ones,")
print(f"{np.isin(verdicts, (2, 3)).sum()} proofs were not finished in {LIMIT:g} s")

# %% [markdown]
# What was missed? In each such case, the columns that have to move, and whether the
# same default search finds the better model when it is asked for a longer path
# (`max_k=20`), which only means that it comes to this size by other ways:

# %%
rows = []
for (name, k), c in board.items():
    old, new = paths[name].model(k=k), c.model
    if c.incumbent < old.objective * (1 - 1e-9):
        A, r, how = problems[name]
        longer = l0path.fit(A, r, max_k=20, certify=False, **how).model(k=k)
        rows.append(
            {
                "problem": name,
                "k": k,
                "columns that move": len(set(old.support) - set(new.support)),
                "ratio of the path": old.deviance_ratio,
                "better": new.deviance_ratio,
                "found on a longer path": longer.objective <= c.incumbent * (1 + 1e-9),
            }
        )
pd.DataFrame(rows).set_index(["problem", "k"]) if rows else "nothing was missed"

# %% [markdown]
# For a squared loss it is never one column alone that has to move, for that is what the
# path has checked. The better model is in `certificate.path`, a copy of the path with
# this row replaced; `path` itself does not change.
#
# An open cell is not a bad model. It says that this much time did not suffice for a
# proof; the number is what the proof still lacks, and says more about the bound than
# about the model.
#
# ## How good are the other heuristics?
#
# The proved cells are a yardstick for every algorithm, not only for the default. Each
# solves the whole path of each problem once; counted are the proved sizes at which it
# attained the optimum.

# %%
contestants = {
    "swap (default)": "swap",
    "swap, effort high": LocalSearch(effort="high"),
    "swap, effort fast": LocalSearch(effort="fast"),
    "CDPSI": "CDPSI",
    "cd": "cd",
    "htp": "htp",
}
rows = {}
for label, algorithm in contestants.items():
    excess, seconds = excess_of(algorithm, problems, board, kept)
    rows[label] = {
        "optimal": f"{(excess < 1e-8).sum()} of {np.isfinite(excess).sum()}",
        "worst excess": f"{np.nanmax(excess).clip(0):.2%}",
        "mean excess": f"{np.nanmean(excess).clip(0):.3%}",
        "seconds, seven paths": round(seconds, 2),
    }
print(f"proofs took {sum(c.seconds for c in board.values()):.0f} s")
pd.DataFrame(rows).T

# %% [markdown]
# Read it as a statement about cost. More effort of a local search is cheap, and a good
# buy where an optimum was missed. The proof costs far more than all of these paths
# together, and what it sells is, as a rule, not a better model but the knowledge that
# there is none.
#
# # Part 4: the ten best models
#
# The best subset is one answer. Often the better question is what the *ten* best have
# in common: a column that is in all of them is hard to do without; columns that take
# each other's place carry the same information. `n_best` asks the search not to stop at
# the best one. It is a proof too: no subset outside the list is better than the last of
# them.

# %% tags=["thumbnail"]
long = {"n_best": 10, "time_limit": 10 * LIMIT}
ten = {
    "growth, k = 6": path.certify(k=6, **long),
    "sonar, k = 4": paths["sonar, ridge"].certify(k=4, **long),
}
ten_best(ten)

# %%
for title, c in ten.items():
    every = set.intersection(*(set(m.features) for m in c.best))
    some = set.union(*(set(m.features) for m in c.best))
    print(
        f"{title}: {len(some)} columns occur in the ten best, {len(every)} in all of "
        f"them ({', '.join(sorted(every))}); the second loses "
        f"{c.best[1].objective / c.best[0].objective - 1:.3%}, the last "
        f"{c.best[-1].objective / c.best[0].objective - 1:.2%}"
    )

# %% [markdown]
# Darker rows are in all ten. How far apart the ten are is something no single best
# model can tell: where the runners-up lose a percent or less, the data hardly choose
# between them, whatever the proof says of the first. In the sonar panel columns are
# frequency bands in their order, and many of those that come and go are neighbours,
# which carry nearly the same signal.
#
# The list of all exchanges of one column (`path.alternatives`) is cheaper, and misses
# models that differ in more than one:

# %%
for title, c in ten.items():
    best = set(c.best[0].support)
    apart = [len(best - set(m.support)) for m in c.best[1:]]
    print(
        f"{title}: of the nine runners-up, {sum(a == 1 for a in apart)} are one "
        f"exchange away from the best, {sum(a > 1 for a in apart)} further"
    )

# %% [markdown]
# # Part 5: when time runs out
#
# Sonar returns again, now with a tenth of the ridge. What does more time buy? Six
# columns, the search started anew with ever longer limits, for two ridges:

# %%
limits = [0.5, 1, 2] if SHORT else [0.5, 1, 2, 4, 8]
runs = {}
for ridge in (0.01, 0.001):
    how = {"loss": "logistic", "lambda2": ridge}
    found = longer_and_longer(sonar.X, sonar.y, 6, limits, **how)
    runs[f"lambda2 = {ridge:g}"] = found
bounds_over_time(runs, limits)

# %%
runs["lambda2 = 0.001"][-1]

# %% [markdown]
# With a tenth of the ridge the bound starts far lower and creeps, and nothing in the
# figure promises that it will arrive. The certificate says so: while the search is open
# its status is `time_limit`, `proven` is False and `optimality` does not become
# `global`. The bound that it has is true all the same. Before buying hours, consider
# the neighbouring question, that with the larger `lambda2` of the left panel.
#
# A looser proof is cheaper. `gap=0.01` ends the search as soon as no model can be more
# than 1% better:

# %%
rows = []
for gap in (0.1, 0.03, 0.01, 1e-6):
    c = paths["sonar, ridge"].certify(k=4, gap=gap, time_limit=4 * LIMIT)
    rows.append(
        {
            "gap asked for": gap,
            "status": c.status,
            "gap": c.gap,
            "nodes": c.nodes,
            "seconds": c.seconds,
        }
    )
pd.DataFrame(rows).set_index("gap asked for")

# %% [markdown]
# # What to do with this
#
# | you want | take |
# |---|---|
# | a good model, a path, a curve of cross-validation | the default path; proofs of ten folds are of no use to anyone |
# | the same, with fewer misses | `LocalSearch(effort="high")` |
# | to say "the best subset" in a paper | `path.certify(k=...)` for that one model, and say for which `lambda2` |
# | to know whether a column is needed | `certificate.fixed_in`, or the ten best by `n_best=10` |
# | every size proved | `algorithm="exact"`, with `time_limit`: up to a few dozen columns without a ridge, thousands with one that matters |
#
# And what a proof is not: it says nothing about new rows, about the size to choose, or
# about causes. It takes one doubt away, the doubt about the search, and Part 3 says how
# large that doubt was to begin with.
