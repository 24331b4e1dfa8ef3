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
# # Interactions: when are products of columns worth searching?
#
# A hundred columns have 5050 squares and products, a thousand have half a million.
# Among so many, some products will fit anything. So there are two questions, and a path
# answers only the first: *which products fit best?* Whether they *predict* better than
# the columns alone can be told only from rows that the search has not seen.
#
# This page asks both, three times: of spectra, where chemistry says that a straight
# line is wrong; of gene expression, where nobody knows; and of a table with categories,
# where products come in groups. The answer is once a clear yes, once no, and once that
# it hardly matters. All numbers are printed by the code.

# %%
import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_hitters, load_tecator
from l0path.designs import polynomial
from sklearn.model_selection import KFold

from common import (
    SHORT,
    bend,
    errors_with_products,
    expression,
    lasso_and_pls,
    map_of_products,
    predicted_and_measured,
    salaries_by_years,
    shuffled_fits,
    shuffled_responses,
    spectra,
    timed,
)

# %%
FOLDS, MAX_K = (5, 8) if SHORT else (10, 14)

# %% [markdown]
# # Part 1: spectra
#
# The near infrared absorbance of 215 samples of minced meat in 100 channels from 850 to
# 1050 nm, and their percentage of fat, which is what the spectrum is to replace
# (Borggaard & Thodberg, Analytical Chemistry 64:545, 1992; recorded on a Tecator
# Infratec Food and Feed Analyzer). Spectra of samples differ by a shift and a slope
# that come from how light scatters; the usual remedy is to take the differences of
# neighbouring channels.

# %%
meat = load_tecator()
y, train, raw = meat.y, meat.train, meat.X.to_numpy()
nm = np.linspace(850, 1050, raw.shape[1])
wave = (nm[:-1] + nm[1:]) / 2
X = pd.DataFrame(np.diff(raw, axis=1), columns=[f"d{w:.0f}" for w in wave])
print(f"{train.sum()} rows to learn from, {(~train).sum()} to test on at the end")
spectra(y, nm, raw, wave, X)

# %% [markdown]
# ## Columns alone, and with all products
#
# `polynomial(X)` is the design of all columns, their squares and products (x_j -
# mean_j)(x_k - mean_k). It stores none of them: sums over products are made while they
# are needed. A fit, a cross-validation or a prediction takes it as it takes a matrix,
# and the same folds serve both searches.

# %%
folds = list(KFold(FOLDS, shuffle=True, random_state=1).split(X[train]))
designs = {"columns alone": X[train], "with products": polynomial(X[train])}
cvs = {}
for name, design in designs.items():
    how = {"cv": folds, "max_k": MAX_K, "lambda2": 0}
    cvs[name], seconds = timed(l0path.cv_fit, design, y[train], **how)
    print(f"{name}: {cvs[name].p} columns, {FOLDS} folds and a fit in {seconds:.1f} s")
errors_with_products(cvs)

# %% [markdown]
# The two curves use the same rows, the same folds, the same number of coefficients. The
# sizes are free to differ: what is compared is each curve's least value, and bars of
# one standard error say how sure one can be of it. Which products are they?

# %%
model = cvs["with products"].model("min")
model.summary().table[
    ["coef", "standardized", "increase_if_dropped", "best_exchange", "exchange_change"]
]

# %% [markdown]
# `best_exchange` deserves a look before anyone explains the coefficients: neighbouring
# channels are nearly copies of each other, so almost every feature has a stand-in that
# does nearly as well. `alternatives` counts them.

# %%
near = model.alternatives(n=200)
for limit in (0.02, 0.1, 0.25):
    count = (near.relative < limit).sum()
    print(f"{count} of {len(near)} exchanges come within {limit:.0%} of the objective")

# %% [markdown]
# So the map below shows *regions*, not points: every product of every size of the path,
# at its two wavelengths, with the stand-ins of the chosen model as small dots. Channels
# by themselves stand on the diagonal's edge strips.

# %%
at = dict(zip(X.columns, wave, strict=True))
map_of_products(at, near, cvs, model)

# %% [markdown]
# ## Fewer candidates: heredity
#
# A common rule lets a product in only if one (weak heredity) or both (strong) of its
# columns are in the model of columns alone. It leaves few candidates, so there is less
# to be misled by, and it cannot find two columns that matter only together. With
# columns chosen by the same responses, a cross-validation of the second fit would be
# too kind; the test rows are not.
#
# ## The test rows, looked at once
#
# Two rivals are added: partial least squares on the columns, what a chemist would use,
# and the lasso on all squares and products, both with their tuning by the same folds.

# %%
parents = cvs["columns alone"].model("min").support
for kind in ("weak", "strong"):
    design = polynomial(X[train], heredity=kind, parents=parents)
    cvs[f"{kind} heredity"] = l0path.cv_fit(
        design, y[train], cv=folds, max_k=MAX_K, lambda2=0
    )
