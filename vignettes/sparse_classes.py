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
# # Sparse text: two classes, and sixty thousand words
#
# Is a review good or bad, is an article of the group that is looked for? Two classes of
# documents, thousands of words, nearly all counts zero. This page asks which loss to
# take, what a list of ten words can know about documents in which none of them occurs,
# and what sixty thousand words cost. The documents are those of `sparse_text.py`:
# simulated, with frequencies of words as in real text.

# %%
import l0path
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from common import SHORT, articles, class_scores, megabytes, reviews, watched

# %%
X, stars, words = reviews()

# %% [markdown]
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

# %%
ax = ten.plot("roc", A[second], good[second], label="10 words")
largest = both["logistic"].model(index=-1)
ax = largest.plot("roc", A[second], good[second], ax=ax, label=f"{largest.k} words")

# %% [markdown]
# Whichever loss, the first words are the same: where there is a strong signal the loss
# hardly matters. The straight piece of the curve of ten words, at the left, are the
# reviews that have none of them: a short list is silent about many documents, and
# cannot order these. Where it speaks, it is wrong clearly less often than the base
# rate. The logistic loss is the one to begin with: it has probabilities and information
# criteria.
#
# ## Sixty thousand features
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
# Most of the peak are products of the few features that a search works on with all the
# others; the zeros cost nothing.
#
# ## To take along
#
# * Begin with `loss="logistic"`: it has probabilities and information criteria, and its
#   first words are those of other losses.
# * Where classes can be separated, and with tens of thousands of words they can be,
#   give a `lambda2`.
# * What ten words say about the documents in which none of them occurs is the
#   intercept. Look at that share before promising anything.
