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
# # How good is my model? Lower bounds, gaps and certificates
#
# A search among subsets hands you a model and its objective. However clever the search,
# this is one half of an answer: *somebody can do as well as this*. The other half is a
# lower bound: *nobody can do better than that*. Between the two lies the gap, and a gap
# of zero is a proof. This page is about the second half: where a bound comes from, when
# it is worth something, and what it does not say.
#
# Three data sets: diabetes (442 patients, 10 columns, or 64 with squares and products),
# childhood tumours (63 samples, 2308 genes) and sonar returns (208 rows, 60 frequency
# bands).

# %%
import textwrap
from itertools import combinations
from math import comb

import l0path
import numpy as np
import pandas as pd
from l0path.datasets import load_diabetes, load_sonar, load_srbct

from common import (
    SHORT,
    all_losses,
    all_subsets_of,
    bounds_and_ridges,
    gap_maps,
    gaps_and_ridges,
    gaps_of_boxes,
)

# %%
BOUNDS = {"node_limit": 1}  # bounds and safe rules alone, without a search

# %% [markdown]
# # Part 1: a case where the truth is known
#
# With ten columns there are only 1024 models, and all can be fitted. That makes the ten
# measurements of the diabetes study a good place to see what a bound is worth.
# `certify=True` asks for bounds along the whole path. (With the default algorithm one
# search would prove all sizes of so small a problem at once, and there would be no gaps
# to look at. Bounds are the subject here, so the path is searched by
# `algorithm="CDPSI"`, beside which they come alone.)

# %%
diabetes = load_diabetes()
X, y = diabetes.X, diabetes.y
path = l0path.fit(X, y, algorithm="CDPSI", certify=True)
path.details[["k", "objective", "lower_bound", "gap", "deviance_ratio", "optimality"]]

# %% [markdown]
# `lower_bound` is a number that the objective of *no* model with at most `k` columns
# can be below; `gap` is `(objective - lower_bound) / |objective|`. And the truth:

# %%
every = all_subsets_of(X, y)
truth = every.groupby("k").loss.min()
worse = [k for k in truth.index if path.details.objective[k] > truth[k] * (1 + 1e-9)]
print(
    f"{len(every)} models fitted; sizes at which the path is worse: {worse or 'none'}"
)

# %%
all_losses(every, path)

# %% [markdown]
# Every model of the path is the best of its size, and not a single one of the 1024 lies
# in a shaded bar. Yet the bars are long at the left. This is the first lesson, and it
# holds everywhere:
#
# > **A small gap proves that the model is good. A large gap proves nothing: the model
# > may be poor, or the bound may be.**
#
# At `k = 1` all of the gap is the bound's fault. A table that shows a gap of 16% does
# not say that a model 16% better exists.
#
# ## Where a bound comes from
#
# Write the squared loss with a little ridge, on standardized columns `z_j`, as `mean((y
# - Zb)²) / 2 + lambda2 ||b||²`. The loss is convex, so it lies above its tangent plane
#   at any point we like, say at a fit with residuals `r`:
#
# $$\tfrac12\,\mathrm{mean}\,(y-Zb)^2\;\ge\;
# \mathrm{mean}\,(y\,r)-\tfrac12\,\mathrm{mean}\,(r^2)-\sum_j c_j b_j,
# \qquad c_j=\mathrm{mean}\,(z_j r).$$
#
# Add the ridge, and each column stands alone: the most that column `j` can take off is
# the maximum of `c_j b - lambda2 b²`, that is `c_j² / (4 lambda2)`. A model of at most
# `k` columns takes off at most the `k` largest of these. That is the whole argument
# (weak duality; Liu et al., ICML 2017), and a few lines of code:

# %%
ridge, r = 0.1, y.to_numpy() - y.mean()
shrunk = l0path.fit(X, y, lambda2=ridge, algorithm="CDPSI", certify=True)
Z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
b = shrunk.coef(k=4, standardized=True).reindex(X.columns, fill_value=0.0).to_numpy()
residual = r - Z @ b
gain = np.sort((Z.T @ residual / len(r)) ** 2 / (4 * ridge))[::-1]
by_hand = (r * residual).mean() - (residual**2).mean() / 2 - np.r_[0, np.cumsum(gain)]
pd.DataFrame(
    {
        "objective": shrunk.details.objective,
        "by hand": by_hand,
        "lower_bound": shrunk.details.lower_bound,
    }
).T.round(0)

