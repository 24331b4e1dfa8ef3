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
# # Dual iterative hard thresholding, replayed
#
# Liu, Yuan, Wang, Liu and Metaxas (*Dual Iterative Hard Thresholding*, ICML 2017)
# minimise a mean loss plus `lambda / 2 ||w||^2` over the vectors with at most `k`
# nonzeros by ascending the dual (DIHT), or a block of rows at a time (SDIHT). Two
# things are reported: on simulated regressions DIHT finds the true support from fewer
# rows than iterative hard thresholding (IHT) and hard thresholding pursuit (HTP), and
# on large classification problems it reaches the objective of IHT in a fraction of the
# time. Both experiments are repeated here, and one question is added to the first: how
# much of the advantage is the *dual*, and how much is that IHT is run with a short
# fixed step on columns that were not centred?
#
# What differs from the paper: its large sets (half a million rows of RCV1, news20 with
# 1.4 million columns) are replaced by simulated word counts of 1000 and of 8000
# documents, with classes that some of the words tell apart. The plain hinge has no
# place in this package (its dual is not strongly concave); a smoothed hinge of width
# 0.01 stands in for it.

# %%
import time

import numpy as np
import pandas as pd
from l0path.algorithms.one_size import solve_size
from l0path.core import threads
from l0path.designs import as_design
from l0path.problem.losses import make_loss
from l0path.problem.problem import Data, pose
from l0path.solvers import DualIHT, ProjectedGradient
from l0path.working_set.model import make_model
from scipy import sparse

from common import SHORT, gaps_over_time, recovery_of_dual_methods, seconds_to_objective

# %%
TUNE, SCORE = (
    (1, 3) if SHORT else (2, 8)
)  # copies to choose lambda on and to score on: 100 and 50 in the paper


# %%
def model_of(X, y, loss="squared", gamma=0.25, intercept=False):
    """What the solvers work on: columns as they are, or centred beside an intercept."""
    n, p = X.shape
    free = np.full(p, np.inf)
    return make_model(
        pose(
            Data(
                design=as_design(X)[0],
                y=np.asarray(y, dtype=float),
                loss=make_loss(loss, gamma, 1.345),
                weights=np.ones(n),
                intercept=intercept,
                standardize=False,
                lower=-free,
                upper=free,
                factor=np.ones(p),
                forced=np.empty(0, dtype=np.int64),
                excluded=np.zeros(p, dtype=bool),
                names=[],
            )
        )
    )


# %% [markdown]
# ## Recovery and error against the number of rows: their Figure 1
#
# The true coefficients are `kbar` ones. The first `kbar` columns are normal with
# correlation 0.25 and means drawn from a standard normal, the others independent with
# means drawn likewise; the noise has variance 1 and `k = kbar` is known. (The extracted
# text of the paper has lost its digits: 500 columns with 50 nonzeros and 300 with 100
# are what is remembered of it. Here 200 with 20 as well, and 500 with 50 in the full
# form.) Lambda is chosen from 1e-3 to 10 by the mean error on copies of the data that
# are not scored.
#
# Five methods: IHT with the fixed step 0.99 / L, IHT with the long steps that are this
# package's default, HTP, and DIHT with the steps of the theorem ("printed") and with
# safe steps. Each on the columns as they are, as in the paper, and centred. All report
# the optimum on the support they end at: that is what IHT would go on to, and what DIHT
# refits at times.

# %%
METHODS = {
    "IHT": ("#6b6b6b", ProjectedGradient(paper_defaults=True, max_iter=1000)),
    "IHT, long steps": ("#56B4E9", ProjectedGradient()),
    "HTP": ("#009E73", ProjectedGradient(variant="htp", paper_defaults=True)),
    "DIHT, printed": ("#CC79A7", DualIHT(paper_defaults=True)),
    "DIHT": ("#D55E00", DualIHT()),
}
LAMBDAS = (1e-3, 1e-1) if SHORT else (1e-3, 1e-2, 1e-1, 1.0, 10.0)
SETTINGS = (
    [(200, 20, (30, 60))]
    if SHORT
    else [(200, 20, (20, 30, 40, 60, 80, 120)), (500, 50, (50, 80, 120, 160))]
)


def copy(n, d, kbar, seed):
    """X (n, d), y, and the truth."""
    rng = np.random.default_rng(seed)
    head = (
        np.sqrt(0.75) * rng.standard_normal((n, kbar))
        + np.sqrt(0.25) * rng.standard_normal((n, 1))
        + rng.standard_normal(kbar)
    )
    X = np.asfortranarray(
        np.column_stack(
            [head, rng.standard_normal((n, d - kbar)) + rng.standard_normal(d - kbar)]
        )
    )
    truth = np.repeat([1.0, 0.0], [kbar, d - kbar])
    return X, X @ truth + rng.standard_normal(n), truth


def score(model, truth, kbar, lam, settings):
    """(relative error, whole support found)."""
    fit = solve_size(model, kbar, lambda1=0.0, lambda2=lam / 2.0, settings=settings).fit
    found = np.zeros(truth.size)
    found[fit.support] = fit.b
    return np.linalg.norm(found - truth) / np.linalg.norm(truth), np.array_equal(
        np.flatnonzero(found), np.flatnonzero(truth)
    )


