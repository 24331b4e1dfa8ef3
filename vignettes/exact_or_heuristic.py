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
# # Exact against heuristic: was the search good enough, and what does it cost to know?
#
# The search for a path is a local one. It is fast, it checks every model against all exchanges of one column, and by itself it proves nothing: a better subset may exist that differs in two columns or more.
# Branch and bound, or leaps and bounds, can settle the matter by ruling out all other subsets in bulk. It costs more, sometimes far more. (Where it costs next to nothing, for least squares with few columns,
# `fit` adds such proofs without being asked. All fits of this page say `certify=False`, so that the local search is seen by itself.)
#
# So the practical question is not *exact or heuristic*, but: **how often is the heuristic wrong, by how much, and when can I afford to know?** This page asks it of real data: six sets, from 19 to 2308 columns.
# All numbers, times among them, are printed by the code. Times depend on the machine, and where a search is given a time limit, so does what it proves.

# %%
import os
import time
import warnings

import matplotlib.pyplot as plt
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
from matplotlib.colors import ListedColormap

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer sizes and shorter limits, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6b6b6b"
LIMIT = 1.0 if SHORT else 4.0  # seconds for each proof, where nothing else is said


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # Part 1: one data set, every size proved
#
# Why do some countries grow faster than others? 72 countries, 41 candidate causes, 2^41 possible models: a classic of the literature on model choice. The path by local search:

# %%
growth = load_growth()
X, y = growth.X, growth.y
began = time.perf_counter()
path = l0path.fit(X, y, certify=False)
print(f"{len(path)} models in {time.perf_counter() - began:.2f} s")
path

# %% [markdown]
# `certify` takes one of them and searches for a proof. No ridge and no bounds on coefficients are needed here, since there are more rows than columns.

# %%
path.certify(k=5, time_limit=None)

# %% [markdown]
# *Proven optimal*: none of the other subsets of five columns fits better. The search did not look at them one by one. A *node* is a question with some columns decided ("with `Confucian`, without `Mining`; the rest open"), and a
# lower bound over all that is open; where the bound is above the best model known, everything below the node is ruled out at once. Now all sizes up to `K`:

# %%
K = 7 if SHORT else 13
proofs = {k: path.certify(k=k, time_limit=60) for k in range(1, K + 1)}
rows = []
for k, c in proofs.items():
    rows.append({"k": k, "status": c.status, "subsets": f"{float(np.prod([(41 - i) / (k - i) for i in range(k)])):.1e}", "nodes": c.nodes, "seconds": c.seconds, "gap": c.gap,
                 "path was": "optimal" if c.proven and c.incumbent >= path.model(k=k).objective * (1 - 1e-9) else f"{path.model(k=k).objective / c.incumbent - 1:.2%} worse" if c.proven else "?"})
pd.DataFrame(rows).set_index("k")

# %%
wrong = [k for k, c in proofs.items() if c.incumbent < path.model(k=k).objective * (1 - 1e-9)]
print(f"proved: {sum(c.proven for c in proofs.values())} of {K} sizes; sizes at which a better model than that of the path was found: {wrong or 'none'}")

# %% [markdown]
# Compare the columns `subsets` and `nodes`: that is what bounds save.
#
# All of this in one call is `algorithm="exact"`: the default path first, then a proof for each of its models, `time_limit` for all together.

# %%
exact = l0path.fit(X, y, algorithm="exact", max_k=6, time_limit=60)
exact.details[["k", "objective", "lower_bound", "gap", "deviance_ratio", "optimality"]]

# %% [markdown]
# # Part 2: what a proof costs
#
# Two things decide: the size, and how much a ridge (`lambda2`) helps the bounds. Growth again, and the 64 columns of the diabetes study (442 patients, measurements with their squares and products), each without and with a ridge. A
# search that met its time limit is drawn hollow at the limit, with the gap that it left.

