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
# # A file that is larger than memory
#
# A path of best subsets needs all of X again and again, and X may not fit. This page
# takes a file that is several times larger than the memory we allow, turns it into one
# that is read fast, fits a path, cross-validates it, and keeps an eye on the memory of
# the process all the while.
#
# So that the page runs anywhere, the file is modest and the limit is small. What counts
# is their ratio; nothing in the code would change with a file of a terabyte.

# %%
import shutil
import tempfile
from pathlib import Path

import l0path
import numpy as np
from l0path.datasets import load_diabetes

from common import (
    SHORT,
    MemoryWatch,
    memory_over_time,
    promises_and_true_columns,
    warm_up,
    write_rows,
)

# %% [markdown]
# ## The data, and what is made up about them
#
# The diabetes study (Efron et al., 2004): 442 patients and 64 features, ten
# measurements with their squares and products. **These 64 features are real. All others
# are shuffled copies** of real ones, dealt to the patients anew at random, with nothing
# to do with the response. So of every feature that a model picks we know whether it can
# mean anything. The file is laid out as an instrument would leave it, one patient after
# another.

# %%
study = load_diabetes(expansion=True)
real, y = study.X.to_numpy(), study.y.to_numpy()
n, width = real.shape
P, limit = (60_000, "25MB") if SHORT else (600_000, "250MB")
folder = Path(tempfile.mkdtemp())
write_rows(folder / "rows.npy", real, P)
print(f"{n} rows, {P:,} columns, {4 * n * P / 1e6:,.0f} MB; allowed: {limit}")

# %% [markdown]
# A thread looks at the memory of this process fifty times a second. What Python and the
# compiled kernels take (a few hundred MB, whatever the data) is not the subject, so a
# small fit comes first, which loads them.

# %%
warm_up(folder, limit)
watch = MemoryWatch()

# %% [markdown]
# ## Convert once
#
# Subset selection reads columns. In a file of rows, the entries of one column are far
# apart, and to read one column is to read them all. `convert` writes a second file,
# column after column, in pieces that fit the limit. It takes arrays, .npy files of
# either order, CSV, Parquet, Zarr, Dask arrays and PLINK genotypes; a bar comes by
# itself after 5 s. float32 is what is stored; all sums are float64.

# %%
with watch.stage("convert"):
    l0path.designs.convert(folder / "rows.npy", folder / "X.npy", memory_limit=limit)

# %% [markdown]
# ## Fit
#
# `blocks` makes a design of the file: an X for `fit`, `cv_fit`, `predict` and
# everything else that takes one. `memory_limit` is for what comes from the file: blocks
# under way, columns that are kept, and rows of the Gram matrix.

# %%
X = l0path.designs.blocks(folder / "X.npy", memory_limit=limit)
with watch.stage("fit"):
    path = l0path.fit(X, y, max_k=10)
print(f"{X.passes:.0f} passes over the file for {len(path)} models")
path.table[["k", "objective", "deviance_ratio", "optimality"]].tail(3)

# %% [markdown]
# Eleven sizes do not cost eleven passes: one pass asks about all sizes at once whether
# any column outside would improve a model by an addition or an exchange. `optimality`
# is `refit_swap` where the answer was no, over all columns of the file.
#
# ## Choose a size
#
# Cross-validation makes no copies of training rows either: a fold is the same file with
# some weights zero. Here each of the five folds makes passes of its own; with a larger
# limit, folds that fit in it would share them. A bar per fold comes with
# `progress=True`.

# %%
passes = X.passes
with watch.stage("cross-validate"):
    cv = l0path.cv_fit(X, y, max_k=10, cv=5, scoring="mse", random_state=0, lambda2=0)
with watch.stage("predict"):
    fitted = cv.predict(X)
watch.stop()
print(f"{X.passes - passes:.0f} passes for five folds, the fit and the predictions")
promises_and_true_columns(path, cv, width)

# %% [markdown]
# Larger models fit these patients ever better, and from some size on they owe it to
# features that are noise by construction: among so many, some fit the residuals of 442
# patients by chance. No care in the search helps; these models *are* the best of their
# size. Held-out patients tell, and cross-validation stops in time.
#
# ## What it took

# %%
size = 4 * n * P / 1e6
memory_over_time(watch, size, float(limit[:-2]))

# %% [markdown]
# The curve goes above the dashed line, and it should: the limit is a promise about X
# and its products, and a path needs more than that. Count with
#
# * **the limit**: blocks, kept columns, rows of the Gram matrix;
# * **about 25 vectors of length p** (means, scales, bounds, products with the
#   response), twice in a cross-validation, once for all rows and once for a fold;
# * **the working columns** of a fit, `8 n` bytes each and `8 w²` for `w` of them
#   together;
# * what the allocator of the system has not given back.
#
# The first grows with what you allow; only the second with p. This file is small enough
# to be read whole, after all. Is the path the same?

# %%
whole = l0path.fit(np.load(folder / "X.npy"), y, max_k=10)
print(all(np.array_equal(whole.support(k=k), path.support(k=k)) for k in range(11)))
shutil.rmtree(folder)

# %% [markdown]
# Where to go from here:
#
# * **More limit, fewer passes.** Where the Gram rows of all sizes do not fit in the
#   limit, sizes are checked in several passes. `X.passes` tells what you pay for.
# * **More machines.** `blocks(file, client=...)` leaves the columns on the workers of a
#   Dask cluster; residuals travel, and so do the winners (`docs/distributed.md`).
# * **No file at all.** `l0path.designs.polynomial` makes squares and products while it
#   sums; a PLINK .bed file is read as it is.