rows = {}
for name, cv in cvs.items():
    for which in ("min", "1se"):
        chosen = cv.model(which)
        rows[f"{name}, {which}"] = {
            "candidates": cv.p,
            "coefficients": chosen.details["n_features"],
            "cv_mse": cv.scores.cv_mean[chosen.details.name],
            "test_mse": chosen.score(X[~train], y[~train]).mse,
        }
rows |= lasso_and_pls(X, y, train, folds)
table = pd.DataFrame(rows).T.astype({"candidates": int, "coefficients": int})
table

# %%
predicted_and_measured(cvs, X, train, y)
for name in ("columns alone", "with products"):
    share = bend(y[~train], cvs[name].predict(X[~train]))
    print(f"{name}: a parabola explains {share:.0%} of the variance of the test error")

# %% [markdown]
# Both scores say the same, the one that chose the size and the one that had no part in
# it, and with the heredity rules as much is found among far fewer candidates. How much
# of the error of columns alone is a plain *bend* in the prediction, which a curved
# scale could mend without products, is what the first of these lines says; the rest
# needs products of different channels.
#
# # Part 2: genes
#
# 83 tumours of childhood and the expression of 2308 genes (Khan and others, Nature
# Medicine 7:673, 2001). Can the expression of one gene, the one that varies most, be
# told from the others', and do these act in pairs? It is that of insulin-like growth
# factor 2. Columns of the same family are left out, and of the others those that vary
# most are kept, without a look at the response.

# %%
G, rate, name = expression(250 if SHORT else 600)
K = 5 if SHORT else 8
pairs = polynomial(G)
print(f"{name}: {len(rate)} rows, {G.shape[1]} genes, {pairs.p} with products")
folds = list(KFold(FOLDS, shuffle=True, random_state=1).split(G))
genes_cv = l0path.cv_fit(G, rate, cv=folds, max_k=K, lambda2=0)
pairs_cv = l0path.cv_fit(pairs, rate, cv=folds, max_k=K, lambda2=0)

# %% [markdown]
# What would noise look like? The same two searches with the responses in random order,
# where there is nothing to be found at all:

# %%
both = {"genes alone": G, "with products": pairs}
noise = shuffled_fits(both, rate, K, repeats=2 if SHORT else 5)
shuffled_responses(genes_cv, pairs_cv, noise)
for name, cv in (("genes alone", genes_cv), ("with products", pairs_cv)):
    i = cv.select("min")
    print(f"{name}: error {cv.scores.cv_mean[i]:.3f} (se {cv.scores.cv_se[i]:.3f})")

# %% [markdown]
# Left and right tell opposite stories. On the rows of the fit products are always
# better: they must be, because every model of genes is also a model with products. The
# dashed lines show how little that means, since among so many products a few fit even
# responses in random order. On held-out rows the products do not pay. With 83 rows this
# is no proof that genes do not interact; it says that *these rows cannot tell* which of
# so many pairs do, and that a table of "the best interactions" would be a table of
# accidents.
#
# # Part 3: terms of a table
#
# Where columns are few and some are categories, one writes the products down. The
# salaries of 263 baseball players, by a formula: a spline of the years played (four
# columns), counts, two factors, and all products of two of them. A term of several
# columns is one group, so a size is a number of *terms*.

# %%
hitters = load_hitters()
table = hitters.X.assign(Salary=hitters.y)
table["League"] = table.League_N.map({0: "American", 1: "National"})
table["Division"] = table.Division_W.map({0: "East", 1: "West"})
alone = "bs(Years, df=4) + Hits + Walks + CRBI + PutOuts + League + Division"
terms = {}
for name, right in (("terms alone", alone), ("with products", f"({alone})**2")):
    how = {"cv": FOLDS, "random_state": 1, "max_k": 10, "heredity": None}
    terms[name] = cv = l0path.cv_fit(
        f"np.log(Salary) ~ {right}", table, **how, lambda2=0
    )
    i = cv.select("min")
    print(f"{name}: error {cv.scores.cv_mean[i]:.4f} (se {cv.scores.cv_se[i]:.4f})")
salaries_by_years(table, terms)
terms["with products"].model("min").summary().table[["columns", "increase_if_dropped"]]

# %% [markdown]
# The two lists of terms have nearly the same error and are far apart in words: the sum
# of all seven terms, or one product, a career's runs weighed by its length. With 28
# terms there is little to be misled by, and little to be gained here.
#
# A product of two terms may enter here without its parents (`heredity=None`), and its
# coefficients then depend on where zero lies. Where they are to be read, let the search
# keep the hierarchy, `heredity="strong"`: then it is compared with models of this kind
# alone.
#
# What to take home:
#
# * A search among products always improves the fit. Ask held-out rows, with the same
#   folds for both searches, and look at the fold-wise difference rather than at two
#   numbers.
# * It pays where effects are curved and there are enough rows to see it (part 1), and
#   costs where features are many and rows few (part 2). Shuffled responses show what
#   the search alone can do.
# * Neighbours stand in for each other. Read regions and `alternatives`, not names.