# %%
wide = load_diabetes(expansion=True)
sizes = [1, 4] if SHORT else [1, 2, 3, 4, 6, 8, 10, 12]
costs = {}
for name, (A, r, ridges) in {"growth": (X, y, (0.0, 0.01, 0.1)), "diabetes, 64 columns": (wide.X, wide.y, (0.0, 0.01, 0.1))}.items():
    for ridge in ridges:
        one = l0path.fit(A, r, lambda2=ridge, max_k=20, certify=False)
        costs[name, ridge] = {k: one.certify(k=k, time_limit=LIMIT) for k in sizes}

# %%
fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
for ax, name in zip(axes, ("growth", "diabetes, 64 columns"), strict=True):
    for (_, ridge), color, lift in zip([key for key in costs if key[0] == name], (BLUE, ORANGE, GREEN), (9, -14, -24), strict=True):
        done = costs[name, ridge]
        took = [min(c.seconds, LIMIT) for c in done.values()]
        ax.plot(list(done), took, color=color, linewidth=1.2, label=f"lambda2 = {ridge:g}")
        for (k, c), seconds in zip(done.items(), took, strict=True):
            ax.plot(k, seconds, marker="o", markersize=6, color=color, markerfacecolor=color if c.proven else "white")
            if not c.proven:
                ax.annotate(f"{c.gap:.1%}", (k, seconds), xytext=(0, lift), textcoords="offset points", ha="center", fontsize=8, color=color)
    ax.axhline(LIMIT, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_yscale("log")
    ax.minorticks_off()
    ticks = [0.001, 0.01, 0.1, 1, 5]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    plain(ax, title=name, xlabel="number of columns, k", xticks=sizes, ylim=(min(min(c.seconds for c in done.values()) for done in costs.values()) / 1.3, LIMIT * 1.6))
    ax.title.set(fontsize=10)
axes[0].set_ylabel("seconds to the proof")
axes[1].legend(frameon=False, fontsize=9, loc="lower right");

# %% [markdown]
# Each further column multiplies the number of subsets, and the models at the top differ ever less; the time grows too, yet far slower than that number (table of Part 1). A ridge makes the bounds sharper, and long searches shorter.
# But it also changes the question: the proof is about the shrunken objective (see `how_good_is_my_model.py`). Does it change the *answer*? Where both are proved, compare the supports:

# %%
rows = []
for name in ("growth", "diabetes, 64 columns"):
    for k in sizes:
        bare = costs[name, 0.0][k]
        row = {"data": name, "k": k, "R2, lambda2 = 0": bare.model.deviance_ratio}
        for ridge in (0.01, 0.1):
            other = costs[name, ridge][k]
            both = bare.proven and other.proven
            row[f"same support at {ridge:g}"] = str(set(bare.model.support) == set(other.model.support)) + ("" if both else " (not both proved)")
        row["R2 at 0.1"] = costs[name, 0.1][k].model.deviance_ratio
        rows.append(row)
pd.DataFrame(rows).set_index(["data", "k"])

# %% [markdown]
# # Part 3: the scoreboard
#
# Seven problems, every size, the same short time limit for each proof. Squared loss for salaries, growth and diabetes; logistic for the breast tumours, sonar returns and the childhood tumours (63 samples, 2308 genes: Ewing sarcoma,
# or rhabdomyosarcoma, against the rest), with `lambda2 = 0.01` where there is no proof without a ridge or it takes long.

# %%
hitters, breast, sonar, child = load_hitters(), load_wdbc(), load_sonar(), load_srbct()
genes = child.X[child.train]


def against_rest(kind):
    """The labels of the training samples: `kind` or "rest"."""
    return child.y.where(child.y == kind, "rest")[child.train]


problems = {
    "hitters": (hitters.X, hitters.y, {}),
    "growth": (X, y, {}),
    "diabetes 64, ridge": (wide.X, wide.y, {"lambda2": 0.01}),
    "breast tumours, ridge": (breast.X, breast.y, {"loss": "logistic", "lambda2": 0.01}),
    "sonar, ridge": (sonar.X, sonar.y, {"loss": "logistic", "lambda2": 0.01}),
    "EWS genes, ridge": (genes, against_rest("EWS"), {"loss": "logistic", "lambda2": 0.01}),
    "RMS genes, ridge": (genes, against_rest("RMS"), {"loss": "logistic", "lambda2": 0.01}),
}
kept = [1, 2, 5] if SHORT else list(range(1, 11))
paths = {name: l0path.fit(A, r, max_k=12, certify=False, **how) for name, (A, r, how) in problems.items()}
board = {(name, k): one.certify(k=k, time_limit=LIMIT) for name, one in paths.items() for k in kept}

# %%
verdicts, texts = np.zeros((len(problems), len(kept))), {}
for i, name in enumerate(problems):
    for j, k in enumerate(kept):
        c, found = board[name, k], paths[name].model(k=k).objective
        better = c.incumbent < found * (1 - 1e-9)
        verdicts[i, j] = (1 if better else 0) if c.proven else (3 if better else 2)
        texts[i, j] = f"+{found / c.incumbent - 1:.2%}" if better else "" if c.proven else f"{c.gap:.1%}" if c.gap >= 1e-3 else f"{c.gap:.2%}"
fig, ax = plt.subplots(figsize=(10.5, 3.8), layout="constrained")
colors = [BLUE, ORANGE, "#d9d9d9", PINK]
ax.imshow(verdicts, cmap=ListedColormap(colors), vmin=-0.5, vmax=3.5, aspect="auto")
for (i, j), text in texts.items():
    ax.text(j, i, text, ha="center", va="center", fontsize=8.5, color="white" if verdicts[i, j] in (0, 1) else "black")
ax.set(xticks=range(len(kept)), xticklabels=kept, yticks=range(len(problems)), yticklabels=list(problems), xlabel="number of columns, k")
ax.set_xticks(np.arange(len(kept) + 1) - 0.5, minor=True)
ax.set_yticks(np.arange(len(problems) + 1) - 0.5, minor=True)
ax.grid(which="minor", color="white", linewidth=2)
ax.tick_params(which="both", length=0)
ax.spines[:].set_visible(False)
labels = ["path proved optimal", "path not optimal: excess", "open: gap left", "open, and a better model was met"]
handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors]
ax.legend(handles, labels, ncols=4, frameon=False, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.45, 1.14));

