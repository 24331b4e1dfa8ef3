"""Local search over supports: add, drop and swap with everything re-optimized, in sweeps over the
sizes.

A neighborhood (`neighborhoods.protocol.Neighborhood`) takes a fit one size up or down and
polishes it by swaps until none improves.
Sources: Hazimeh & Mazumder (Oper. Res. 68(5), 2020), section 3 (partial swap inescapable minima,
    coefficients of the rest frozen); here the rest is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.arguments import is_whole, whole
from ..core.status import End, FitStatus, Optimality
from ..errors import check_tol
from ..problem.losses import Squared
from . import table_sweeps

# exchanges that a ranked search tries at a support on its way; all that were asked for are tried
# when a size is verified
ON_THE_WAY = 5


@dataclass(frozen=True, kw_only=True)
class LocalSearch:
    """Settings of algorithm="swap" and "CDPSI": coordinate descent plus swaps.

    Parameters
    ----------
    effort : str, default "default"
        "fast": one forward and one backward sweep over the sizes. "default": until nothing
        improves, with an oscillation beyond max_k and back, and for the squared loss a few
        perturbations (drop some features, add the best, search again). "high": many perturbations
        and double swaps, up to 50 times the work.
    refit : bool, default True
        Whether the other coefficients are fitted again in each swap. False leaves them as they are,
        as CDPSI does.
    swap_size : int, default 1
        1; 2 for exchanges of two (the cheapest pairs); or m > 2 for exact exchanges of up to m
        features among the 50 most promising (`exact_swaps`), which need lambda2 > 0 or a squared
        loss, and a loss that is a sum over rows.
    n_best : int, optional
        The number of exchanges that refits must refute where the table of exchanges only ranks
        them. None means 20, and up to 500 where refits cost next to nothing.
    max_swaps : int, default 100
        The largest number of swaps of one search.
    tol : float, default 1e-8
        Exchanges that lower the objective by less than tol / 100, relative, are not taken.
    max_iter : int, default 1000
        The largest number of Newton steps of one solve.

    Notes
    -----
    A subclass may name a `neighborhood` of its own, a class with the steps of
    `exchange.neighborhoods.protocol.Neighborhood` that is made with (model, lambda1, lambda2,
    scale, settings). It serves single features, and losses that are sums over rows.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_diabetes(expansion=True)
    >>> fast = l0path.solvers.LocalSearch(effort="fast")
    >>> l0path.fit(data.X, data.y, algorithm=fast, max_k=4).support(k=3)
    array([2, 3, 8])
    """

    neighborhood: ClassVar[type | None] = None
    effort: str = "default"
    refit: bool = True
    swap_size: int = 1
    n_best: int | None = None
    max_swaps: int = 100
    tol: float = 1e-8
    max_iter: int = 1000

    def __post_init__(self):
        if self.effort not in ("fast", "default", "high"):
            raise ValueError(
                f"effort={self.effort!r} is not known; choose 'fast', 'default' or 'high'"
            )
        if not is_whole(self.swap_size) or self.swap_size < 1:
            raise ValueError(
                f"swap_size={self.swap_size!r} must be a whole number >= 1: features exchanged at "
                "a time"
            )
        check_tol(self.tol)
        whole(self.max_iter, "max_iter", 1)
        if (self.n_best is not None and self.n_best < 1) or self.max_swaps < 1:
            raise ValueError(
                f"n_best={self.n_best!r} and max_swaps={self.max_swaps!r} must be at least 1"
            )

    def check(self, data: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError where exact exchanges would have no bounds."""
        if self.swap_size > 2 and data.loss.traits.coupled:
            raise ValueError(
                f"swap_size={self.swap_size} searches exactly, by bounds of single rows, which "
                "this loss does not have: use swap_size=2"
            )
        if self.swap_size > 2 and not lambda2 > 0 and not isinstance(data.loss, Squared):
            raise ValueError(
                f"swap_size={self.swap_size} searches exactly, which needs bounds: give lambda2 > "
                "0 (such as lambda2=1e-3), or use swap_size=2"
            )


