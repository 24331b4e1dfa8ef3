"""Local search over supports: add, drop and swap with everything re-optimised, in sweeps over the sizes, and kicks out of poor local optima.

A *mover* takes a fit one size up or down and polishes it by swaps until none improves. `ExactMover` (squared loss, no lambda1, no box) decides by the exact table of
`exchange`; `ConfirmedMover` (all else) ranks by the same table on the local quadratic and lets true refits of the `n_best` first pairs decide.
Sources: Hazimeh & Mazumder (Oper. Res. 68(5), 2020), section 3 (partial swap inescapable minima, coefficients of the rest frozen); here the rest is refitted.
"""
from dataclasses import dataclass

import numpy as np

from ..problem import Fit
from . import exchange


@dataclass(frozen=True, kw_only=True)
class LocalSearch:
    """Coordinate descent plus swaps. refit: the other coefficients are re-optimised in each swap (False: frozen, as CDPSI); swap_size 1 or 2; n_best: pairs
    refuted by a refit where the table only ranks (None: 20, and up to 500 where refits cost next to nothing).

    effort: "fast" one forward and one backward sweep over the sizes; "default" until nothing improves, for the squared loss with an overshoot beyond max_k and a few kicks (drop some, add the best,
    polish); "high" adds many kicks and double swaps, up to 50 times the work.
    tol: moves that lower F by less than tol / 100, relative, are not taken.
    """

    effort: str = "default"
    refit: bool = True
    swap_size: int = 1
    n_best: int | None = None
    max_swaps: int = 100
    tol: float = 1e-8

    def __post_init__(self):
        if self.effort not in ("fast", "default", "high"):
            raise ValueError(f"effort={self.effort!r} is not known; choose 'fast', 'default' or 'high'")
        if self.swap_size not in (1, 2):
            raise ValueError(f"swap_size={self.swap_size!r} must be 1 or 2")
        if (self.n_best is not None and self.n_best < 1) or self.max_swaps < 1:
            raise ValueError(f"n_best={self.n_best!r} and max_swaps={self.max_swaps!r} must be at least 1")


def flat(value, scale, tol):
    """The change of F at `value` that counts as none: tol / 100 relative, but not below rounding of the null value `scale`."""
    return 0.01 * tol * max(abs(value), 1e-6 * scale)


def pairs_tried(settings, n, k):
    """How many of the ranked exchanges of a support of size k a refit must refute: n_best, by default 20 or as many (up to 500) as cost about 2 million operations."""
    if settings.n_best is not None:
        return settings.n_best
    return int(np.clip(2e6 / (n * (k + 2.0) ** 2), 20, 500))


class Store:
    """The best fit of each size k (unforced columns); `offer` keeps a better one. `last` is the largest size worth having: max_k, or where the data are fitted perfectly or classes separated."""

    def __init__(self, null, n_forced, max_k, scale, tol=1e-8, perfect=None):
        self.fits = {0: null}
        self.n_forced, self.last, self.scale, self.tol = n_forced, max_k, scale, tol
        self.end = ""
        self.perfect = perfect or (lambda value, scale: value <= 1e-13 * scale)

    def tolerance(self, value):
        """What counts as an improvement of F at this value."""
        return flat(value, self.scale, self.tol)

    def size(self, fit):
        return fit.support.size - self.n_forced

    def offer(self, fit):
        """Keep the fit if it is the best of its size; True if so."""
        k = self.size(fit)
        if k > self.last:
            return False
        held = self.fits.get(k)
        if held is not None and not fit.value < held.value - self.tolerance(held.value):
            return False
        self.fits[k] = fit
        if k and ("separated" in fit.flags or self.perfect(fit.value, self.scale)):
            self.finish(k, "separated" if "separated" in fit.flags else "saturated")
        return True

    def finish(self, k, why):
        """No size beyond k is worth having."""
        if k < self.last or not self.end:
            self.last, self.end = k, why
            for other in [j for j in self.fits if j > k]:
                del self.fits[other]


