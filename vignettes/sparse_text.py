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
# # Sparse text: a few words out of many
#
# Text becomes a table with a row per document and a column per word, nearly all zeros. Such a table is kept as a SciPy sparse matrix, and everything here takes one as it is: `fit`, `cv_fit`,
# `predict`. Nothing is made dense, columns are centred and standardised in the formulas and not in memory, and small integer counts stay small integers.
#
# And text is where a short list is worth most: thirty words can be *read*. The page asks what thirty words know about a review, which loss to take for two classes, and what happens at sixty thousand
# columns.
#
# The documents are simulated, so that everybody has them and the truth is known: the frequency of a word falls as 1 / rank, as it does in text. In the reviews a few common words are praise and add a
# little, some rarer ones are complaint and cost much, and many are hints that are worth next to nothing each. All others say nothing. The name of a column says which of these it is.

# %%
import os
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import Lasso
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer documents and sizes, the same cells
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 3)
BLUE, ORANGE, GREEN, PINK, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


def documents(frequencies, n, length, rng):
    """Counts (n, p) csr, uint8: each document has about `length` words, drawn with the frequencies (p,)."""
    sizes = rng.poisson(length, n)
    drawn = rng.choice(len(frequencies), sizes.sum(), p=frequencies / frequencies.sum())
    table = sparse.csr_matrix((np.ones(drawn.size), (np.repeat(np.arange(n), sizes), drawn)), shape=(n, len(frequencies)))
    return table.astype(np.uint8)


def reviews():
    """(X, stars, names): counts (n, p) csr, whole stars 1 to 5, the name of each column."""
    rng, p = np.random.default_rng(0), 2640
    X = documents(1.0 / np.arange(5, p + 5), 6000, 60, rng)
    kinds, beta = np.array(["word"] * p, dtype=object), np.zeros(p)
    for kind, count, first, last, effect in (("praise", 12, 20, 120, 0.25), ("complaint", 30, 60, 600, -1.0), ("hint", 600, 0, p, None)):
        chosen = rng.choice(np.flatnonzero(kinds[first:last] == "word") + first, count, replace=False)
        kinds[chosen] = kind
        beta[chosen] = 0.2 * rng.standard_normal(count) if effect is None else effect * rng.uniform(0.5, 1.5, count)
    score = X @ beta
    stars = np.clip(np.round(4.2 + score - np.median(score) + 0.6 * rng.standard_normal(X.shape[0])), 1, 5).astype(int)
    return X, stars, [f"{kind} {j}" for j, kind in enumerate(kinds)]


def articles():
    """(X, topic): counts (n, p) csr, whether an article is of the group looked for, which has 40 words that it uses more often."""
    rng, p = np.random.default_rng(1), 60000
    frequencies, n = 1.0 / np.arange(5, p + 5), 3000 if SHORT else 15000
    own = frequencies.copy()
    own[rng.choice(np.arange(100, 3000), 40, replace=False)] *= 8.0
    topic = np.sort(rng.random(n) < 0.05)
    return sparse.vstack([documents(frequencies, int((~topic).sum()), 80, rng), documents(own, int(topic.sum()), 80, rng)]).tocsr(), topic


X, stars, words = reviews()
print(f"{X.shape[0]} reviews, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.2%} of the table not zero, type {X.dtype}")
print(f"stored in {(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20:.1f} MB; dense in double precision it would be {8 * np.prod(X.shape) / 2**20:.0f} MB")
print("stars:", ", ".join(f"{s}: {c}" for s, c in zip(*np.unique(stars, return_counts=True), strict=True)))

# %% [markdown]
# ## Thirty words
#
# Squared loss: a coefficient is in stars for each time the words occur. A third of the reviews is kept aside.

# %%
train, test = train_test_split(np.arange(len(stars)), test_size=1 / 3, random_state=0)
K = 40 if SHORT else 100
began = time.perf_counter()
path = l0path.fit(X[train], stars[train], feature_names=words, max_k=K)
print(f"{len(path)} models in {time.perf_counter() - began:.1f} s, R2 on the training rows {path.model(k=30).deviance_ratio:.2f} at 30 words")

# %%
LIST = 30
model = path.model(k=LIST)
effect = path.coef(k=LIST).drop("(Intercept)").sort_values()
often = pd.Series(np.asarray((X[train] > 0).sum(axis=0)).ravel(), index=words)
fig, ax = plt.subplots(figsize=(8.5, 6.6), layout="constrained")
ax.barh(range(LIST), effect, color=np.where(effect < 0, ORANGE, BLUE), height=0.7)
ax.set_yticks(range(LIST), effect.index, fontsize=9)
for place, (name, value) in enumerate(effect.items()):
    ax.annotate(f"{often[name]}", (value, place), xytext=(4 if value > 0 else -4, 0), textcoords="offset points", ha="left" if value > 0 else "right", va="center", fontsize=7.5, color=GREY)
