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
# # A file larger than memory: from raw rows to a cross-validated model
#
# A path of best subsets needs all of X again and again, and X may not fit. This page takes a file that is several times larger than the memory we allow, turns it into one that is read fast, fits a path, cross-validates it, and
# keeps an eye on the memory of the process all the while.
#
# So that the page runs anywhere, the file is modest and the limit is small. What counts is their ratio; nothing in the code would change with a file of a terabyte.

# %%
import os
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import psutil
from l0path.datasets import load_diabetes

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # a smaller file, the same cells
P, LIMIT = (60_000, "25MB") if SHORT else (600_000, "250MB")
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b6b6b"
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 4)
warnings.filterwarnings("ignore", message="IProgress not found")  # bars are text where ipywidgets is missing
folder = tempfile.TemporaryDirectory()
raw, file = Path(folder.name) / "rows.npy", Path(folder.name) / "X.npy"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


# %% [markdown]
# # The data, and what is made up about them
#
# The diabetes study (Efron et al., 2004): 442 patients, the progression of the disease after a year, and 64 columns, namely ten measurements with their squares and products. **These 64 columns are real. All others are shuffled
# copies**: the values of a real column, dealt to the patients anew at random. A shuffled column has the distribution of a real one, and by construction nothing to do with the response. This is not how large data come about,
# but it has a merit: of every column that a model picks we know whether it can mean anything.
#
# The file is laid out as an instrument would leave it, one patient after another.

# %%
study = load_diabetes(expansion=True)
real, y = study.X.to_numpy(), study.y.to_numpy()
n, width = real.shape
rng = np.random.default_rng(0)
rows = np.lib.format.open_memmap(raw, mode="w+", dtype=np.float32, shape=(n, P))
for left in range(0, P, 32 * width):
    stack = np.tile(real, 32)[:, : P - left]
    rows[:, left : left + 32 * width] = rng.permuted(stack, axis=0) if left else np.hstack([real, rng.permuted(stack[:, width:], axis=0)])
rows.flush()
del rows
print(f"{raw.name}: {n} rows, {P:,} columns, {raw.stat().st_size / 1e6:,.0f} MB; allowed: {LIMIT}")

# %% [markdown]
# A thread looks at the memory of this process fifty times a second. It counts from here on: what Python, the libraries and the compiled kernels take (a few hundred MB, whatever the data) is not the subject, so a small
# fit comes first, which loads them.

# %%
small = np.asfortranarray(rng.standard_normal((60, 5000)), dtype=np.float32)
np.save(Path(folder.name) / "small.npy", small)
l0path.cv_fit(l0path.designs.blocks(Path(folder.name) / "small.npy", LIMIT), small[:, 0] + rng.standard_normal(60), max_k=3, cv=3, lambda2=0)

samples, stages, process, running = [], [], psutil.Process(), threading.Event()
before = process.memory_info().rss


def watch():
    """Append (seconds, MB above the start) until told to stop."""
    while not running.wait(0.02):
        samples.append((time.perf_counter(), (process.memory_info().rss - before) / 1e6))


@contextmanager
def stage(name):
    """Note when a part of the page begins and ends."""
    started = time.perf_counter()
    yield
    time.sleep(0.05)
    ended = time.perf_counter()
    stages.append((name, started, ended, max(used for at, used in samples if started <= at <= ended)))


watcher = threading.Thread(target=watch, daemon=True)
watcher.start()

# %% [markdown]
# # Convert once
#
# Subset selection reads columns. In a file of rows, the entries of one column are far apart, and to read one column is to read them all. `convert` writes a second file, column after column, in pieces that fit the limit.
# It takes arrays, .npy files of either order, CSV, Parquet, Zarr, Dask arrays and PLINK genotypes; a bar comes by itself after 5 s. float32 is what is stored; all sums are float64.

# %%
with stage("convert"):
    l0path.designs.convert(raw, file, memory_limit=LIMIT)

# %% [markdown]
# # Fit
#
# `blocks` makes a design of the file: an X for `fit`, `cv_fit`, `predict` and everything else that takes one. `memory_limit` is for what comes from the file: blocks under way, columns that are kept, and rows of the Gram
# matrix.

# %%
X = l0path.designs.blocks(file, memory_limit=LIMIT)
with stage("fit"):
    path = l0path.fit(X, y, max_k=10)
print(X)
print(f"{X.passes:.0f} passes over the file for {len(path)} models; status: {path.status}")
path.details[["k", "objective", "deviance_ratio", "optimality"]]

# %% [markdown]
# Eleven sizes do not cost eleven passes. The search works on a small set of columns that is in memory; a pass then asks about all sizes at once whether any column outside would improve any model by an addition or an exchange.
# `optimality` is `refit_swap` where the answer was no: over all columns of the file, not over a sample.
#
# # Choose a size
#
# Cross-validation makes no copies of training rows either: a fold is the same file with some weights zero. Here each of the five folds makes passes of its own; with a larger limit, folds that fit in it would share them. A bar per
# fold comes with `progress=True`.

# %%
passes = X.passes
with stage("cross-validate"):
    cv = l0path.cv_fit(X, y, max_k=10, cv=5, scoring="mse", random_state=0, progress=True, lambda2=0)
with stage("predict"):
    fitted = cv.predict(X)
