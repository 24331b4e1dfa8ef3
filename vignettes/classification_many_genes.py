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
# lists of genes are equally good. This page shows each of these, what a ridge does
# about it, how to score probabilities, and where subsets are better than the lasso and
# where not.
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
    at_the_same_size,
    ends_of_paths,
    genes_of_folds,
    held_out_scores,
    lasso_scores,
    scores_by_ridge,
    sorted_probabilities,
    subsets_and_lasso,
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
cvs = {name: l0path.cv_fit(X, y, **how) for name, (X, y) in shown.items()}
subset = {name: held_out_scores(cv, data[name][1]) for name, cv in cvs.items()}
scores_by_ridge(subset["simulated"])

# %%
for what in ("misclassification", "AUC", "Brier", "deviance"):
    scores = subset["simulated"].set_index(["lambda2", "k"])[what]
    best = scores.idxmax() if what == "AUC" else scores.idxmin()
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
sorted_probabilities(cvs["simulated"], data["simulated"][1], 8)

# %% [markdown]
# ## Against the lasso, by the number of genes
#
# The comparison must be at the same number of genes, on the same folds. The lasso of
# scikit-learn runs over its own path on standardized training rows; its size in a fold
# is what it is, so the curve is drawn against the mean size. A third contestant takes
# the genes of the lasso and fits them anew with a ridge of 0.1. It separates the effect
# of *choosing* from that of *shrinking*.

# %%
lasso = {
    name: lasso_scores(*data[name], cv.splits, cv.classes[1])
    for name, cv in cvs.items()
}
subsets_and_lasso(subset, lasso)
at_the_same_size(subset, lasso, (3, 8, 20))

# %% [markdown]
# ## Which genes?
#
# Each fold chose its own list. If the list were a fact about the disease, folds that
# share most of their rows would agree on it: all bars left of the dotted line would
# reach 1.

# %%
genes_of_folds(cvs, data, 8)

# %% [markdown]
# ## What to take along
#
# Numbers are those of the full form (fifty folds).
#
# * A separated path is not a success. Shuffled labels were separated by six to eleven
#   genes; without a ridge the package stops there and says so, and with a ridge,
#   however small, it goes on and you must judge by rows kept aside.
# * The ridge is part of the model, not a technicality: name it, and choose it by a
#   score of probabilities where probabilities are wanted. The share of errors and the
#   AUC cannot choose it.
# * Against the lasso at the same number of genes: with three genes and the ridge of 0.1
#   the subset has the lower Brier score on both sets (0.15 and 0.04 against 0.22 and
#   0.18), and with eight still on the simulated one. But most of that is not
#   *choosing*. The lasso's own genes, refitted with the ridge of the subset, do as well
#   as the subset on the simulated set, and on the other one from eight genes on. What
#   the lasso gets wrong in short lists is above all that it shrinks them too much.
# * With little ridge the subset of the true size found the true genes, and no other
#   curve comes near it (a Brier score of 0.06). With one gene more the advantage was
#   gone.
# * With twenty genes and more there is little left between the methods, and on the
#   childhood tumours the lasso has better probabilities than subsets with the ridge of
#   0.1. If genes cost nothing, there is no reason to count them.
# * Lists: on the childhood tumours seven genes are in every fold; in the simulated
#   study 36 different genes fill eight places, and only three of them matter. And folds
#   share nine tenths of their rows; other patients would agree less. Report the
#   frequencies, not one list.