# %%
right, improved, left_open = ((verdicts == 0).sum(), np.isin(verdicts, (1, 3)).sum(), np.isin(verdicts, (2, 3)).sum())
print(f"of {verdicts.size} models of the searched paths, {right} were proved optimal within {LIMIT:g} s each; a better model was found in place of {improved}; {left_open} proofs were not finished")

# %% [markdown]
# What was missed? In each such case, the columns that have to move, and whether the same default search finds the better model when it is asked for a longer path (`max_k=20`), which only means that it comes to this size by other ways:

# %%
rows = []
for (name, k), c in board.items():
    old, new = paths[name].model(k=k), c.model
    if c.incumbent < old.objective * (1 - 1e-9):
        A, r, how = problems[name]
        longer = l0path.fit(A, r, max_k=20, certify=False, **how).model(k=k)
        rows.append({"problem": name, "k": k, "columns that move": len(set(old.support) - set(new.support)), "R2 or deviance ratio": f"{old.deviance_ratio:.4f} -> {new.deviance_ratio:.4f}",
                     "found on a longer path": longer.objective <= c.incumbent * (1 + 1e-9)})
pd.DataFrame(rows).set_index(["problem", "k"]) if rows else "nothing was missed"

# %% [markdown]
# For a squared loss it is never one column alone that has to move, for that is what the path has checked. The better model is in `certificate.path`, a copy of the path with this row replaced; `path` itself does not change.
#
# An open cell is not a bad model. It says that this much time did not suffice for a proof; the number is what the proof still lacks, and says more about the bound than about the model.
#
# ## How good are the other heuristics?
#
# The proved cells are a yardstick for every algorithm, not only for the default. Each solves the whole path of each problem once; counted are the proved sizes at which it attained the optimum.