# %% [markdown]
# One residual vector gives a bound for *every* size at once. Any vector would do in
# place of the residuals: each gives a valid bound, and the package looks for good ones;
# that is the second and third row of the table. Note the division by `lambda2`: without
# a ridge a column could take off without end, and the argument would say nothing. How
# then did the first path, which had no ridge, get bounds? With more rows than columns
# the squared loss itself is strictly convex, and a little of that convexity can be set
# aside and used as a ridge is (the models do not change by it). So much convexity, so
# good a bound.
#
# ## More for one model: `certify`
#
# `fit(certify=True)` spends a few readings of the data on the whole path.
# `path.certify` spends more on one model, and returns what it has proved. Columns that
# provably cannot be in a best model are dropped, which sharpens the bound for those
# that remain, and so on in turn. It then goes on to search what is left until the gap
# is closed. This page limits that search to a single node (`node_limit=1`), because
# bounds are its subject, and `exact_or_heuristic.py` is about the search. Ten columns
# are so few that the single node is enough here.

# %%
certificate = path.certify(k=6, **BOUNDS)
certificate

# %% [markdown]
# Three statements, each of them a theorem about these data:
#
# * **The bound**, and the gap that is left. Here it is closed: the model is proven to
#   be the best.
# * **`fixed_in`**: these columns are in *every* best model of six columns. We need not
#   know that model to know this. (`fixed_out` holds those that are in none.)
# * **`deviance_ratio_bound`**: no best model has a larger R². This is the gap in a unit
#   that people know, and it is printed where a gap is left.
#
# With the 1024 models at hand we can look at what `fixed_in` claims. For each column,
# the best model of six *without* it:

# %%
six = every[every.k == 6]
without = pd.Series(
    {
        name: six.loss[[j not in S for S in six.support]].min() / truth[6] - 1
        for j, name in enumerate(X.columns)
    }
)
pd.DataFrame(
    {
        "loss of the best without it": without.map("{:+.2%}".format),
        "proved to be in every best model": [
            j in certificate.fixed_in for j in range(10)
        ],
        "in the best model": [j in certificate.model.support for j in range(10)],
    },
    index=X.columns,
)

# %% [markdown]
# The rules recognise the columns that it would cost far more to do without than the gap
# that they start from. A column that is in the best model but can be replaced cheaply
# is not recognised, nor should it be expected: for a cheap exchange the bound would
# have to be nearly perfect. "Not proved to be in" is not "proved to be out".
#
# ## What a gap does not mean
#
# * *Not that the model is the only good one.* A closed gap says that none is better;
#   another may be nearly as good. Of size nine, the models one exchange away:

# %%
nine = path.certify(k=9, **BOUNDS)
near = path.model(k=9).alternatives(n=3)
print(
    f"k = 9: gap {nine.gap:.1e}, so no model of nine columns can be better by more "
    f"than {nine.gap:.4%} of the loss; the next one is {near.relative[0]:.2%} worse"
)
near

# %% [markdown]
# * *Nothing about new data.* A bound is about the objective on these rows. The best
#   subset of these rows is itself a random thing; a proof that it is the best of these
#   rows does not make it less so.
# * *Nothing about the right size.* There is a bound for every `k`. Which `k` to take is
#   a question for cross-validation or a criterion.
# * *Not a share of the signal.* The gap is relative to the objective, noise included.
#   Where R² is 0.5, a gap of 1% of the loss is half a percentage point of R². Read
#   `deviance_ratio_bound`.
#
# # Part 2: the ridge decides how much can be proved
#
# Now 64 columns: squares and products join in, and enumeration is out of the question.
# There are more rows than columns, so bounds exist without a ridge, but some of these
# columns are nearly sums of others: there is little convexity to set aside. The gaps
# along the path for several amounts of ridge (`lambda2` adds `lambda2 * sum of squared
# standardized coefficients` to the loss, which is half a mean squared error):

# %%
wide = load_diabetes(expansion=True)
X, y = wide.X, wide.y
K = 20
ridges = [0.0, 0.001, 0.01, 0.1, 1.0]
paths = {
    value: l0path.fit(X, y, lambda2=value, max_k=K, certify=True) for value in ridges
}
gaps_and_ridges(paths, K)