class ExactMover:
    """Moves on the Gram matrix; one `exchange.State` follows the sweep by rank-one changes."""

    def __init__(self, model, lambda2, max_k, scale, settings):
        self.model, self.lambda2, self.scale, self.settings = model, float(lambda2), scale, settings
        self.width, self.capacity = -1, max_k + beyond(max_k) + model.problem.forced.size + 1
        self.at = None  # support (bytes) that the state holds

    def _load(self, fit):
        """Make the state hold the fit's support."""
        model = self.model
        if self.width != model.width:
            self.width = model.width
            self.state = exchange.new_state(self.width, self.capacity)
            self.locked = np.isin(model.W, model.problem.forced)
            usable = model.problem.usable[model.W]
            self.price = np.where(usable, 0.0, 1e300)
            self.at = None
        key = fit.support.tobytes()
        if self.at != key:
            k = fit.support.size
            self.state.S[:k] = model.where[fit.support]
            exchange.build(self.state, model.G, model.q, self.lambda2, self.width, k)
            self.at = key
        return fit.support.size

    def _fit(self, k):
        """The state as a Fit."""
        model, state = self.model, self.state
        support = model.W[state.S[:k]]
        order = np.argsort(support)
        support = support[order]
        self.at = support.tobytes()
        value = model.half_square - exchange.fitted_part(state, model.q, k)
        return Fit(support, state.b[:k][order], model.problem.shift, float(value))

    def _polish(self, k):
        tolerance = flat(self.model.half_square - exchange.fitted_part(self.state, self.model.q, k), self.scale, self.settings.tol)
        exchange.polish(self.state, self.model.G, self.model.q, self.lambda2, self.width, k, self.locked, self.price, tolerance, self.settings.max_swaps)
        self.model.tables += 1
        return self._fit(k)

    def forward(self, fit, polish=True):
        """One size up: the best addition, then swaps. None when no column is independent of the support."""
        k = self._load(fit)
        j, _ = exchange.best_addition(self.state, self.model.G, self.width, self.lambda2, self.price)
        if j < 0:
            return None
        self.at = None
        exchange.add(self.state, self.model.G, self.width, k, j)
        return self._polish(k + 1) if polish else self._fit(k + 1)

    def backward(self, fit, polish=True):
        """One size down: the cheapest removal, then swaps. None when only forced columns are left."""
        k = self._load(fit)
        i, _ = exchange.cheapest_drop(self.state, k, self.locked, self.price)
        if i < 0:
            return None
        self.at = None
        exchange.drop(self.state, self.width, k, i)
        return self._polish(k - 1) if polish else self._fit(k - 1)

    def polish(self, fit):
        """Swaps until none improves."""
        k = self._load(fit)
        self.at = None
        return self._polish(k)

    def drop_some(self, fit, positions):
        """The fit of the support without some of its members (positions in the sorted support)."""
        return self.model.refit(np.delete(fit.support, positions), 0.0, self.lambda2)


GLANCE = 5  # pairs that a ranked search tries at a support on its way; all n_best are tried when a size is verified