# %%
contestants = {"swap (default)": "swap", "swap, effort high": LocalSearch(effort="high"), "swap, effort fast": LocalSearch(effort="fast"), "CDPSI": "CDPSI", "cd": "cd", "htp": "htp"}
rows = []
for label, algorithm in contestants.items():
    excess, seconds = [], 0.0
    for name, (A, r, how) in problems.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps that were not tuned for these data: what counts is the result
            began = time.perf_counter()
            one = l0path.fit(A, r, max_k=12, algorithm=algorithm, random_state=1, certify=False, **how)
            seconds += time.perf_counter() - began
        found = one.details.groupby("k").objective.min()
        excess += [found.get(k, np.nan) / board[name, k].incumbent - 1 for k in kept if board[name, k].proven]
    excess = np.array(excess)
    rows.append({"algorithm": label, "optimal": f"{(excess < 1e-8).sum()} of {np.isfinite(excess).sum()}", "worst excess": f"{np.nanmax(excess).clip(0):.2%}", "mean excess": f"{np.nanmean(excess).clip(0):.3%}",
                 "seconds, seven paths": seconds})
print(f"proofs took {sum(c.seconds for c in board.values()):.0f} s")
pd.DataFrame(rows).set_index("algorithm")

# %% [markdown]
# Read it as a statement about cost. More effort of a local search is cheap, and a good buy where an optimum was missed. The proof costs far more than all of these paths together, and what it sells is, as a rule, not a better model but the
# knowledge that there is none.
#
# # Part 4: the ten best models
#
# The best subset is one answer. Often the better question is what the *ten* best have in common: a column that is in all of them is hard to do without; columns that take each other's place carry the same information. `n_best` asks the
# search not to stop at the best one. It is a proof too: no subset outside the list is better than the last of them.


