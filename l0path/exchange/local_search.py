"""Local search over supports: add, drop and swap with everything re-optimised, in sweeps over the
sizes, and kicks out of poor local optima.

A *mover* (`exact_mover`, `confirmed_mover`) takes a fit one size up or down and polishes it by
swaps until none improves.
Sources: Hazimeh & Mazumder (Oper. Res. 68(5), 2020), section 3 (partial swap inescapable minima,
    coefficients of the rest frozen); here the rest is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.status import End, FitStatus, Optimality
from ..errors import check_tol
from ..problem.losses import Squared


@dataclass(frozen=True, kw_only=True)
class LocalSearch:
    """Settings of algorithm="swap" and "CDPSI": coordinate descent plus swaps.

    Parameters
    ----------
    effort : str, default "default"
        "fast": one forward and one backward sweep over the sizes. "default": until nothing
        improves, with an overshoot beyond max_k and back, and for the squared loss a few
        perturbations (drop some columns, add the best, search again). "high": many perturbations
        and double swaps, up to 50 times the work.
    refit : bool, default True
        Whether the other coefficients are fitted again in each swap. False leaves them as they are,
        as CDPSI does.
    swap_size : int, default 1
        1; 2 for exchanges of two (the cheapest pairs); or m > 2 for exact exchanges of up to m
        columns among the 50 most promising (`exact_swaps`), which need lambda2 > 0 or a squared
        loss.
    n_best : int, optional
        Pairs refuted by a refit where the table of exchanges only ranks. None means 20, and up to
        500 where refits cost next to nothing.
    max_swaps : int, default 100
        The largest number of swaps of one search.
    tol : float, default 1e-8
        Exchanges that lower the objective by less than tol / 100, relative, are not taken.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_diabetes(expansion=True)
    >>> l0path.fit(data.X, data.y, algorithm=l0path.solvers.LocalSearch(effort="fast"), max_k=4).support(k=3)
    array([2, 3, 8])
    """

    effort: str = "default"
    refit: bool = True
    swap_size: int = 1
    n_best: int | None = None
    max_swaps: int = 100
    tol: float = 1e-8

    def __post_init__(self):
        if self.effort not in ("fast", "default", "high"):
            raise ValueError(
                f"effort={self.effort!r} is not known; choose 'fast', 'default' or 'high'"
            )
        if (
            isinstance(self.swap_size, bool)
            or not isinstance(self.swap_size, (int, np.integer))
            or self.swap_size < 1
        ):
            raise ValueError(
                f"swap_size={self.swap_size!r} must be a whole number >= 1: columns exchanged at a "
                "time"
            )
        check_tol(self.tol)
        if (self.n_best is not None and self.n_best < 1) or self.max_swaps < 1:
            raise ValueError(
                f"n_best={self.n_best!r} and max_swaps={self.max_swaps!r} must be at least 1"
            )

    def check(self, data: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError where exact exchanges would have no bounds."""
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
    """How many of the ranked exchanges of a support of size k a refit must refute: n_best, by
    default 20 or as many (up to 500) as cost about 2 million operations.
    """
    if settings.n_best is not None:
        return settings.n_best
    return int(np.clip(2e6 / (n * (k + 2.0) ** 2), 20, 500))