running.set()
watcher.join()
print(f"{X.passes - passes:.0f} passes for five folds, the fit on all rows and {fitted.size} predictions")
cv.model("min").coef.rename(lambda name: name if name.startswith("(") else study.X.columns[int(name[1:]) % width] + ("" if int(name[1:]) < width else ", shuffled"))

# %%
table, kept = cv.scores, [path.support(k=k) for k in path.details.k]
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
left.errorbar(table.k, table.cv_mean, yerr=table.cv_se, color=BLUE, marker="o", markersize=4, capsize=2, linewidth=1.2, label="held-out patients")
left.plot(path.details.k, 2 * path.details.loss, color=GREY, marker="o", markersize=4, linewidth=1.2, label="patients of the fit")
left.axvline(cv.model("min").k, color=GREY, linewidth=0.8, linestyle=":")
left.legend(frameon=False, fontsize=9)
plain(left, xlabel="number of columns", ylabel="mean squared error", xticks=range(0, 11, 2), ylim=(0, None), title="what the models promise, and what they keep")
sizes = path.details.k.to_numpy()
true = np.array([(support < width).sum() for support in kept])
right.bar(sizes, true, color=GREEN, width=0.7, label="real")
right.bar(sizes, sizes - true, bottom=true, color=ORANGE, width=0.7, label="shuffled")
right.legend(frameon=False, fontsize=9, loc="upper left")
plain(right, xlabel="number of columns", ylabel="columns in the model", xticks=range(0, 11, 2), title="who is in them");

# %%
for k in (cv.model("min").k, 5, 10):
    chosen = path.support(k=k)
    print(f"k = {k}: {(chosen < width).sum()} real columns ({', '.join(study.X.columns[chosen[chosen < width]])}), {(chosen >= width).sum()} shuffled; "
          f"R² on the rows of the fit {path.model(k=k).deviance_ratio:.2f}")

# %% [markdown]
# Larger models fit ever better, on these patients, and from some size on they owe it to columns that are noise by construction: among so many, some fit the residuals of 442 patients by chance. No care in the
# search helps; these models *are* the best of their size. Held-out patients tell, and cross-validation stops in time. A real column can be left out for the same reason: what it is worth is less than what the luckiest of the
# others pretends to be.
#
# # What it took

# %%
at, used = np.array(samples).T
megabytes, limit = file.stat().st_size / 1e6, float(LIMIT[:-2])
fig, ax = plt.subplots(figsize=(10, 4.4), layout="constrained")
origin = stages[0][1]
for i, (name, begun, ended, most) in enumerate(stages):
    here = (at >= begun) & (at <= ended)
    ax.axvspan(begun - origin, ended - origin, color=BLUE, alpha=(0.10, 0.04)[i % 2], linewidth=0)
    ax.annotate(name, ((begun + ended) / 2 - origin, 1), xycoords=("data", "axes fraction"), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=9, color=GREY, annotation_clip=False)
ax.plot(at - origin, used, color=BLUE, linewidth=1.3)
ax.axhline(megabytes, color=ORANGE, linewidth=1)
ax.axhline(limit, color=GREY, linewidth=1, linestyle="--")
end = stages[-1][2] - origin
for level, text, color in ((megabytes, "the file", ORANGE), (limit, "memory_limit", GREY)):
    ax.annotate(text, (0, level), xytext=(4, 3), textcoords="offset points", fontsize=9, color=color)
plain(ax, xlabel="seconds", ylabel="MB of this process above the start", ylim=(min(0, used.min()), None), xlim=(0, end))

# %%
vectors = 8 * P / 1e6
print(f"in memory as float64, X alone would be {8 * n * P / 1e6:,.0f} MB; a vector of length p is {vectors:.1f} MB")
pd.DataFrame([{"stage": name, "seconds": ended - begun, "MB at most": most, "share of the file": most / megabytes} for name, begun, ended, most in stages]).set_index("stage").round(2)

# %% [markdown]
# The curve goes above the dashed line, and it should: the limit is a promise about X and its products, and a path needs more than that. Count with
#
# * **the limit**: blocks, kept columns, rows of the Gram matrix;
# * **about 25 vectors of length p** (means, scales, bounds, products with the response), twice in a cross-validation, once for all rows and once for a fold;
# * **the working columns** of a fit, `8 n` bytes each and `8 w²` for `w` of them together;
# * what the allocator of the system has not given back.
#
# The first grows with what you allow; only the second with p. With 442 rows of float32 a column of the file takes as much room as 221 of the numbers that vectors are made of, and the vectors have 25 numbers a column; with
# ten times the rows they would not be worth mentioning.
#
# # The same answer
#
# This file is small enough to be read whole, after all. Is the path the same?

# %%
whole = l0path.fit(np.load(file), y, max_k=10)
print("same supports:", all(np.array_equal(whole.support(k=k), path.support(k=k)) for k in range(11)))
print(f"largest relative difference of an objective: {np.abs(whole.details.objective / path.details.objective - 1).max():.1e}")
folder.cleanup()

# %% [markdown]
# Where to go from here:
#
# * **More limit, fewer passes.** Where the Gram rows of all sizes do not fit in the limit, sizes are checked in several passes. `X.passes` tells what you pay for.
# * **More machines.** `blocks(file, client=...)` leaves the columns on the workers of a Dask cluster; residuals travel, and so do the winners (`docs/distributed.md`).
# * **More columns than are worth storing.** Squares and products need no file: `l0path.designs.polynomial` makes them while it sums.
# * **Genotypes.** A PLINK .bed file is read as it is, at two bits a number; it needs no conversion.
