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
# # Sparse text: a few words out of many
#
# Text becomes a table with a row per document and a column per word, nearly all zeros.
# Such a table is kept as a SciPy sparse matrix, and everything here takes one as it is:
# `fit`, `cv_fit`, `predict`. Nothing is made dense, columns are centred and
# standardized in the formulas and not in memory, and small integer counts stay small
# integers.
#
# And text is where a short list is worth most: thirty words can be *read*. The page
# asks what thirty words know about a review. Two classes and sixty thousand words are
# the subject of `sparse_classes.py`.
#
# The documents are simulated, so that everybody has them and the truth is known: the
# frequency of a word falls as 1 / rank, as it does in text. In the reviews a few common
# words are praise and add a little, some rarer ones are complaint and cost much, and
# many are hints that are worth next to nothing each. All others say nothing. The name
# of a column says which of these it is.

# %%
import l0path
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from common import (
    SHORT,
    effects_of_words,
    lasso_by_size,
    megabytes,
    reviews,
    words_and_lasso,
)

# %%
X, stars, words = reviews()
stored, dense = megabytes(X)
print(
    f"{X.shape[0]} reviews, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.2%} not zero"
)
print(f"type {X.dtype}, stored in {stored:.1f} MB; dense it would be {dense:.0f} MB")

# %% [markdown]
# ## Thirty words
#
# Squared loss: a coefficient is in stars for each time the words occur. A third of the
# reviews is kept aside.

# %%
train, test = train_test_split(np.arange(len(stars)), test_size=1 / 3, random_state=0)
K = 40 if SHORT else 100
path = l0path.fit(X[train], stars[train], feature_names=words, max_k=K)
model = path.model(k=30)
print(f"R2 on the training rows {model.deviance_ratio:.2f} at 30 words")
effects_of_words(model, X[train], words)

# %% [markdown]
# Every word of the list says something; none of the 2000 that say nothing is in it.
# Most of it is complaint, and there is a reason in the data: a review without any of
# these words is predicted at more than four and a half stars, and there is little room
# above. Praise shows up as common words of small effect, complaint as rarer ones of
# large effect.
#
# A rare word is standardized like any other column, so that its effect is judged per
# standard deviation: a word in ten reviews must be worth a great deal to enter at all.
#
# ## How many words predict best, and against the lasso

# %%
cv = l0path.cv_fit(
    X[train],
    stars[train],
    feature_names=words,
    max_k=K,
    cv=5,
    random_state=1,
    lambda2=0,
)
far = l0path.fit(X[train], stars[train], lambda2=0.3, max_k=K if SHORT else 300)
ours = path.validate(X[test], stars[test], scoring="r2").scores
ridged = far.validate(X[test], stars[test], scoring="r2").scores
rival = lasso_by_size(X, stars, train, test)
words_and_lasso(ours, ridged, rival, cv)

# %%
table = pd.DataFrame({"subset": ours.cv_mean, "with a ridge": ridged.cv_mean})
table = table.assign(lasso=np.interp(table.index, rival.k, rival.r2))
print(f"the best: {table['subset'].max():.3f}, lasso {rival.r2.max():.3f}")
table.loc[[10, 30, K]].round(3)

# %% [markdown]
# At equal length the subset explains more, because the lasso pays for each word by
# shrinking all of them. With no limit on the length the lasso is ahead, if by little: a
# rating is also the sum of very many weak hints, and hundreds of shrunken coefficients
# are the better answer to these. `lambda2=0.3` does not help here. It shrinks the large
# effects of complaint as well, and they carry most of what can be known. What is wanted
# decides: the prediction, or the list.
#
# ## To take along
#
# * Give the sparse matrix as it is, counts as small integers, `feature_names=` for the
#   words. Features are standardized without being filled; a word is judged by its
#   standard deviation, so rare words need large effects.
# * A short list is for reading, and at its length it predicts better than the lasso.
#   Where many weak hints matter, hundreds of shrunken coefficients predict better
#   still.
