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
# asks what thirty words know about a review, which loss to take for two classes, and
# what happens at sixty thousand columns.
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
    articles,
    class_scores,
    effects_of_words,
    lasso_by_size,
    megabytes,
    reviews,
    watched,
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
# ## Stars lost, as a count
#
# Stars lost (0 to 4) are a small count, and with `loss="poisson"` words *multiply* what
# is expected. Is that better than adding? (A count that ends at 4 is no Poisson
# variable; as a working model for the mean it may still do.)

# %%
counts = {"loss": "poisson", "lambda2": 1e-3, "max_k": 8, "feature_names": words}
lost = l0path.fit(X[train], 5 - stars[train], **counts).model(k=8)
left = 5 - stars[test] - lost.predict(X[test])
print(f"R2 of 8 words {1 - np.mean(left**2) / np.var(stars[test]):.3f}")
print(f"squared loss  {ours.cv_mean[8]:.3f}")
print(f"{np.exp(lost.intercept):.2f} stars lost without any of them, and times")
np.exp(lost.coef.drop("(Intercept)")).sort_values().round(2).to_frame().T

# %% [markdown]
# It is not: the factors are easy to read, but eight of them predict worse than eight
# terms of a sum, as they should, since the stars were made by a sum. The choice of the
# loss is a claim about how effects combine. For counts that grow with an exposure
# (`offset=`) the product would be the natural claim.
#
# ## Two classes: which loss?
#
# Good (4 or 5 stars) against bad (1 or 2). The logistic loss gives probabilities; the
# squared hinge only cares about rows near the border or on the wrong side of it, and
# gives none.

# %%
clear = stars != 3
A, good = X[clear], np.where(stars[clear] > 3, "good", "bad")
first, second = train_test_split(
    np.arange(len(good)), test_size=1 / 3, random_state=0, stratify=good
)
both, scores = {}, {}
for loss in ("logistic", "squared_hinge"):
    classes = {"loss": loss, "lambda2": 1e-3, "max_k": 12 if SHORT else 40}
    both[loss] = l0path.fit(A[first], good[first], feature_names=words, **classes)
    positive = good[second] == both[loss].classes[1]
    scores[loss] = class_scores(both[loss], A[second], positive, (5, 10, 40))
print(f"always 'good' is wrong in {np.mean(good[second] == 'bad'):.3f}")
pd.concat(scores).round(3)

# %%
ten = both["logistic"].model(k=10)
some = np.asarray((A[second][:, ten.support] > 0).sum(axis=1)).ravel() > 0
known = good[second][some]
wrong = np.mean(ten.predict(A[second][some], type="class") != known)
print(f"{some.mean():.0%} of the reviews kept aside have one of the ten words;")
print(f"{wrong:.3f} of these are wrong, always 'good' {np.mean(known == 'bad'):.3f}")
shared = set(ten.features) & set(both["squared_hinge"].model(k=10).features)
print(f"{len(shared)} of ten words are those of the squared hinge, too")

# %% [markdown]
# Whichever loss, the first words are the same: where there is a strong signal the loss
# hardly matters. Larger models differ a little in their tails. The share of the reviews
# that have one of the ten words explains their modest AUC: short lists are silent about
# many documents. Where they speak, they are wrong clearly less often than the base
# rate. The logistic loss is the one to begin with: it has probabilities and information
# criteria.
#
# ## Sixty thousand columns
#
# Articles of which one in twenty is of the group looked for. `tracemalloc` watches how
# much memory the fit takes at its worst.

# %%
N, topic = articles()
stored, dense = megabytes(N)
a, b = train_test_split(
    np.arange(N.shape[0]), test_size=1 / 3, random_state=0, stratify=topic
)
how = {"loss": "logistic", "max_k": 10 if SHORT else 30}
found = {}
for ridge in (1e-3, 1e-2):
    news, peak = watched(l0path.fit, N[a], topic[a], lambda2=ridge, **how)
    found[f"lambda2 = {ridge:g}"] = class_scores(news, N[b], topic[b], (5, 10, 30))
print(f"{N.shape[0]} articles, {N.shape[1]} words, {topic.mean():.1%} of the group")
print(f"{stored:.0f} MB as stored, {dense:.0f} MB dense; the fit took {peak:.0f} MB")
pd.concat(found).round(3)

# %% [markdown]
# Most of the peak are products of the few columns that a search works on with all the
# others; the zeros cost nothing.
#
# ## To take along
#
# * Give the sparse matrix as it is, counts as small integers, `feature_names=` for the
#   words. Columns are standardized without being filled; a word is judged by its
#   standard deviation, so rare words need large effects.
# * A short list is for reading, and at its length it predicts better than the lasso.
#   Where many weak hints matter, hundreds of shrunken coefficients predict better
#   still.
# * Where classes can be separated, and with tens of thousands of words they can be,
#   give a `lambda2`.
# * What thirty words say about the documents in which none of them occurs is the
#   intercept. Look at that share before promising anything.