def flat(value, scale, tol):
    """The change of F at `value` that counts as none: tol / 100 relative, but not below rounding of
    the null value `scale`.
    """
    return 0.01 * tol * max(abs(value), 1e-6 * scale)


def pairs_tried(settings, n, k):
    """Number of the ranked exchanges of a support of size k that a refit must refute: n_best, by
    default 20 or as many (up to 500) as cost about 2 million operations.
    """
    if settings.n_best is not None:
        return settings.n_best
    return int(min(max(2e6 / (n * (k + 2.0) ** 2), 20), 500))


class SolutionPool:
    """The best fit of each size k (unforced units: columns or groups); `update` takes a better one.
    `last` is the largest size that is searched: max_k, or where no objective can be lower: the data
    are fitted perfectly, or the classes separated completely.
    """

    def __init__(self, null, n_forced, max_k, scale, tol=1e-8, perfect=None):
        self.fits = {0: null}
        self.n_forced, self.last, self.scale, self.tol = n_forced, max_k, scale, tol
        self.end, self.apart = "", None  # apart: the separated fit that ended the sizes
        self.compared = None  # key of a fit of size 1 that was compared with all others
        self.perfect = perfect or (lambda value, scale: value <= 1e-13 * scale)

    def tolerance(self, value):
        """The least decrease of F from this value that counts as an improvement."""
        return flat(value, self.scale, self.tol)

    def size(self, fit):
        """Number of unforced units of a fit."""
        return fit.units.size - self.n_forced

    def optimality(self, k, checked):
        """`checked`, the class that an engine checked for its fit of size k, or "global" where all
        others of its size were compared with it.
        """
        known = k == 1 and self.compared is not None and self.fits[1].key == self.compared
        return Optimality.GLOBAL if known else checked

    def update(self, fit):
        """Keep the fit if it is the best of its size; True if so."""
        k = self.size(fit)
        if k > self.last:
            return False
        held = self.fits.get(k)
        if held is not None and not fit.value < held.value - self.tolerance(held.value):
            return False
        self.fits[k] = fit
        if k and self.perfect(fit.value, self.scale):
            self.finish(
                k, FitStatus.SEPARATED if FitStatus.SEPARATED in fit.flags else End.SATURATED
            )
        return True

    def finish(self, k, why):
        """End the sizes at k: no larger one is searched."""
        if k < self.last or not self.end:
            self.last, self.end = k, why
            self.apart = self.fits[k] if why == FitStatus.SEPARATED else None
            for other in [j for j in self.fits if j > k]:
                del self.fits[other]


def sweep(pool, neighborhood, up, done, poll):
    """One pass over the sizes, up or down; True if any size improved. `done` holds the (direction,
    support) pairs whose step was taken already.
    """
    if neighborhood.compiled:
        start = 0 if up else pool.last
        return neighborhood.make_move(pool, poll, table_sweeps.sweep(up), start)
    improved = False
    for k in range(0, pool.last) if up else range(pool.last, 1, -1):
        fit = pool.fits.get(k)
        if fit is None or (up and k >= pool.last):
            continue
        key = (up, fit.key)
        if key in done:
            continue
        poll()
        new = neighborhood.add(fit) if up else neighborhood.drop(fit)
        done.add(key)
        if new is None:
            if up and k + 1 not in pool.fits:
                pool.finish(k, End.SATURATED)
                break
            continue
        improved |= pool.update(new)
    return improved


def search(pool, neighborhood, done, poll):
    """Sweeps up and down the sizes until nothing improves (once each with effort "fast"). `done` is
    a set that is filled.
    """
    while True:
        improved = sweep(pool, neighborhood, True, done, poll)
        improved |= sweep(pool, neighborhood, False, done, poll)
        if not improved or neighborhood.settings.effort == "fast":
            return