ax.axvline(0, color="black", linewidth=0.8)
plain(ax, xlabel=f"stars for each mention, from {model.intercept:.2f} stars on; small numbers: in how many training reviews", xlim=(1.15 * effect.min(), max(1.15 * effect.max(), 0.3 * -effect.min())));

# %% [markdown]
# Every word of the list says something; none of the 2000 that say nothing is in it. Most of it is complaint, and there is a reason in the data: a review without any of these words is predicted at more
# than four and a half stars, and there is little room above. Praise shows up as common words of small effect, complaint as rarer ones of large effect.
#
# A rare word is standardised like any other column, so that its effect is judged per standard deviation: a word in ten reviews must be worth a great deal to enter at all.
#
# ## How many words predict best, and against the lasso

# %%
cv = l0path.cv_fit(X[train], stars[train], feature_names=words, max_k=K, cv=5, random_state=1, lambda2=0)
ours = path.validate(X[test], stars[test], scoring="r2").scores
ridged = l0path.fit(X[train], stars[train], lambda2=0.3, max_k=K if SHORT else 300).validate(X[test], stars[test], scoring="r2").scores
scale = np.sqrt(np.asarray(X[train].astype(float).multiply(X[train]).mean(axis=0)).ravel() - np.asarray(X[train].mean(axis=0)).ravel() ** 2)
unit = sparse.diags_array(1.0 / np.where(scale > 0, scale, 1.0))
Z, Z_new = (X[train].astype(float) @ unit).tocsc(), (X[test].astype(float) @ unit).tocsr()
rows, lasso = [], Lasso(max_iter=3000, warm_start=True)
for alpha in np.geomspace(0.15, 0.012, 10 if SHORT else 30):
    lasso.set_params(alpha=alpha).fit(Z, stars[train].astype(float))
    rows.append({"k": np.count_nonzero(lasso.coef_), "r2": lasso.score(Z_new, stars[test])})
rival = pd.DataFrame(rows)

# %%
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.plot(ours.k[1:], ours.cv_mean[1:], color=ORANGE, linewidth=1.8, label="best subsets")
ax.plot(ridged.k[1:], ridged.cv_mean[1:], color=ORANGE, linewidth=1.8, linestyle="--", label="best subsets, lambda2 = 0.3")
ax.plot(rival.k, rival.r2, color=GREEN, linewidth=1.8, marker="o", markersize=3.5, label="lasso")
for which, height in (("1se", 0.1), ("min", 0.2)):
    k = cv.model(which).k
    ax.axvline(k, color=GREY, linewidth=0.8, linestyle=":")
    ax.text(k, height * ours.cv_mean.max(), f' "{which}": {k} ', fontsize=9, color=GREY, ha="right")
plain(ax, xlabel="words in the model", ylabel="R2 on reviews kept aside", xscale="log", ylim=(0, None))
ax.minorticks_off()
ax.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
ax.legend(frameon=False, loc="upper left");

# %%
for k in (10, 30, K):
    print(f"{k} words: best subset {ours.cv_mean[ours.k == k].iloc[0]:.3f}, with lambda2 = 0.3 {ridged.cv_mean[ridged.k == k].iloc[0]:.3f}, lasso {np.interp(k, rival.k, rival.r2):.3f}")
print(f"best of all: subset {ours.cv_mean.max():.3f} with {ours.k[ours.cv_mean.idxmax()]} words, with the ridge {ridged.cv_mean.max():.3f} with {ridged.k[ridged.cv_mean.idxmax()]}, lasso {rival.r2.max():.3f} with {rival.k[rival.r2.idxmax()]}")

# %% [markdown]
# At equal length the subset explains more, because the lasso pays for each word by shrinking all of them. With no limit on the length the lasso is ahead, if by little: a rating is also the sum of very many
# weak hints, and hundreds of shrunken coefficients are the better answer to these. `lambda2=0.3` does not help here. It shrinks the large effects of complaint as well, and they carry most of what can be
# known. What is wanted decides: the prediction, or the list.
#
# ## Stars lost, as a count
#
# Stars lost (0 to 4) are a small count, and with `loss="poisson"` words *multiply* what is expected. Is that better than adding? (A count that ends at 4 is no Poisson variable; as a working model for
# the mean it may still do.)

# %%
lost = l0path.fit(X[train], 5 - stars[train], loss="poisson", lambda2=1e-3, max_k=8 if SHORT else 15, feature_names=words)
factors = np.exp(lost.coef(k=8).drop("(Intercept)")).sort_values()
print(f"without any of these words {np.exp(lost.model(k=8).intercept):.2f} stars are lost on average, and that is multiplied by")
print(factors.round(2).to_string())
print(f"R2 of the mean on reviews kept aside: {1 - np.mean((5 - stars[test] - lost.predict(X[test], k=8)) ** 2) / np.var(stars[test]):.3f} with 8 words, squared loss {ours.cv_mean[ours.k == 8].iloc[0]:.3f}")

