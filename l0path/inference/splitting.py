"""Sample splitting: columns are chosen on one part of the rows and tested on the other; many splits
are combined into one p-value and one interval for each column.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.hints import hands_on
from ..core.types import Matrix, Seed
from ..core.warnings import warn_user
from ..cross_validation.processes import draw_seed, warn_once
from ..engine.grids import Grid
from ..engine.posing import default_max_k
from ..engine.request import ARGUMENTS
from ..errors import SeparationWarning
from ..problem.losses import OWN_LOSSES, name_of
from ..problem.problem import counted_rows
from .held_out import tested
from .rows import both_classes, draw, path_on_rows, resolve, run, share, whole, with_limit
from .stability import stop

GAMMA_MIN = 0.05  # gamma_min: smallest share of splits that may carry an adaptive p-value


@hands_on(*ARGUMENTS)
def split_inference(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    k: int | None = None,
    rule: str = "bic",
    n_splits: int = 50,
    fraction: float = 0.5,
    level: float = 0.95,
    random_state: Seed = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
    **fit: Any,
) -> pd.DataFrame:
    """p-values and intervals that the choice of features does not spoil, by splitting the rows.

    Features are chosen on one part of the rows and tested on the other, and many random splits are
    combined. In split b the path is solved on floor(fraction n) rows, a model S_b is chosen there,
    and its features are refitted without penalty on the other rows (statsmodels, as `Model.refit`
    does; survival times and ordered classes by maximum likelihood here), which gives p_j. Features
    that were not chosen have p_j = 1. A row that stands for several stays whole.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        As in `l0path.fit`.
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    k : int, optional
        The size of the model chosen in each split. None lets `rule` choose. Sizes are limited to
        half of either part (of its events, for survival times).
    rule : str or callable, default "bic"
        A criterion ("bic", "aic", "ebic", ...) or a function of the path of the split that returns
        a row.
    n_splits : int, default 50
        The number of random splits; 1 is the single split.
    fraction : float, default 0.5
        The share of the rows that choose, within each class for classes, and within those with
        and without an event for survival times.
    level : float, default 0.95
        The level of the intervals, for one feature each. They are not simultaneous.
    random_state : int, Generator, or None
        The seed. Split b is drawn by the b-th child of numpy's SeedSequence(seed). None draws a
        seed, kept in `attrs`.
    n_jobs : int, optional
        The number of processes, of one thread each. The result does not depend on it.
    time_limit : float, optional
        Seconds. At the limit, or at Ctrl-C, the splits that finished are combined
        (`attrs["status"]` says so). None means no limit.
    progress : bool, optional
        A bar on stderr that shows the splits, as in `l0path.fit`. A call that takes long says first
        how many fits it makes and roughly how long, unless this is False.
    **fit : Any
        Arguments of `l0path.fit` (any loss that `Model.refit` takes), except those about costs.
        Weights and offset go with the rows; class weights serve the choice only. Features of
        always_include are in every model and tested. With groups= whole groups are chosen and their
        features tested one by one. A held-out part gives no p-value of coefficients that have no
        finite estimate there, because the features separate its classes (or make a partial
        likelihood monotone), nor of any where no degree of freedom is left or all counts are 0.
        With separation the others keep theirs, except under weights of importance and losses with
        a dispersion or theta of their own.

    Returns
    -------
    DataFrame
        One row per feature (of several responses: per feature and response; of several classes:
        per feature and class, against the first class): selected (share of the splits that chose
        the feature), p_value, and ci_low and ci_high (in units of y, or of the linear predictor,
        per unit of the feature; [-inf, inf]: nothing known). Its `attrs` hold method, n_splits,
        level, fraction, random_state, status and mean_size (of the models chosen).

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.
    TimeoutError or KeyboardInterrupt
        If no split finished.

    Notes
    -----
    With Q(g) the g-quantile of the B values min(1, |S_b| p_j) (|S_b| times the number of responses,
    or of classes less one) divided by g (their ceiling(g B)-th smallest value):

        p_value = min(1, (1 - log 0.05) inf of Q(g) over 0.05 <= g < 1)    multi-split
        p_value = min(1, |S_1| p_j)                                        n_splits = 1

    ci_low and ci_high hold every b that the same aggregation, without the factor |S_b|, does not
    reject at 1 - level: intervals by inversion for one feature at a time. They are infinite for
    features chosen in few splits, because nothing was estimated.

    The chance of any p_value <= a among features without effect is at most a (family-wise error),
    and an interval covers its coefficient with probability `level`, if the models chosen hold all
    features with an effect (screening), the refitted model is right, and held-out tests are valid
    (exact for normal errors under the squared loss, asymptotic else). Where the choice misses a
    feature with an effect, features correlated with it are tested for what they stand in for.

    Choosing on half of the rows costs power, and with n_splits = 1 the result depends on the split.
    By contrast, `path.model(k=...).refit()` tests on the rows that were used for the choice, and
    says so.
    `model.refit(X, y)` on other rows is one split by hand.

    References
    ----------
    - Multi-split: Meinshausen, Meier & Buhlmann, JASA 104, 2009, equation (2.3).
    - Single split: Wasserman & Roeder, Annals of Statistics 37, 2009, section 3.
    - Intervals: Dezeure, Buhlmann, Meier & Meinshausen, Statistical Science 30, 2015, section 2.2.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + rng.standard_normal(120)
    >>> table = l0path.split_inference(X, y, n_splits=20, random_state=1)
    >>> table.index[table.p_value < 0.05].tolist()
    ['x2', 'x7']
    """
    began, seed = time.perf_counter(), draw_seed(random_state)
    deadline = None if time_limit is None else time.time() + time_limit
    whole(n_splits, "n_splits", 1)
    fraction, level = share(fraction, "fraction", 0.0, 1.0), share(level, "level", 0.0, 1.0)
    asked, competing = resolve(X, y, with_limit(fit, time_limit))
    data, plan = asked.data, asked.plan
    both_classes(data, fraction)
    _check(data, plan, k, rule, competing)
    most = _largest_size(data, fraction, k)
    plan = replace(plan, max_k=k if k is not None else plan.max_k, random_state=seed)
    asked, choice = replace(asked, plan=plan), ModelChoice(k, rule, most)
    items = [
        (asked, child, fraction, choice, deadline)
        for child in np.random.SeedSequence(seed).spawn(n_splits)
    ]
    n_chosen = int(fraction * counted_rows(data))
    largest = (
        default_max_k(data.groups, data.design.p, n_chosen) if plan.max_k is None else plan.max_k
    )
    largest = min(largest, most)
    done = run(
        one_split,
        items,
        n_jobs=n_jobs,
        progress=progress,
        name="splits",
        began=began,
        caller="split_inference",
        max_k=largest,
        remedy="a smaller max_k= or n_splits=, or n_jobs=-1,",
    )
    if not done.results:
        stop(done.end, "split_inference", f"one of {n_splits} splits")
    warn_once([], done.warnings, n_splits, "splits")
    splits = [done.results[i] for i in sorted(done.results)]
    apart = sum(one.separated for one in splits)
    if apart:
        warn_user(
            SeparationWarning(
                f"in {apart} of {len(splits)} splits the chosen features separate the classes of "
                "the held-out rows (or fit them perfectly), so nothing is known there of "
                "coefficients that have no finite estimate; choose a smaller k"
            )
        )
    table = combine(splits, _tests(data), level)
    table.attrs = {
        "method": _method(len(splits)),
        "n_splits": len(splits),
        "level": level,
        "fraction": fraction,
        "random_state": seed,
        "mean_size": float(np.mean([one.support.size for one in splits])),
        "status": f"complete: {n_splits} splits"
        if len(splits) == n_splits
        else f"{done.end.reason}; {len(splits)} of {n_splits} splits finished, the others are "
        "left out",
    }
    return table


def _tests(data):
    """The labels of what is tested: columns, or columns with each response, or with each class
    beside the first one.
    """
    names = [str(name) for name in data.names]
    if data.responses is None:
        return pd.Index(names, name="feature")
    if data.classes is None:
        return pd.MultiIndex.from_product([names, data.responses], names=["feature", "response"])
    classes = [str(c) for c in data.classes[1:]]
    return pd.MultiIndex.from_product([names, classes], names=["feature", "class"])


def _method(n_splits):
    """The name of the method, with its source."""
    if n_splits == 1:
        return "single split (Wasserman & Roeder 2009)"
    return (
        f"multi-split, adaptive quantile, gamma_min = {GAMMA_MIN} (Meinshausen, Meier & Buhlmann "
        "2009)"
    )


def _largest_size(data, fraction, k):
    """Half of the smaller part of the rows: no larger model can be chosen and tested."""
    counted = data.weights * (data.y if data.loss.traits.response == "survival" else 1.0)
    n = np.count_nonzero(counted)
    most = int(min(fraction, 1.0 - fraction) * n) // 2
    if most < 1 + (data.groups is None) * data.forced.size:
        raise ValueError(
            f"fraction={fraction:g} of {n} {_what(data)} leaves too few rows to choose or to test "
            "on; choose fraction nearer to 0.5"
        )
    if k is not None and k > most:
        raise ValueError(
            f"k={k} is more than half of the smaller part of the {_what(data)}, {most}; lower k, "
            "or choose fraction nearer to 0.5"
        )
    return most


def _what(data):
    """The name of what counts as observations."""
    return "events" if data.loss.traits.response == "survival" else "rows"


def _check(data, plan, k, rule, competing):
    """Raise ValueError for arguments that are valid for no split."""
    loss = name_of(data.loss)
    if loss in OWN_LOSSES or not (data.loss.traits.link or data.loss.traits.likelihood):
        raise ValueError(
            f"split_inference needs a likelihood, which loss={loss!r} does not have; use "
            + ("a loss of the package" if loss in OWN_LOSSES else "loss='logistic'")
        )
    refused = {
        ("huber", "sample_weight=", "RLM"): data.importance,
        ("multinomial", "offset=", "MNLogit"): data.offset is not None,
    }
    for (name, what, by), given in refused.items():
        if loss == name and given:
            raise ValueError(
                f"split_inference tests loss={loss!r} by statsmodels' {by}, which takes no {what}; "
                "leave that out"
            )
    if k is not None:
        whole(k, "k", 1, competing)
        if plan.max_k is not None and plan.max_k < k:
            raise ValueError(f"max_k={plan.max_k} is below k={k}; leave max_k out, or raise it")
        many = [
            name
            for name, value in (("lambda1", plan.lambda1), ("lambda2", plan.lambda2))
            if isinstance(value, Grid) or (value is not None and value.size > 1)
        ]
        if many:
            raise ValueError(
                f"k={k} names one model in each slice of a path: give one lambda1 and one lambda2, "
                f"or choose by rule= instead (got several values of {', '.join(many)})"
            )
    elif not callable(rule) and not data.loss.traits.likelihood:
        raise ValueError(
            f"rule={rule!r} needs a likelihood, which loss={loss!r} does not have; pass k="
        )


class ModelChoice(NamedTuple):
    """The rule by which a split chooses its model: the size k, or else a criterion; at most so many
    columns.
    """

    k: int | None
    rule: object
    most: int


def one_split(asked, child, fraction, choice, deadline):
    """A `Split`, its rows drawn by a SeedSequence."""
    data, k = asked.data, choice.k
    (train,) = draw(data, fraction, np.random.default_rng(child), by_event=True)
    path = path_on_rows(asked, train, deadline, choice.most)
    if k is None:
        path, i = path._at(choice.rule)
    else:  # a path that ended early has a smaller last size
        i = min(range(len(path)), key=lambda i: (abs(path._solutions[i].k - k), i))
    s = path._solutions[i]
    held = data.weights.copy()
    held[train] = 0.0
    return tested(path, s, data, held)


def aggregate_p_values(p, gamma_min=GAMMA_MIN):
    """One p-value for each column from those of B splits, p (B, m), already adjusted: min(1, (1 -
    log gamma_min) inf over gamma in [gamma_min, 1] of q_gamma(p) / gamma), q_gamma the ceil(gamma
    B)-th smallest.

    Meinshausen, Meier & Buhlmann (2009), equation (2.3) and Theorem 3.2: valid for any dependence
    between splits. B = 1 is returned as it is.
    """
    p = np.asarray(p, dtype=np.float64)
    B = len(p)
    if B == 1:
        return np.minimum(p[0], 1.0)
    m = np.arange(_first(B, gamma_min), B + 1)
    return np.minimum(
        1.0,
        (1.0 - math.log(gamma_min)) * (np.sort(p, axis=0)[m - 1] * (B / m)[:, None]).min(axis=0),
    )


def _first(B, gamma_min):
    """ceil(gamma_min B), the number of splits that must agree at least."""
    return max(1, math.ceil(round(gamma_min * B, 9)))


def combine(splits, labels, level):
    """The table of `split_inference` from its splits; labels: of the tests of all p columns."""
    from scipy import stats

    B, p = len(splits), len(labels)
    q = max(one.tests for one in splits)
    places = [(one.support[:, None] * q + np.arange(q)).ravel() for one in splits]
    ever = np.unique(np.concatenate(places)).astype(np.int64)
    estimate = np.zeros((B, ever.size))
    error = np.full((B, ever.size), np.inf)
    adjusted = np.ones((B, ever.size))
    count = np.zeros(p)
    for b, (one, place) in enumerate(zip(splits, places, strict=True)):
        count[place] += 1
        ok = np.isfinite(one.p_value)
        at = np.searchsorted(ever, place[ok])
        estimate[b, at] = one.estimate[ok]
        error[b, at] = one.error[ok]
        adjusted[b, at] = np.minimum(1.0, place.size * one.p_value[ok])
    freedom = np.array([one.freedom for one in splits])
    low, high, p_value = np.full(p, -np.inf), np.full(p, np.inf), np.ones(p)
    p_value[ever] = aggregate_p_values(adjusted)
    least = 1 if B == 1 else _first(B, GAMMA_MIN)
    for m in range(
        least, B + 1
    ):  # b is rejected where at least m of the B tests reject it at this level
        alpha = (1.0 - level) * m / (B * (1.0 if B == 1 else 1.0 - math.log(GAMMA_MIN)))
        half = stats.t.isf(alpha / 2.0, freedom)[:, None] * error
        high[ever] = np.minimum(high[ever], np.sort(estimate + half, axis=0)[m - 1])
        low[ever] = np.maximum(low[ever], -np.sort(half - estimate, axis=0)[m - 1])
    low, high = (
        np.minimum(low, high),
        np.maximum(low, high),
    )  # splits that contradict each other reject everything: what lies between is shown
    return pd.DataFrame(
        {"selected": count / B, "p_value": p_value, "ci_low": low, "ci_high": high},
        index=labels,
    )
