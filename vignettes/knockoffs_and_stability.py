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
# # Sets that hold: stability selection and knockoffs
#
# Which features are real? P-values that account for the choice are one answer
# (`after_selection.py`), and they ask much of each feature. This page shows two ways
# that judge a whole *set*: stability selection asks what is chosen whatever half of the
# rows is seen, and knockoffs bound the share of false features. The data are those of
# 442 diabetes patients with 64 features (ten measurements, their squares and products).

# %%
import l0path
from l0path.datasets import load_diabetes

from common import SHORT, knockoff_rates, noise_and_signals

# %%
data = load_diabetes(expansion=True)
X, y = data.X, data.y

# %% [markdown]
# ## Stability selection
#
# Which features are chosen again and again when the data are shaken? Each path is
# solved on a random half of the patients; halves come in disjoint pairs. Without `k`
# the size is set so that at most one false choice is expected by the bound of
# Meinshausen and Bühlmann; Shah and Samworth's bounds are sharper, for a little more
# assumed about the shape of the frequencies.

# %%
stable = l0path.stability_selection(
    X, y, max_k=12, n_subsamples=40 if SHORT else 200, random_state=1
)
print(stable)
ax = stable.plot("path")

# %% [markdown]
# The picture is worth more than any single number: some features are in nearly every
# model as soon as there is room for them; most of the others rise slowly, as features
# do that stand in for one another. The bound belongs to one `k` and one threshold that
# are fixed beforehand. Whoever reads off the best of both from the picture selects
# again. The subsets themselves are counted too:

# %%
stable.subsets.head(4)

# %% [markdown]
# ## Knockoffs
#
# Knockoffs give every feature a rival, made without looking at `y`, that is correlated
# with all *other* features just as the original is. A feature without effect beats its
# rival half of the time; so the number of rivals that win clearly tells how many of the
# features that win clearly did so by luck. First where the truth is known: 20 of 80
# features have an effect.

# %%
A, b, names = noise_and_signals(n=300, p=80, signals=20, effect=0.45, seed=4)
found = l0path.knockoff_filter(A, b, fdr=0.2, random_state=1)
right = len(names & set(found.selected))
print(f"{right} of 20 true features, {len(found.selected) - right} false")
ax = found.plot()

# %% [markdown]
# The rate holds on average over data sets, not in each. Over repetitions:

# %%
knockoff_rates(repeats=10 if SHORT else 60, fdr=0.2)

# %% [markdown]
# And on the diabetes data. With few strong features among 64, the filter often finds
# nothing: to hold a rate of 0.2 at least five features must be selected at once
# (`plus=True` adds one to the count of rivals). An empty set is an answer, and the
# honest one.

# %%
for level in (0.1, 0.2, 0.3):
    found = l0path.knockoff_filter(X, y, fdr=level, random_state=1)
    print(level, found.selected or "nothing")

# %% [markdown]
# ## What to take along
#
# * A frequency of stability selection is no probability of being true. Fix `k` and the
#   threshold beforehand; the bound is for the expected *number* of false features.
# * The rate of knockoffs holds for the set as a whole and on average; another seed
#   gives another set. They need normal errors and n >= 2 p, or features from a known
#   normal distribution.