class Store:
    """The best fit of each size k (unforced columns); `offer` keeps a better one. `last` is the
    largest size worth having: max_k, or where the data are fitted perfectly or classes separated.
    """

    def __init__(self, null, n_forced, max_k, scale, tol=1e-8, perfect=None):
        self.fits = {0: null}
        self.n_forced, self.last, self.scale, self.tol = n_forced, max_k, scale, tol
        self.end, self.apart = "", None  # apart: the separated fit that ended the sizes
        self.compared = None  # key of a fit of size 1 that was compared with all others
        self.perfect = perfect or (lambda value, scale: value <= 1e-13 * scale)

    def tolerance(self, value):
        """What counts as an improvement of F at this value."""
        return flat(value, self.scale, self.tol)

    def size(self, fit):
        return fit.support.size - self.n_forced

    def key(self, fit):
        """What tells fits of a size apart."""
        return fit.support.tobytes()

    def optimality(self, k, checked):
        """`checked`, the class that an engine checked for its fit of size k, or "global" where all
        others of its size were compared with it.
        """
        known = k == 1 and self.compared is not None and self.key(self.fits[1]) == self.compared
        return Optimality.GLOBAL if known else checked

    def offer(self, fit):
        """Keep the fit if it is the best of its size; True if so."""
        k = self.size(fit)
        if k > self.last:
            return False
        held = self.fits.get(k)
        if held is not None and not fit.value < held.value - self.tolerance(held.value):
            return False
        self.fits[k] = fit
        if k and (FitStatus.SEPARATED in fit.flags or self.perfect(fit.value, self.scale)):
            self.finish(
                k, FitStatus.SEPARATED if FitStatus.SEPARATED in fit.flags else End.SATURATED
            )
        return True

    def finish(self, k, why):
        """No size beyond k is worth having."""
        if k < self.last or not self.end:
            self.last, self.end = k, why
            self.apart = self.fits[k] if why == FitStatus.SEPARATED else None
            for other in [j for j in self.fits if j > k]:
                del self.fits[other]


def sweep(store, mover, forward, done, poll, polish=True):
    """One pass over the sizes, up or down; True if any size improved. `done` holds the (size,
    support) pairs whose step was taken already.
    """
    improved = False
    sizes = range(0, store.last) if forward else range(store.last, 1, -1)
    for k in sizes:
        fit = store.fits.get(k)
        if fit is None or (forward and k >= store.last):
            continue
        key = (forward, store.key(fit))
        if key in done:
            continue
        poll()
        new = mover.forward(fit, polish) if forward else mover.backward(fit, polish)
        done.add(key)
        if new is None:
            if forward and k + 1 not in store.fits:
                store.finish(k, End.SATURATED)
                break
            continue
        improved |= store.offer(new)
    return improved


def search(store, mover, settings, done, poll):
    """Sweeps up and down the sizes until nothing improves (once each with effort "fast")."""
    while True:
        improved = sweep(store, mover, True, done, poll)
        improved |= sweep(store, mover, False, done, poll)
        if not improved or settings.effort == "fast":
            return


def beyond(max_k):
    """How far past max_k an overshoot goes."""
    return max_k + 20


def kick(store, mover, rng, rounds, poll, done, settings):
    """Escape: from the best fit of a size drop a few members, add the best ones instead, polish;
    sweeps spread what improves. Every visited size is offered.
    """
    for _ in range(rounds):
        improved = False
        for k in range(2, store.last + 1):
            fit = store.fits.get(k)
            if fit is None:
                continue
            poll()
            forced = np.isin(fit.support, mover.model.problem.forced)
            free = np.flatnonzero(~forced)
            count = int(min(free.size, 2 + rng.integers(max(1, min(k // 3, 6)))))
            free = free[
                np.argsort(np.abs(fit.b[free]), kind="stable")
            ]  # chance falls on ranks, not on column numbers: renumbering columns changes nothing
            cost = np.abs(fit.b[free]) * np.exp(
                0.7 * rng.standard_normal(free.size)
            )  # small coefficients go first, with luck
            fit = mover.drop_some(fit, free[np.argsort(cost, kind="stable")[:count]])
            for step in range(count):
                fit = mover.forward(fit, polish=step == count - 1)
                if fit is None:
                    break
                improved |= store.offer(fit)
        if improved:
            search(store, mover, settings, done, poll)


def double_swaps(store, mover, width, poll):
    """Exchanges of size two: each pair of the `width` cheapest members is dropped, the best two
    columns are added one after the other and polished. True if any size improved.
    """
    improved = False
    for k in range(2, store.last + 1):
        fit = store.fits.get(k)
        if fit is None:
            continue
        free = np.flatnonzero(~np.isin(fit.support, mover.model.problem.forced))
        cheap = free[np.argsort(np.abs(fit.b[free]), kind="stable")[:width]]
        for a in range(cheap.size):
            for c in range(a):
                poll()
                trial = mover.drop_some(fit, [cheap[a], cheap[c]])
                for step in range(2):
                    trial = mover.forward(trial, polish=step == 1) if trial is not None else None
                if trial is not None:
                    improved |= store.offer(trial)
    return improved