class ConfirmedMover:
    """Moves ranked by the local quadratic, decided by refits; pairs that failed are remembered for each support."""

    def __init__(self, model, lambda1, lambda2, scale, settings):
        self.model, self.lambda1, self.lambda2, self.scale, self.settings = model, float(lambda1), float(lambda2), scale, settings
        self.failed = {}  # support -> pairs (out, into) that a refit refused
        self.polished = {}  # support a polish started from -> its end, the width of W it knew, the number of pairs it tried
        self.last_ranked = {}  # support, number of pairs -> change foretold for the last of them
        self.additions, self.removals = {}, {}  # support -> width known, the first additions, the best of them; the best removal

    def _refit(self, support, fit, target=np.inf):
        """Refit on a sorted support, starting from the coefficients of `fit`."""
        b = np.zeros(support.size)
        place = np.searchsorted(support, fit.support)
        place[place == support.size] = 0
        same = support[place] == fit.support if support.size else np.zeros(fit.support.size, bool)
        b[place[same]] = fit.b[same]
        start = b if self.model.problem.quadratic else (b, fit.b0)
        return self.model.refit(support, self.lambda1, self.lambda2, start, target)

    def _tolerance(self, value):
        return flat(value, self.scale, self.settings.tol)

    def forward(self, fit, polish=True):
        """One size up: the best of the additions ranked first (three, more where refits are cheap), then swaps."""
        key, width = fit.support.tobytes(), self.model.width
        known, top, best = self.additions.get(key, (0, [], None))
        if known < width:
            most = max(3, pairs_tried(self.settings, self.model.problem.n_eff, fit.support.size) // 4)
            ranked = sorted(top + self._ranked_additions(fit, known, most))[:most]
            if ranked != top or best is None:
                top, best = ranked, None
                for _, j in top:
                    new = self._refit(np.sort(np.append(fit.support, j)), fit, np.inf if best is None else best.value)
                    if new is not None and (best is None or new.value < best.value):
                        best = new
            self.additions[key] = (width, top, best)
        return self.polish(best) if polish and best is not None else best

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on."""
        q = self.model.quadratic(fit, self.lambda2, first)
        self.model.tables += 1
        W, A = self.model.W[first:], q.a + 2.0 * self.lambda2
        s = A - np.einsum("ij,ij->j", q.rows, q.B @ q.rows)
        ok = (s > exchange.COLLINEAR * A) & (A > 0) & self.model.problem.usable[W] & ~np.isin(W, fit.support)
        gain = np.maximum(np.abs(q.c[ok]) - self.lambda1, 0.0) ** 2 / (2.0 * s[ok])
        W = W[ok]
        best = np.argpartition(-gain, most)[:most] if W.size > most else range(W.size)
        return [(-float(gain[j]), int(W[j])) for j in best]

    def backward(self, fit, polish=True):
        """One size down: the best of the three removals ranked first, then swaps."""
        key = fit.support.tobytes()
        if key not in self.removals:
            self.removals[key] = self._remove(fit)
        best = self.removals[key]
        return self.polish(best) if polish and best is not None else best

    def _remove(self, fit):
        """The best of the three removals ranked first; None when only forced columns are left."""
        forced, best = np.isin(fit.support, self.model.problem.forced), None
        if forced.all():
            return None
        cost = np.where(forced, np.inf, fit.b**2 / np.diagonal(self.model.inverse(fit, self.lambda2)))
        for i in np.argsort(cost, kind="stable")[:3]:
            if not np.isfinite(cost[i]):
                break
            new = self._refit(np.delete(fit.support, i), fit, np.inf if best is None else best.value)
            if new is not None and (best is None or new.value < best.value):
                best = new
        return best

    def polish(self, fit, thorough=False):
        """Confirmed swaps until none of the first pairs improves: n_best of them if `thorough`, GLANCE on the way. A support polished before is tried with the columns that are new since."""
        most = pairs_tried(self.settings, self.model.problem.n_eff, fit.support.size)
        keep, trail = most if thorough else min(GLANCE, most), []
        for _ in range(self.settings.max_swaps):
            key = fit.support.tobytes()
            end, width, depth = self.polished.get(key, (fit, 0, 0))
            trail.append(key)
            if end.support.tobytes() != key:
                fit = end
                continue
            width = width if depth >= keep else 0
            better = self._improve(fit, width, keep) if width < self.model.width else None
            if better is None:
                break
            fit = better
        for key in trail:
            self.polished[key] = (fit, self.model.width, keep)
        return fit

    def _improve(self, fit, first, keep):
        """The first of the `keep` first swaps with working columns from position `first` on that a refit confirms, or None."""
        if "separated" in fit.flags or not fit.support.size:
            return None
        failed = self.failed.setdefault(fit.support.tobytes(), set())
        ranked = self.model.scan(self.model.quadratic(fit, self.lambda2, first), fit, lambda1=self.lambda1, lambda2=self.lambda2, ceiling=1e300, keep=keep, columns=self.model.W[first:])
        target, key = fit.value - self._tolerance(fit.value), fit.support.tobytes()
        last = self.last_ranked.get((key, keep), np.inf) if first else np.inf  # columns that came later must beat the first pairs of before
        for candidate in ranked:
            pair = (candidate.out, candidate.into)
            if candidate.out < 0 or pair in failed or candidate.change > last:
                continue
            support = np.sort(np.append(fit.support[fit.support != candidate.out], candidate.into))
            new = self._refit(support, fit, target)
            if new is not None and new.value < target:
                return new
            failed.add(pair)
        if len(ranked) == keep:
            self.last_ranked[key, keep] = min(last, ranked[-1].change)
        return None

    def drop_some(self, fit, positions):
        """The fit of the support without some of its members."""
        return self._refit(np.delete(fit.support, positions), fit)


def sweep(store, mover, forward, done, poll, polish=True):
    """One pass over the sizes, up or down; True if any size improved. `done` holds the (size, support) pairs whose step was taken already."""
    improved = False
    sizes = range(0, store.last) if forward else range(store.last, 1, -1)
    for k in sizes:
        fit = store.fits.get(k)
        if fit is None or (forward and k >= store.last):
            continue
        key = (forward, fit.support.tobytes())
        if key in done:
            continue
        poll()
        new = mover.forward(fit, polish) if forward else mover.backward(fit, polish)
        done.add(key)
        if new is None:
            if forward and k + 1 not in store.fits:
                store.finish(k, "saturated")
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


def overshoot(store, mover, poll):
    """Add columns far beyond the last size, then remove the cheapest down to it: blocks of columns that only pay together (collinear ones) come in whole and stay. True if any size improved."""
    fit, improved = store.fits.get(store.last), False
    if fit is None or store.end:
        return False
    top = min(store.last + beyond(store.last), mover.model.width - store.n_forced, int(0.9 * mover.model.problem.n_eff) - store.n_forced - 1)
    while store.size(fit) < top:
        poll()
        new = mover.forward(fit, polish=False)
        if new is None:
            break
        fit = new
    while store.size(fit) > 1:
        poll()
        fit = mover.backward(fit, polish=store.size(fit) <= store.last + 1)
        if store.size(fit) <= store.last:
            improved |= store.offer(fit)
    return improved


def kick(store, mover, rng, rounds, poll, done, settings):
    """Escape: from the best fit of a size drop a few members, add the best ones instead, polish; sweeps spread what improves. Every visited size is offered."""
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
            free = free[np.argsort(np.abs(fit.b[free]), kind="stable")]  # chance falls on ranks, not on column numbers: renumbering columns changes nothing
            cost = np.abs(fit.b[free]) * np.exp(0.7 * rng.standard_normal(free.size))  # small coefficients go first, with luck
            fit = mover.drop_some(fit, free[np.argsort(cost, kind="stable")[:count]])
            for step in range(count):
                fit = mover.forward(fit, polish=step == count - 1)
                if fit is None:
                    break
                improved |= store.offer(fit)
        if improved:
            search(store, mover, settings, done, poll)


def double_swaps(store, mover, width, poll):
    """Exchanges of size two: each pair of the `width` cheapest members is dropped, the best two columns are added one after the other and polished. True if any size improved."""
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