rows = []
with threads.one_blas_thread():
    for d, kbar, sizes in SETTINGS:
        for n in sizes:
            for centred in (False, True):
                for name, (_, settings) in METHODS.items():
                    errors = {lam: 0.0 for lam in LAMBDAS}
                    for seed in range(TUNE):
                        X, y, truth = copy(n, d, kbar, 1000 + seed)
                        for lam in LAMBDAS:
                            errors[lam] += score(
                                model_of(X, y, intercept=centred),
                                truth,
                                kbar,
                                lam,
                                settings,
                            )[0]
                    lam = min(errors, key=errors.get)
                    for seed in range(SCORE):
                        X, y, truth = copy(n, d, kbar, seed)
                        error, whole = score(
                            model_of(X, y, intercept=centred),
                            truth,
                            kbar,
                            lam,
                            settings,
                        )
                        rows.append(
                            {
                                "d": d,
                                "n": n,
                                "columns": "centred" if centred else "as they are",
                                "method": name,
                                "lambda": lam,
                                "error": error,
                                "recovered": whole,
                            }
                        )
recovery = pd.DataFrame(rows)
print(
    f"{TUNE} copies to choose lambda on, {SCORE} to score on; share of whole supports "
    "recovered, then mean error"
)
print(
    recovery.pivot_table(
        index=["d", "columns", "n"], columns="method", values="recovered"
    )[list(METHODS)]
    .round(2)
    .to_string()
)
print(
    recovery.pivot_table(index=["d", "columns", "n"], columns="method", values="error")[
        list(METHODS)
    ]
    .round(2)
    .to_string()
)

# %%
recovery_of_dual_methods(SETTINGS, recovery, METHODS)
# %%
gain = recovery.pivot_table(index="columns", columns="method", values="recovered").loc[
    ["as they are", "centred"]
]
for kind, row in gain.iterrows():
    print(
        f"columns {kind:12s}: whole supports "
        + ", ".join(f"{name} {row[name]:.0%}" for name in METHODS)
    )

# %% [markdown]
# ## Time to IHT's objective on word counts: their Figures 2 to 5
#
# IHT (fixed step) runs until its objective falls by less than 1e-4, relative; every
# other method is then timed until its best objective is as low. The ridge is 2e-3 and
# 2e-4, `k` varies. SDIHT has ten blocks of rows. A cross means that the objective was
# not reached by the end of the run. Since the dual methods refit on the supports they
# meet, "reached" counts the refits too; for the gap see the second figure. HTP refits
# at every step.