# %%
def picture(ax, c, title):
    """The best models of a certificate: a column of the map each, with what they lose against the best."""
    names = pd.Index(c.best[0].path.names)
    share = pd.Series([j for m in c.best for j in m.support]).value_counts()
    order = sorted(share.index, key=lambda j: (-share[j], j))
    inside = np.array([[j in set(m.support) for m in c.best] for j in order])
    ax.imshow(np.where(inside, 1.0, 0.0) * np.where(share[order] == len(c.best), 1.0, 0.55).reshape(-1, 1), cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    loss = [m.objective / c.best[0].objective - 1 for m in c.best]
    ax.set(xticks=range(len(c.best)), xticklabels=[f"{v:+.3%}" if i else "best" for i, v in enumerate(loss)], yticks=range(len(order)), yticklabels=[str(names[j])[:22] for j in order])
    ax.set_title(f"{title}: {c.status.replace('_', ' ')}, {c.nodes} nodes, {c.seconds:.1f} s", fontsize=10)
    ax.set_xticks(np.arange(len(c.best) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(order) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="both", length=0)
    ax.tick_params(axis="x", rotation=60, labelsize=8)
    ax.tick_params(axis="y", labelsize=8.5)
    ax.spines[:].set_visible(False)


ten = {"growth, k = 6": path.certify(k=6, n_best=10, time_limit=10 * LIMIT), "sonar, k = 4": paths["sonar, ridge"].certify(k=4, n_best=10, time_limit=10 * LIMIT)}
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (title, c) in zip(axes, ten.items(), strict=True):
    picture(ax, c, title)
fig.supxlabel("the ten best, and what each loses against the best", fontsize=9);

# %%
for title, c in ten.items():
    every = set.intersection(*(set(m.features) for m in c.best))
    some = set.union(*(set(m.features) for m in c.best))
    print(f"{title}: {len(some)} columns occur in the ten best, {len(every)} in all of them ({', '.join(sorted(every))}); the second loses {c.best[1].objective / c.best[0].objective - 1:.3%}, the last {c.best[-1].objective / c.best[0].objective - 1:.2%}")

# %% [markdown]
# Darker rows are in all ten. How far apart the ten are is something no single best model can tell: where the runners-up lose a percent or less, the data hardly choose between them, whatever the proof says of the first. In the sonar panel
# columns are frequency bands in their order, and many of those that come and go are neighbours, which carry nearly the same signal.
#
# The list of all exchanges of one column (`path.alternatives`) is cheaper, and misses models that differ in more than one:

# %%
for title, c in ten.items():
    best = set(c.best[0].support)
    apart = [len(best - set(m.support)) for m in c.best[1:]]
    print(f"{title}: of the nine runners-up, {sum(a == 1 for a in apart)} are one exchange away from the best, {sum(a > 1 for a in apart)} further")

# %% [markdown]
# # Part 5: when time runs out
#
# Sonar returns again, now with a tenth of the ridge. What does more time buy? Six columns, the search started anew with ever longer limits, for two ridges:

# %%
limits = [0.5, 1, 2] if SHORT else [0.5, 1, 2, 4, 8]
fig, axes = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
last = {}
for ax, ridge in zip(axes, (0.01, 0.001), strict=True):
    one = l0path.fit(sonar.X, sonar.y, loss="logistic", lambda2=ridge, max_k=12)
    runs = []
    for limit in limits:
        runs.append(one.certify(k=6, time_limit=limit))
        if runs[-1].proven:
            break
    last[ridge] = runs[-1]
    seconds = [c.seconds for c in runs]
    ax.fill_between(seconds, [c.lower_bound for c in runs], [c.incumbent for c in runs], color=BLUE, alpha=0.18, linewidth=0)
    ax.plot(seconds, [c.incumbent for c in runs], color=BLUE, marker="o", markersize=5, label="objective of the best model")
    ax.plot(seconds, [c.lower_bound for c in runs], color=ORANGE, marker="o", markersize=5, markerfacecolor="white", linestyle=(0, (4, 2)), label="lower bound")
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks(limits, [f"{limit:g}" for limit in limits])
    ax.annotate("proved" if runs[-1].proven else f"gap {runs[-1].gap:.1%} after {runs[-1].nodes} nodes", (seconds[-1], runs[-1].lower_bound), xytext=(-6, -18), textcoords="offset points", ha="right", fontsize=9, color=ORANGE)
    plain(ax, title=f"lambda2 = {ridge:g}", xlabel="seconds of search", ylim=(0, 1.06 * runs[0].incumbent), xlim=(min(0.9 * limits[0], 0.9 * seconds[0]), 1.1 * max(seconds[-1], limits[-1])))
    ax.title.set(fontsize=10)
axes[0].set_ylabel("objective")
axes[0].legend(frameon=False, fontsize=9, loc="lower left");

# %%
last[0.001]

# %% [markdown]
# With a tenth of the ridge the bound starts far lower and creeps, and nothing in the figure promises that it will arrive. The certificate says so: while the search is open its status is `time_limit`, `proven` is False and `optimality` does
# not become `global`. The bound that it has is true all the same. Before buying hours, consider the neighbouring question, that with the larger `lambda2` of the left panel.
#
# A looser proof is cheaper. `gap=0.01` ends the search as soon as no model can be more than 1% better:

# %%
rows = []
for gap in (0.1, 0.03, 0.01, 1e-6):
    c = paths["sonar, ridge"].certify(k=4, gap=gap, time_limit=4 * LIMIT)
    rows.append({"gap asked for": gap, "status": c.status, "gap": c.gap, "nodes": c.nodes, "seconds": c.seconds})
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
# And what a proof is not: it says nothing about new rows, about the size to choose, or about causes. It takes one doubt away, the doubt about the search, and Part 3 says how large that doubt was to begin with.