# %% [markdown]
# The left panel looks like an argument for much ridge, and the right panel is the
# answer to it. A ridge does not make the same question easier: *it is another
# question*, one about shrunken models. At `lambda2 = 1` standardized coefficients are
# about a third of what least squares gives, and the proof is about those. Between the
# two extremes there is often a ridge that costs next to nothing in fit and still lets
# something be proved; here `lambda2 = 0.1` gives up little R².
#
# Often the support that is best with a ridge is also the one found without (last column
# below). That is encouraging, and it is no proof: a certificate belongs to the
# objective it was made for.

# %%
rows = []
for k in (1, 2, 3, 5, 8):
    c = paths[0.1].certify(k=k, **BOUNDS)
    rows.append(
        {
            "k": k,
            "gap along the path": paths[0.1].details.gap[k],
            "gap certified": c.gap,
            "proven": c.proven,
            "in every best": len(c.fixed_in),
            "in none": len(c.fixed_out),
            "R2": c.model.deviance_ratio,
            "R2 at most": c.deviance_ratio_bound,
            "same support without ridge": list(c.model.support)
            == list(paths[0.0].model(k=k).support),
        }
    )
pd.DataFrame(rows).set_index("k")

# %% [markdown]
# For the smallest sizes, bounding and dropping columns in turn ends in a proof: all
# other columns are out. Then, within a few sizes, the rules fix nothing any more. It is
# typical that this changes so suddenly. A rule needs the gap to be smaller than what a
# column is worth; once a few columns are fixed the gap shrinks, and more follow. Where
# the first step fails, nothing follows.
#
# ## Why the gap stays open when the ridge is small
#
# The bound is the optimum of a *relaxed* problem, in which a column may be in to a
# fraction `z` between 0 and 1, the fractions adding up to `k`. A coefficient `b` of a
# column that is in by a fraction `z` pays the ridge `lambda2 b² / z`: the smaller the
# fraction, the higher the cost. With much ridge, fractions are expensive, and the
# relaxed solution is a true subset. With little ridge they are nearly free: the relaxed
# problem takes a sliver of *every* column, and its optimum sinks towards that of the
# model with all columns. No better algorithm for the same relaxation changes that: it
# is the relaxation that is loose. The three curves for `k = 3`:

# %%
sweep = np.geomspace(1e-4, 3, 7 if SHORT else 13)
curves = []
for value in sweep:
    one = l0path.fit(X, y, lambda2=value, k=[3, 64], max_k=64)
    c = one.certify(k=3, **BOUNDS)
    curves.append(
        {
            "lambda2": value,
            "objective": c.incumbent,
            "lower_bound": c.lower_bound,
            "all columns": one.details.objective.iloc[-1],
        }
    )
curves = pd.DataFrame(curves)
bounds_and_ridges(curves)

# %% [markdown]
# At the right the orange line meets the blue one: proved. Towards the left it falls
# towards the grey one, which any statistician could have named without any theory:
# three columns cannot beat all of them.
#
# ## lambda0 instead of a size
#
# On a grid of `lambda0`, the cost of a column, a certificate speaks of *all* models of
# *every* size: none of the 2^64 has a smaller `loss + ridge + lambda0 * size`. Take
# values inside the intervals of the path of sizes:

# %%
table = paths[0.1].details.set_index("k").loc[1:6]
prices = np.sqrt(table.lambda0_low * table.lambda0_high).dropna()
priced = l0path.fit(X, y, lambda2=0.1, lambda0=list(prices))
rows = []
for row in priced.details.itertuples():
    c = priced.certify(index=row.Index, **BOUNDS)
    undecided = X.shape[1] - len(c.fixed_in) - len(c.fixed_out)
    rows.append(
        {
            "lambda0": row.lambda0,
            "k": row.k,
            "gap": c.gap,
            "proven": c.proven,
            "in every best": ", ".join(X.columns[j] for j in c.fixed_in),
            "in none": len(c.fixed_out),
            "models left": f"2^{undecided}",
        }
    )
pd.DataFrame(rows).set_index("lambda0")

# %% [markdown]
# # Part 3: many more columns than rows
#
# 63 tumours, 2308 genes, two classes: Ewing sarcoma or not. Logistic regression needs a
# ridge here anyway: two genes separate the classes, and without one the loss has no
# minimum. How much of a ridge is another matter. One certificate for each of several
# ridges and sizes:

# %%
tumours = load_srbct()
G, t = (
    tumours.X[tumours.train],
    tumours.y.where(tumours.y == "EWS", "rest")[tumours.train],
)
ridges = [0.001, 0.01, 0.03, 0.1, 0.3, 1.0] if not SHORT else [0.001, 0.01, 0.1, 1.0]
sizes = [1, 2, 3, 5, 8]
grid = {
    value: l0path.fit(
        G, t, loss="logistic", lambda2=value, max_k=max(sizes), certify=True
    )
    for value in ridges
}
results = {
    (value, k): one.certify(k=k, **BOUNDS) for value, one in grid.items() for k in sizes
}


def table_of(read):
    """A table of the certificates: rows are ridges, columns sizes."""
    return pd.DataFrame(
        [[read(results[value, k]) for k in sizes] for value in ridges],
        index=pd.Index(ridges, name="lambda2"),
        columns=pd.Index(sizes, name="k"),
    )


open_gap, out = table_of(lambda c: c.gap), table_of(lambda c: len(c.fixed_out))
gap_maps(open_gap, out, G, sizes, ridges)

# %% [markdown]
# The right panel is more than a consolation for the left one. A gap of a few percent is
# compatible with having ruled out all but a handful of genes. And a handful can be
# enumerated:

# %%
c = results[0.1, 2]
left_over = np.setdiff1d(np.arange(G.shape[1]), c.fixed_out)
print(
    f"lambda2 = 0.1, two genes: gap {c.gap:.2%}; {len(c.fixed_out)} of {G.shape[1]} "
    f"genes are in no best model, {len(left_over)} remain"
)
print(f"pairs to look at: {comb(len(left_over), 2)} instead of {comb(G.shape[1], 2):,}")
pairs = pd.Series(
    {
        pair: l0path.fit(
            G.iloc[:, list(pair)], t, loss="logistic", lambda2=0.1, k=[2]
        ).details.objective.iloc[-1]
        for pair in combinations(left_over, 2)
    }
).sort_values()
for (a, b), value in pairs.head(3).items():
    print(
        f"  {value:.6f}  {textwrap.shorten(G.columns[a], 48, placeholder=' …')}  |  "
        f"{textwrap.shorten(G.columns[b], 48, placeholder=' …')}"
    )
found = sorted(c.model.support)
print(
    "the model of the path is the first of these: "
    f"{list(pairs.index[0]) == [int(j) for j in found]}"
)

# %% [markdown]
# That is a complete proof, by safe rules and a short list, that no two genes of 2308 do
# better under this objective, although the gap alone was never closed. (Single genes of
# the remaining list count too, but a second gene never harms the objective on the rows
# of the fit.)
#
# What was *not* proved: that these two genes matter for the disease, or that another 63
# tumours would give the same two. The list above shows how close the next pair is.
#
# # Part 4: no ridge, no bound, unless you bound the coefficients
#
# Sonar: 208 returns, 60 frequency bands, mine or rock. For the logistic loss, more rows
# than columns are no help: where the fitted probabilities go to 0 and 1 the loss has no
# curvature to set aside.

# %%
sonar = load_sonar()
S, which = sonar.X, sonar.y
bare = l0path.fit(S, which, loss="logistic", max_k=8, certify=True)
for note in bare.notes:
    print(textwrap.fill(note, 150))
bare.certify(k=4, **BOUNDS)

# %% [markdown]
# The other way to keep a coefficient from taking off without end is a bound `M` on its
# size, a *box*. It is common in the literature to take one from the solution itself,
# say twice its largest coefficient. `box="auto"` does so, and says what it did:

# %%
boxed = bare.certify(k=4, box="auto", **BOUNDS)
boxed

# %% [markdown]
# This bound is *conditional*: it is about models within the box. Nobody has proved that
# the best model is. So `proven` stays False whatever the gap, the row of
# `certificate.path` is flagged, and `optimality` does not become `global`.

# %%
print(
    "flags of the row:",
    boxed.path.details["flags"][4],
    "| optimality:",
    boxed.path.details["optimality"][4],
    "| proven:",
    boxed.proven,
)

# %% [markdown]
# How much hangs on the guess? The same model and several boxes, in units of its largest
# coefficient:

# %%
factors = [1.0, 1.5, 2.0, 4.0, 8.0, 16.0] if not SHORT else [1.0, 2.0, 8.0]
gaps = {}
for k in (1, 2, 4):
    largest = bare.coef(k=k, standardized=True).iloc[1:].abs().max()
    boxes = [max(factor, 1 + 1e-9) * largest for factor in factors]
    gaps[k] = [bare.certify(k=k, box=box, **BOUNDS).gap for box in boxes]