# %% [markdown]
# It is not: the factors are easy to read, but eight of them predict worse than eight terms of a sum, as they should, since the stars were made by a sum. The choice of the loss is a claim about how
# effects combine. For counts that grow with an exposure (`offset=`) the product would be the natural claim.
#
# ## Two classes: which loss?
#
# Good (4 or 5 stars) against bad (1 or 2). The logistic loss gives probabilities; the squared hinge only cares about rows near the border or on the wrong side of it, and gives none.

# %%
clear = stars != 3
A, good = X[clear], np.where(stars[clear] > 3, "good", "bad")
first, second = train_test_split(np.arange(len(good)), test_size=1 / 3, random_state=0, stratify=good)
KC = 12 if SHORT else 40
both, rows = {}, []
for loss in ("logistic", "squared_hinge"):
    began = time.perf_counter()
    both[loss] = l0path.fit(A[first], good[first], loss=loss, lambda2=1e-3, max_k=KC, feature_names=words)
    seconds = time.perf_counter() - began
    for k in (5, 10, KC):
        score = both[loss].predict(A[second], k=k, type="link")
        rows.append({"loss": loss, "k": k, "wrong": np.mean((score > 0) != (good[second] == both[loss].classes[1])), "AUC": roc_auc_score(good[second] == both[loss].classes[1], score), "seconds, whole path": seconds})
print(f"always 'good' is wrong in {np.mean(good[second] == 'bad'):.3f}")
pd.DataFrame(rows).set_index(["loss", "k"])

# %%
k = 10
some = np.asarray((A[second][:, both["logistic"].support(k=k)] > 0).sum(axis=1)).ravel() > 0
print(f"{some.mean():.0%} of the reviews kept aside have one of the {k} words of the logistic model; among these {np.mean(both['logistic'].predict(A[second][some], k=k, type='class') != good[second][some]):.3f} are classified wrongly, always 'good' would be wrong in {np.mean(good[second][some] == 'bad'):.3f}")
lists = {loss: one.coef(k=k).drop("(Intercept)") for loss, one in both.items()}
print(f"{len(set(lists['logistic'].index) & set(lists['squared_hinge'].index))} of {k} words in common")
print("logistic only:     ", ", ".join(sorted(set(lists["logistic"].index) - set(lists["squared_hinge"].index))))
print("squared hinge only:", ", ".join(sorted(set(lists["squared_hinge"].index) - set(lists["logistic"].index))))

# %% [markdown]
# Whichever loss, the first words are the same: where there is a strong signal the loss hardly matters. Larger models differ a little in their tails. And the first line of the last cell explains the modest
# AUC of ten words: short lists are silent about most documents. Where they speak, they are wrong clearly less often than the base rate. The logistic loss is the one to begin with: it has probabilities and
# information criteria.
#
# ## Sixty thousand columns
#
# Articles of which one in twenty is of the group looked for. `tracemalloc` watches how much memory the fit takes at its worst.

# %%
N, topic = articles()
a, b = train_test_split(np.arange(N.shape[0]), test_size=1 / 3, random_state=0, stratify=topic)
rows = []
for loss in ("logistic", "squared_hinge"):
    for ridge in (1e-3, 1e-2):
        tracemalloc.start()
        began = time.perf_counter()
        news = l0path.fit(N[a], topic[a], loss=loss, lambda2=ridge, max_k=10 if SHORT else 30)
        seconds = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        for k in (5, 10, 30):
            if k <= news.details.k.max():
                score = news.predict(N[b], k=k, type="link")
                rows.append({"loss": loss, "lambda2": ridge, "words": k, "AUC": roc_auc_score(topic[b], score), "wrong": np.mean((score > 0) != topic[b]), "seconds, whole path": seconds, "peak MB": peak})
print(f"{N.shape[0]} articles, {N.shape[1]} words; stored in {(N.data.nbytes + N.indices.nbytes + N.indptr.nbytes) / 2**20:.0f} MB, dense {8 * np.prod(N.shape) / 2**30:.1f} GB; in the group: {topic.mean():.1%}")
big = pd.DataFrame(rows)
big.set_index(["loss", "lambda2", "words"])

# %%
print(f"{big['peak MB'].max():.0f} MB at the worst, {8 * np.prod(N.shape) / 2**20 / big['peak MB'].max():.0f} times less than the dense table alone would take")

# %% [markdown]
# Most of the peak are products of the few columns that a search works on with all the others; the zeros cost nothing.
#
# ## To take along
#
# * Give the sparse matrix as it is, counts as small integers, `feature_names=` for the words. Columns are standardised without being filled; a word is judged by its standard deviation, so rare words
#   need large effects.
# * A short list is for reading, and at its length it predicts better than the lasso. Where many weak hints matter, hundreds of shrunken coefficients predict better still.
# * Where classes can be separated, and with tens of thousands of words they can be, give a `lambda2`.
# * What thirty words say about the documents in which none of them occurs is the intercept. Look at that share before promising anything.