# %%
def words(n, p, seed):
    """Counts of words csc, rows of unit length, and two classes that 40 words part."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(
        rng.poisson(np.minimum(0.5, 10.0 / np.arange(5, p + 5)), size=(n, p)).astype(
            float
        )
    )
    score = X[:, rng.choice(p // 10, 40, replace=False)] @ rng.choice([-1.0, 1.0], 40)
    y = np.where(score + 0.5 * rng.standard_normal(n) > np.median(score), 1.0, -1.0)
    X = X[:, np.flatnonzero(X.getnnz(axis=0))]
    return sparse.csc_array(
        sparse.diags_array(
            1.0
            / np.sqrt(np.maximum(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1.0))
        )
        @ X
    ), y


def trace(model, k, lam, settings):
    """[(seconds, best objective, best bound)] of a run; IHT as in the paper."""
    out, best, bound, last = [], np.inf, -np.inf, np.inf
    started = time.perf_counter()

    class Enough(Exception):
        pass

    def watch(what, value):
        nonlocal best, bound, last
        if what == "map" and settings.paper_defaults and settings.variant == "pg":
            if last - value <= 1e-4 * abs(last) and len(out) > 2:
                raise Enough
            last = value
        if what in ("map", "refit"):
            best = min(best, value)
        elif what == "bound":
            bound = value
        out.append((time.perf_counter() - started, best, bound))

    try:
        solve_size(
            model, k, lambda1=0.0, lambda2=lam / 2.0, settings=settings, watch=watch
        )
    except Enough:
        pass
    return np.array(out)


CONTESTANTS = {
    "IHT": ("#6b6b6b", ProjectedGradient(paper_defaults=True, max_iter=2000)),
    "HTP": (
        "#009E73",
        ProjectedGradient(variant="htp", paper_defaults=True, max_iter=30),
    ),
    "APG+": (
        "#0072B2",
        ProjectedGradient(variant="apg+", paper_defaults=True, max_iter=300),
    ),
    "DIHT": ("#D55E00", DualIHT()),
    "SDIHT": ("#CC79A7", DualIHT(blocks=10)),
}
KS = (20,) if SHORT else (20, 50, 100)
texts, rows, gaps = {"1000 documents": words(1000, 8000, 0)}, [], {}
if not SHORT:
    texts["8000 documents"] = words(8000, 20000, 1)
with threads.one_blas_thread():
    X, y = next(iter(texts.values()))
    for (
        _,
        settings,
    ) in CONTESTANTS.values():  # kernels are compiled before the clock runs
        trace(model_of(X, y, "smoothed_hinge"), 3, 1.0, settings)
    for name, (X, y) in texts.items():
        for gamma, what in ((0.25, "smoothed hinge"), (0.01, "near hinge")):
            for lam in (2e-3, 2e-4):
                for k in KS:
                    target = None
                    for method, (_, settings) in CONTESTANTS.items():
                        run = trace(
                            model_of(X, y, "smoothed_hinge", gamma), k, lam, settings
                        )
                        target = run[-1, 1] if target is None else target
                        hit = np.flatnonzero(run[:, 1] <= target * (1 + 1e-9))
                        rows.append(
                            {
                                "data": name,
                                "loss": what,
                                "lambda": lam,
                                "k": k,
                                "method": method,
                                "seconds": run[hit[0], 0] if hit.size else np.nan,
                                "all": run[-1, 0],
                                "P": run[-1, 1] / target,
                            }
                        )
                        gaps[name, what, lam, k, method] = run
times = pd.DataFrame(rows)
print("seconds to the objective of IHT (NaN: not reached)")
print(
    times.pivot_table(
        index=["data", "loss", "lambda", "k"],
        columns="method",
        values="seconds",
        dropna=False,
    )[list(CONTESTANTS)]
    .dropna(how="all")
    .round(3)
    .to_string()
)

# %%
seconds_to_objective(texts, times, CONTESTANTS)
# %% [markdown]
# The gap between the best objective and the best dual value, over the run, at the
# middle `k`. Both methods also stop when the bound rests, so a curve that ends high is
# a gap that does not close. (The bound is that of the columns that the solver works on,
# which grow when it has looked at all columns. Before that it may even exceed the
# objective, which is drawn as 1e-8; only the last stretch of each curve bounds the
# whole problem.)

# %%
gaps_over_time(texts, gaps, KS, CONTESTANTS)
last = {
    key: 1 - run[-1, 2] / run[-1, 1]
    for key, run in gaps.items()
    if key[4] in ("DIHT", "SDIHT")
}
for lam in (2e-3, 2e-4):
    value = np.array([gap for key, gap in last.items() if key[2] == lam])
    print(
        f"lambda {lam:g}: last relative gap between {value.min():.1%} and "
        f"{value.max():.1%}, median {np.median(value):.1%}"
    )
for method in ("HTP", "APG+", "DIHT", "SDIHT"):
    both = times.pivot_table(
        index=["data", "loss", "lambda", "k"],
        columns="method",
        values="seconds",
        dropna=False,
    ).dropna(how="all")
    ratio = both["IHT"] / both[method]
    quality = times[times.method == method].P
    print(
        f"{method:6s} reached IHT's objective in {ratio.notna().mean():.0%} of the "
        f"problems, there in 1/{ratio.median():.1f} of IHT's time (median); its own "
        f"end is {quality.median():.3f} times IHT's objective (median)"
    )

# %% [markdown]
# ## What agrees with the paper, and what does not
#
# Numbers are those of the full form on our machine (two cores, shared with other work;
# 2 copies to choose lambda on and 8 to score on, so a share of supports may be off by a
# fifth).
#
# *Agrees.* DIHT has the least error and the highest recovery at nearly every number of
# rows: on the columns as they are it finds the whole support in 68 % of the problems,
# IHT in 9 %, HTP in 2 %. The lead is largest from once to three times as many rows as
# nonzeros. On word counts, DIHT and SDIHT reach IHT's objective in all 24 problems, in
# about 1/30 of its time (median), and end at an objective about 7 % below it. The gap
# falls to 0.2 % (median) for the larger lambda.
#
# *Does not, or not for the reason given.*
#
# * Most of the lead is due to columns with means. Once they are centred, IHT recovers
#   40 %, IHT with long steps 59 %, DIHT still 68 %. What is left to the dual is an edge
#   below three rows per nonzero coefficient. Anybody who fits an intercept, as
#   `l0path.fit` does by default, centres.
# * With the steps of the theorem DIHT is a different method: 12 % as the columns are,
#   65 % centred. Those steps are long where lambda is small, and the run can end far
#   from any good dual point. The paper tuned its step by grid search; the lead above is
#   that of safe steps, refits on the supports met, and the best of all that was seen,
#   none of which is in the printed algorithm.
# * On word counts the speed is measured against a fixed step 1 / L. HTP and APG+ reach
#   the same objective too, in 1/46 and 1/29 of IHT's time, and none of the four is
#   ahead everywhere: DIHT is often the first at k = 20, HTP more often at 50 and 100;
#   SDIHT is about as fast as DIHT. We see no order of magnitude between dual and primal
#   methods, only between all of them and IHT.
# * The gap does not close for the smaller lambda: 1 to 10 % remain when the bound has
#   come to rest. The two optima meet only under a condition on data and lambda, and it
#   fails here. The jumps upwards in the curves are new columns that joined the working
#   set, and lowered a bound that had not known them.
