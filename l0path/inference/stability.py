"""Stability selection: how often each column is chosen when the path is solved on random halves of
the rows, and a bound on how many are chosen by chance.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.hints import hands_on
from ..core.status import End
from ..core.types import Matrix, Seed
from ..cross_validation.processes import draw_seed, warn_once
from ..engine.posing import default_max_k
from ..engine.request import ARGUMENTS
from .error_bounds import expected_false
from .rows import both_classes, draw, path_on_rows, resolve, run, share, strata, whole, with_limit
from .showing import ShowingFrequencies

PAIRED = 0.5  # largest share of the rows of which two disjoint sets can be drawn


class StabilitySelection(ShowingFrequencies):
    """Result of `stability_selection`. Its rows are columns of X, or groups where the fit had them.

    Attributes
    ----------
    frequency : Series
        The share of the subsamples whose model of size `k` holds the feature, over all features.
    selected : list of str
        Names with frequency >= threshold, the most frequent first.
    by_size : DataFrame
        The same shares for every size 1..max_k (columns), of the features that were ever chosen
        (rows).
    subsets : DataFrame
        One row per distinct model of size k, the most frequent first: features (tuple of names),
        n_features, count, share.
    bounds : Series
        All bounds on the expected number of false choices (see `stability_selection`). NaN without
        complementary pairs, and where the path of a subsample ended before size k.
    k : int
        The size of the models compared.
    threshold, fraction : float
        The share from which a feature is selected, and the share of the rows in each subsample.
    bootstrap : bool
        Whether rows were drawn with replacement.
    n_subsamples : int
        Subsamples that finished.
    n_reached : int
        Subsamples whose path has a model of size k (in every slice). The others count with their
        last model.
    n_chosen : float
        The mean number chosen at size k, q of the bounds.
    n_competing : int
        The number p of the bounds.
    random_state : int or None
        The seed in use.
    status : str
        "complete: ..." or what stopped the run.
    supports : list of ndarray
        The chosen numbers of features (or groups) at size k, one array per subsample.
    """

    def __init__(
        self,
        names: Sequence[str],
        sets: Any,
        competing: Any,
        *,
        k: Any,
        threshold: float,
        fraction: float,
        bootstrap: bool,
        paired: bool,
        random_state: int | None,
        status: str,
        reached: Sequence[int] | None = None,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.fraction = fraction
        self.bootstrap = bootstrap
        self.random_state = random_state
        self.status = status
        self.n_subsamples, self.n_competing = len(sets), competing
        self.n_reached = len(sets) if reached is None else sum(size >= k for size in reached)
        self.supports = [one[k - 1] for one in sets]
        count = np.bincount(np.concatenate(self.supports), minlength=len(names))
        names = [str(name) for name in names]
        self.frequency = pd.Series(
            count / len(sets), index=pd.Index(names, name="feature"), name="frequency"
        )
        order = np.lexsort((np.arange(len(names)), -count))
        self.selected = [names[j] for j in order if count[j] >= threshold * len(sets) - 1e-9]
        ever = np.unique(np.concatenate([S for one in sets for S in one]))
        sizes = pd.Index(range(1, len(sets[0]) + 1), name="k")
        shares = [
            np.bincount(np.concatenate([one[size - 1] for one in sets]), minlength=len(names))[ever]
            / len(sets)
            for size in sizes
        ]
        self.by_size = pd.DataFrame(
            np.column_stack(shares),
            index=pd.Index([names[j] for j in ever], name="feature"),
            columns=sizes,
        )
        distinct = Counter(tuple(S.tolist()) for S in self.supports)
        rows = [
            (tuple(names[j] for j in S), len(S), m, m / len(sets))
            for S, m in sorted(distinct.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        self.subsets = pd.DataFrame(rows, columns=["features", "n_features", "count", "share"])
        self.n_chosen = float(np.mean([S.size for S in self.supports]))
        known = (
            expected_false(self.n_chosen, competing, threshold, len(sets) // 2)
            if paired and self.n_reached == len(sets)
            else dict.fromkeys(("worst_case", "unimodal", "r_concave"), math.nan)
        )
        self.bounds = pd.Series(known, name="expected false choices, at most")

    @property
    def expected_false(self) -> float:
        """The bound on the expected number of false choices, bounds["worst_case"].

        NaN without complementary pairs, and where a path ended before size k.
        """
        return float(self.bounds["worst_case"])

    @property
    def table(self) -> pd.DataFrame:
        """A DataFrame with one row per feature (or group) that a model of size k had.

        The most frequent come first: frequency, count (of subsamples), selected.
        """
        known = self.frequency[self.frequency > 0].sort_values(ascending=False, kind="stable")
        return pd.DataFrame(
            {
                "frequency": known,
                "count": (known * self.n_subsamples).round().astype(np.int64),
                "selected": known.index.isin(self.selected),
            }
        )

    def _bound(self):
        """The bound on false choices, as text."""
        if math.isfinite(self.expected_false):
            return f"at most {self.expected_false:.3g} false expected"
        if self.n_reached < self.n_subsamples:
            short = self.n_subsamples - self.n_reached
            return (
                f"no bound on false choices: in {short} of {self.n_subsamples} subsamples the path "
                f"ended before k = {self.k}"
            )
        return "no bound on false choices"

    def __repr__(self):
        bound = self._bound()
        found = f"{len(self.selected)} of {len(self.frequency)} chosen"
        often = self.frequency.nlargest(3)
        most = ", ".join(f"{name} {share:.0%}" for name, share in often.items())
        return (
            f"<l0path.StabilitySelection: {found} in {self.threshold:.0%} of {self.n_subsamples} "
            f"subsamples at k = {self.k}; most often {most} ({bound}); {self.status}>"
        )


@hands_on(*ARGUMENTS)
def stability_selection(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    k: int | None = None,
    n_subsamples: int = 100,
    fraction: float = 0.5,
    threshold: float = 0.6,
    bootstrap: bool = False,
    random_state: Seed = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
    **fit: Any,
) -> StabilitySelection:
    """Solve the path on random subsamples of the rows, and keep the features chosen in most of
    them.

    Subsamples come in pairs of disjoint sets of floor(fraction n) rows (within each class for
    classes). Every path is solved on its rows alone, scales and default grids included, to the same
    size k.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        As in `l0path.fit`. With groups= groups are counted.
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    k : int, optional
        The size of the models that are compared. None means the largest whose worst-case bound is
        at most one false choice, floor(sqrt((2 threshold - 1) p)), but no larger than the default
        max_k of `fit` on so many rows, and at least 1.
    n_subsamples : int, default 100
        The number of subsamples, even (pairs).
    fraction : float, default 0.5
        The share of the rows in each subsample. The bounds need at most 0.5.
    threshold : float, default 0.6
        The share of subsamples from which a feature is selected, in (0.5, 1].
    bootstrap : bool, default False
        Whether floor(fraction n) rows are drawn with replacement instead (fraction up to 1). These
        are the inclusion frequencies of the bootstrap: there are no bounds, and they tend to favor
        larger models.
    random_state : int, Generator, or None
        The seed. Subsample pair i is drawn by the i-th child of numpy's SeedSequence(seed). None
        draws a seed, kept in the result.
    n_jobs : int, optional
        The number of processes, of one thread each (see `cv_fit`). The result does not depend on
        it.
    time_limit : float, optional
        Seconds. At the limit, or at Ctrl-C, the pairs that finished are returned, and `status` says
        so. None means no limit.
    progress : bool, optional
        A bar on stderr that shows the pairs, as in `l0path.fit`. A call that takes long says first
        how many fits it makes and roughly how long, unless this is False.
    **fit : Any
        Arguments of `l0path.fit` (loss, lambda2, groups, sample_weight, offset, always_include,
        algorithm ...), except grid, lambda0 and others about costs. max_k is the largest size of
        `by_size` (default k). Weights and offset go with the rows; rows of weight 0 are not drawn.
        With several slices (lambda1, lambda2) a feature counts as chosen at size k if any slice
        chooses it. Features of always_include are in every model; they are not counted, and have
        frequency 0.

    Returns
    -------
    StabilitySelection
        Frequencies, the selected features, and the bounds.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above. The message names the argument, its value and the
        remedy.
    TimeoutError or KeyboardInterrupt
        If not one pair finished.

    Notes
    -----
    With p features that compete, q chosen on average at size k, and threshold tau, the expected
    number of false features in `selected` is at most

        bounds["worst_case"]   q^2 / ((2 tau - 1) p)                    MB Theorem 1, SS Theorem 1
        bounds["unimodal"]     smaller, if frequencies are unimodal     SS Theorem 2
        bounds["r_concave"]    smaller still, if they are r-concave     SS eq. (8)

    with r = -1/2 and -1/4. A feature is false if half of the rows choose it with probability at
    most q / p. Noise features are of that kind if they are exchangeable and no likelier to be
    chosen than if drawn at random (MB). A noise feature that stands in for a true one it is
    correlated with is not, and is no false choice by this definition.

    Nothing is promised about power, there is no p-value, and a frequency is no probability that a
    feature is true. The bounds hold for one k and one threshold fixed beforehand, and for rows
    drawn independently.

    References
    ----------
    - MB: Meinshausen & Buhlmann, JRSS B 72, 2010.
    - SS, complementary pairs: Shah & Samworth, JRSS B 75, 2013.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 30))
    >>> y = X[:, 2] - 2 * X[:, 7] + rng.standard_normal(120)
    >>> result = l0path.stability_selection(X, y, n_subsamples=40, random_state=1)
    >>> sorted(result.selected), result.k, round(result.expected_false, 2)
    (['x2', 'x7'], 2, 0.67)
    """
    began, seed = time.perf_counter(), draw_seed(random_state)
    deadline = None if time_limit is None else time.time() + time_limit
    threshold = share(threshold, "threshold", 0.5, 1.0, closed=True)
    fraction = share(fraction, "fraction", 0.0, 1.0, closed=bool(bootstrap))
    paired = not bootstrap and fraction <= PAIRED
    _check_count(n_subsamples, paired)
    asked, competing = resolve(X, y, with_limit(fit, time_limit))
    data, plan = asked.data, asked.plan
    if k is None:
        most = competing if plan.max_k is None else max(plan.max_k, 1)
        k = min(_default_k(data, competing, threshold, fraction), most)
    else:
        k = whole(k, "k", 1, competing)
    max_k = k if plan.max_k is None else plan.max_k
    if max_k < k:
        raise ValueError(f"max_k={max_k} is below k={k}; leave max_k out, or raise it")
    _check_rows(data, fraction, bootstrap)
    children = np.random.SeedSequence(seed).spawn(n_subsamples // 2 if paired else n_subsamples)
    asked = replace(asked, plan=replace(plan, max_k=max_k, random_state=seed))
    sampling = Sampling(fraction, bootstrap, paired, deadline)
    items = [(asked, child, sampling) for child in children]
    done = run(
        chosen_sets,
        items,
        n_jobs=n_jobs,
        progress=progress,
        name="subsamples",
        began=began,
        caller="stability_selection",
        max_k=max_k,
        fits=2 if paired else 1,
        remedy="a smaller max_k= or n_subsamples=, or n_jobs=-1,",
    )
    total, what = len(children), "pairs of subsamples" if paired else "subsamples"
    if not done.results:
        stop(done.end, "stability_selection", f"one of {total} {what}")
    warn_once([], done.warnings, total, what)
    pairs = [one for i in sorted(done.results) for one in done.results[i]]
    sets, reached = [one for one, _ in pairs], [size for _, size in pairs]
    finished = len(done.results) == total
    return StabilitySelection(
        data.units.labels,
        sets,
        competing,
        k=k,
        threshold=threshold,
        fraction=fraction,
        bootstrap=bool(bootstrap),
        paired=paired,
        random_state=seed,
        status=f"complete: {len(sets)} subsamples"
        if finished
        else f"{done.end.reason}; {len(sets)} of {n_subsamples} subsamples finished, the others "
        "are left out",
        reached=reached,
    )


class Sampling(NamedTuple):
    """The scheme by which rows are drawn, and its end."""

    fraction: float
    bootstrap: bool
    paired: bool
    deadline: float | None


def _check_count(n_subsamples, paired):
    whole(n_subsamples, "n_subsamples", 2)
    if paired and n_subsamples % 2:
        raise ValueError(
            f"n_subsamples={n_subsamples} must be even: subsamples are drawn in complementary "
            f"pairs; pass {n_subsamples + 1}"
        )


def _check_rows(data, fraction, bootstrap):
    """Refuse subsamples of fewer than two rows, and, for classes, of one class."""
    n = np.count_nonzero(data.weights)
    if fraction * n < 2:
        raise ValueError(
            f"fraction={fraction:g} leaves {int(fraction * n)} rows of {n} in a subsample; raise it"
        )
    if not bootstrap:  # that draws from each class by itself
        both_classes(data, fraction)


def _default_k(data, competing, threshold, fraction):
    """The largest size whose worst-case bound is at most one false choice, and that paths on a
    share of the rows have by default.
    """
    size = math.isqrt(int(1e-9 + (2.0 * threshold - 1.0) * competing))
    most = default_max_k(data.groups, data.design.p, fraction * np.count_nonzero(data.weights))
    return max(1, min(size, competing, most))


def chosen_sets(asked, child, sampling):
    """[([numbers of the columns (or groups) chosen at size 1, ..., max_k], largest size reached)]
    of a pair of disjoint subsamples, or of one subsample, drawn by a SeedSequence.
    """
    data, rng = asked.data, np.random.default_rng(child)
    if sampling.bootstrap:
        samples = [_bootstrap(data, sampling.fraction, rng)]
    else:
        samples = draw(data, sampling.fraction, rng, 2 if sampling.paired else 1)
    paths = (path_on_rows(asked, rows, sampling.deadline) for rows in samples)
    return [(by_size(path, asked.plan.max_k), reach(path)) for path in paths]


def _bootstrap(data, fraction, rng):
    """Rows drawn with replacement, from each class by itself."""
    drawn = [rng.choice(part, max(1, int(fraction * part.size + 1e-9))) for part in strata(data)]
    return np.sort(np.concatenate(drawn))


def reach(path):
    """The largest size that every slice of the path has."""
    largest = {}
    for s in path._solutions:
        largest[s.slice] = max(largest.get(s.slice, 0), s.k)
    return min(largest.values(), default=0)


def by_size(path, max_k):
    """Unforced columns (or groups) with a nonzero coefficient at each size 1..max_k, in any slice;
    a slice that ends early keeps its last model.
    """
    meta, out = path._meta, [np.empty(0, dtype=np.int64)] * max_k
    slices = {}
    for s in path._solutions:
        slices.setdefault(s.slice, {})[s.k] = meta.in_use(s)
    for have in slices.values():
        last = have[min(have)]
        for k in range(1, max_k + 1):
            last = have.get(k, last)
            out[k - 1] = np.union1d(out[k - 1], last)
    return out


def stop(end, what, unit):
    """Nothing to return: say why."""
    if end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"{what} was interrupted before {unit} finished")
    raise TimeoutError(
        f"time_limit was over before {unit} of {what} finished; raise time_limit, or lower max_k"
    )
