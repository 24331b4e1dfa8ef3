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
# # Two classes, sixty rows, thousands of genes
#
# With thousands of columns and a few dozen rows, two classes can nearly always be told
# apart perfectly *in the sample*, by very few columns. That breaks three habits at
# once: the likelihood has no maximum, the training fit says nothing, and many different
# lists of genes are equally good. This page shows what a ridge does about it, and how
# to score probabilities. The lasso and the lists of genes are the subject of
# `genes_and_lasso.py`.
#
# There are two data sets. One is simulated in the likeness of a study of tissue: 70
# samples and 2000 genes in families of twenty that rise and fall together, and three
# genes that make one class more likely than the other, so that the classes overlap. The
# other one is real: tumours of childhood (83 samples, 2308 genes; Khan et al. 2001),
# where the classes are far apart.

# %%
import l0path
import numpy as np

from common import (
    SHORT,
    ends_of_paths,
    held_out_scores,
    scores_by_ridge,
    sorted_probabilities,
    two_classes_of_genes,
)

# %%
data = two_classes_of_genes()
for name, (X, y) in data.items():
    print(name, X.shape, *np.unique(y, return_counts=True))

# %% [markdown]
# ## A perfect fit is no news
#
# Without a penalty on the coefficients the path ends at the first size whose columns
# separate the classes: the likelihood then rises for ever as the coefficients grow, and
# the package says so instead of returning what the solver happened to stop at. At which
# size does that happen? And at which size does it happen if the labels are *shuffled*,
# so that no gene can know anything?

# %%
shown = dict(list(data.items())[: 1 if SHORT else 2])
ends_of_paths(shown, repeats=2 if SHORT else 10)

# %% [markdown]
# Shuffled labels need a few genes more, and are separated all the same. (Where a path
# ends *with* errors, the separation is partial: some samples are told apart with
# certainty, and others are not.) So *"these genes classify all samples correctly"* is a
# sentence about the number of genes on the array. Only rows that had no part in the
# search can say more. (The sizes are those of a local search; the true smallest
# separating sets can be smaller still.)
#
# ## The ridge, and four ways of scoring
#
# `lambda2` makes the optimum finite and prefers wide margins. Now the whole path by
# repeated cross-validation, for a few values. Four scores, all from the *same* held-out
# probabilities (those of a sample are averaged over the repeats):
#
# * misclassification: the share of wrong classes; coarse, with 70 rows it moves in
#   steps of a seventieth;
# * AUC: how well the probabilities *rank* the samples; blind to whether they are too
#   bold or too timid;
# * Brier score: mean of `(1[y] - p)^2`; judges the probabilities, and a confident error
#   costs at most 1;
# * deviance: `-2 mean log p(y)`; judges them too, and a confident error may cost any
#   amount.

# %%
ridges = (1e-3, 1e-1) if SHORT else (1e-3, 1e-2, 1e-1, 1.0)
size, repeats, folds = (8, 1, 5) if SHORT else (30, 5, 10)
how = {"loss": "logistic", "lambda2": ridges, "max_k": size}
how |= {"cv": folds, "n_repeats": repeats, "random_state": 1}
X, y = data["simulated"]
cv = l0path.cv_fit(X, y, **how)
scores = held_out_scores(cv, y)
scores_by_ridge(scores)

# %%
for what in ("misclassification", "AUC", "Brier", "deviance"):
    one = scores.set_index(["lambda2", "k"])[what]
    best = one.idxmax() if what == "AUC" else one.idxmin()
    print(f"{what}: best at lambda2 = {best[0]:g}, k = {best[1]:g}")

# %% [markdown]
# The panels do not agree, and each is right about its own question. With little ridge
# all four are best at three genes, which is the truth here. But the fourth and further
# genes fit the training samples perfectly; their models are sure of themselves, and
# sure of themselves when they are wrong. The *deviance*, for which a confident error
# may cost any amount, doubles from three genes to ten. The *AUC* of the same models
# hardly falls. The largest ridge is the mirror image: it ranks well, but pulls all
# probabilities to the share of the classes, and deviance and *Brier score* say so at
# every size. If you only rank, the ridge is a detail; if you need a probability, it is
# the most important number in the model, and cross-validation of the deviance or the
# Brier score should choose it.
#
# How bold are they? Held-out probabilities of one size, sorted, with their outcomes:

# %%
sorted_probabilities(cv, y, 8)

# %% [markdown]
# ## What to take along
#
# * A separated path is not a success. Shuffled labels were separated by six to eleven
#   genes; without a ridge the package stops there and says so, and with a ridge,
#   however small, it goes on and you must judge by rows kept aside.
# * The ridge is part of the model, not a technicality: name it, and choose it by a
#   score of probabilities where probabilities are wanted. The share of errors and the
#   AUC cannot choose it.