gaps_of_boxes(factors, gaps)

# %% [markdown]
# A tight box makes a fine gap out of nothing but an assumption. If you believe in a
# bound on the coefficients, for reasons of the subject and not of this fit, make it
# part of the problem (`lower=`, `upper=`, in the units of X): then the bounds are about
# the problem you posed, and nothing is conditional:

# %%
M = float(2 * bare.coef(k=4, standardized=True).iloc[1:].abs().max())
limit = M / S.std(ddof=0).to_numpy()
inside = l0path.fit(
    S, which, loss="logistic", max_k=4, lower=-limit, upper=limit
).certify(k=4, **BOUNDS)
print(
    f"the same box as part of the problem: gap {inside.gap:.3f}, assumptions: "
    f"{inside.assumptions or 'none'}"
)

# %% [markdown]
# Or take a small ridge, which asks for no guess about single coefficients:

# %%
rows = []
for value in (0.001, 0.01, 0.1):
    one = l0path.fit(S, which, loss="logistic", lambda2=value, max_k=8)
    for k in (1, 4):
        c = one.certify(k=k, **BOUNDS)
        rows.append(
            {
                "lambda2": value,
                "k": k,
                "gap": c.gap,
                "in every best": len(c.fixed_in),
                "in none": len(c.fixed_out),
                "deviance ratio": c.model.deviance_ratio,
                "at most": c.deviance_ratio_bound,
            }
        )
pd.DataFrame(rows).set_index(["lambda2", "k"])

# %% [markdown]
# # When is there a bound, and is it any good?
#
# | problem | bound | how good |
# |---|---|---|
# | `lambda2 > 0`, any loss, any shape | always | the larger the ridge against the noise, the better; often exact where it beats what noise can imitate |
# | bounds on every coefficient (`lower`, `upper`) | always | the tighter the better |
# | squared loss, more rows than columns, `lambda2 = 0` | always, unless columns are collinear | good for nearly uncorrelated columns and sizes near all columns |
# | anything else with `lambda2 = 0` | none; with `certify(box=...)` under an assumption | as good as the assumption |
#
# "What noise can imitate": among `p` columns that have nothing to do with the response,
# one correlates with the noise by about `sigma sqrt(2 log p / n)` (columns of unit
# variance). When `2 lambda2` times the smallest coefficient of the model is twice that,
# the relaxation is usually exact (a rule of thumb that follows from the condition of
# Liu et al. for a gap of zero). On simulated data:

# %%
n, p, k = 200, 500, 5
rows = []
for factor in (0.5, 1, 2, 4):
    along, certified = [], []
    for seed in range(5 if SHORT else 25):
        sim = l0path.simulate.linear(n, p, k, correlation="iid", random_state=seed)
        value = (
            0.5
            * factor
            * sim.sigma
            * np.sqrt(2 * np.log(p) / n)
            / np.abs(sim.beta[sim.support]).min()
        )
        one = l0path.fit(sim.X, sim.y, lambda2=value, max_k=k, certify=True)
        along.append(one.details.gap[k])
        certified.append(one.certify(k=k, **BOUNDS).gap)
    rows.append(
        {
            "2 lambda2 |beta| / what noise can imitate": factor,
            "lambda2": value,
            "mean gap along the path": np.mean(along),
            "closed along the path": np.mean(np.array(along) < 1e-4),
            "closed by certify": np.mean(np.array(certified) < 1e-4),
        }
    )
pd.DataFrame(rows).set_index("lambda2")

# %% [markdown]
# Even where the relaxation alone leaves a gap, bounding and dropping columns in turn
# often closes it: these columns are uncorrelated and the true effects equal, which is
# the easy case. Correlated columns are the hard one, as the 64 columns of Part 2
# showed.
#
# Three things to take home:
#
# * Two numbers, not one: what somebody attains, and what nobody can beat. A small gap
#   is knowledge about the model. A large one is a lack of knowledge, and no more.
# * Look at `fixed_in` and `fixed_out` even when the gap stays open. "This column is in
#   every best model" is often provable when "this is the best model" is not.
# * A certificate is about one objective on one data set. It ends the doubt whether the
#   search was good enough; it leaves all doubts that a statistician has anyway.
