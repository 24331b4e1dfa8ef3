"""Moves ranked by the table of `exchange` on the local quadratic and decided by refits: every loss,
lambda1, boxes.
"""

import numpy as np

from ...core.status import FitStatus
from ...problem.penalties import separable
from .. import table
from ..local_search import ON_THE_WAY, flat, pairs_tried
from ..ranking import Wanted, exchanged_supports, scanned
from ..trials import Exchanges
from .protocol import Reach, columns_by_size, most_columns

NO_GAIN = -1e-300  # below 0, so that additions that gain nothing are ranked too


def exchanged(support, out, into):
    """The sorted support without `out` and with `into` (-1: none)."""
    kept = support[support != out]
    if into < 0:
        return kept
    at = kept.searchsorted(into)
    return np.concatenate((kept[:at], (into,), kept[at:]))


def sides(pairs):
    """(out, into) of exchanges, pairs of columns: two arrays."""
    return np.ascontiguousarray(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)


class RefitNeighborhood:
    """Moves ranked by the local quadratic, decided by refits; pairs that failed are remembered for
    each support.
    """

    compiled = False
    remembers = True  # whether swaps that were refused are remembered: refits are dear

    def __init__(self, model, lambda1, lambda2, scale, settings):
        self.model = model
        self.lambda1 = float(lambda1)
        self.lambda2 = float(lambda2)
        self.scale = scale
        self.settings = settings
        # whether predicted changes, with the whole curvature of the fit, are so close to those of
        # refits that few of these decide; Cox's loss bends more on the way
        self.sharp = model.problem.loss.traits.response == "ordered"
        self.failed = {}  # support -> pairs (out, into) that a refit refused
        self.undecided = set()  # supports with an exchange whose refit did not converge
        # support a polish started from -> its end, the width of W it knew, the number of pairs it
        # tried and whether it was thorough
        self.polished = {}
        self.last_ranked = {}  # support, number of pairs -> predicted change of the last of them
        self.additions, self.removals = (
            {},
            {},
        )  # support -> width known, the first additions, the best of them; the best removal

    def refit(self, support, fit, target=np.inf):
        """Refit on a sorted support, starting from the coefficients of `fit`, unless these are far
        out because there is no finite optimum.
        """
        if FitStatus.SEPARATED in fit.flags:
            return self.model.refit(support, self.lambda1, self.lambda2, None, target)
        b = np.zeros((support.size, *fit.b.shape[1:]))
        place = np.searchsorted(support, fit.support)
        place[place == support.size] = 0
        same = support[place] == fit.support if support.size else np.zeros(fit.support.size, bool)
        b[place[same]] = fit.b[same]
        return self.model.refit(support, self.lambda1, self.lambda2, (b, fit.b0), target)

    def addition(self, fit, column, target):
        """The refit with one more column; None once `target` is out of reach."""
        return self.refit(exchanged(fit.support, -1, column), fit, target)

    def _tolerance(self, value):
        """The largest difference between values or changes that count as equal at a value of F."""
        return flat(value, self.scale, self.settings.tol)

    def add(self, fit, polish=True):
        """One size up: the best of the additions ranked first (three, more where refits are cheap),
        then swaps.
        """
        key, width = fit.key, self.model.width
        known, top, best = self.additions.get(key, (0, [], None))
        if known < width:
            most = self._additions_tried(fit)
            ranked = sorted(top + self._ranked_additions(fit, known, most))[:most]
            if ranked != top or best is None:
                # where curvatures are far apart the ranking takes columns for combinations
                into = [j for _, j in ranked] or self.model.independent_of(fit.support)[:most]
                top, best = ranked, self._lowest(fit, [(-1, int(j)) for j in into])
            self.additions[key] = (width, top, best)
        if best is not None and not np.isfinite(best.value):
            return None  # what is left is a combination of the support
        return self.swap(best) if polish and best is not None else best

    def _additions_tried(self, fit):
        """How many of the additions ranked first are refitted: three, more where that is cheap and
        they are ranked roughly.
        """
        rows = self.model.problem.refit_rows
        if self.sharp:
            return 3
        return max(3, pairs_tried(self.settings, rows, fit.support.size) // 4)

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on; gains
        are counted in steps that count as equal.
        """
        model, W = self.model, self.model.W[first:]
        change, column, _ = scanned(
            model,
            fit,
            model.quadratic(fit, self.lambda2, first),
            W,
            separable(0.0, self.lambda1, self.lambda2),
            Wanted(NO_GAIN, 0.0, most, swaps=False),
        )
        change = table.in_steps(change, self._tolerance(fit.value))
        return list(zip(change.tolist(), W[column].tolist(), strict=True))

    def drop(self, fit, polish=True):
        """One size down: the best of the three removals ranked first, then swaps."""
        key = fit.key
        if key not in self.removals:
            self.removals[key] = self._remove(fit)
        best = self.removals[key]
        return self.swap(best) if polish and best is not None else best

    def _remove(self, fit):
        """The best of the three removals ranked first; None when only forced columns are left."""
        if FitStatus.SEPARATED in fit.flags:
            return self._lowest(fit, [(j, -1) for j in self._removable(fit)])
        with np.errstate(over="ignore"):  # of close copies that cancel
            square = fit.b**2 if fit.b.ndim == 1 else (fit.b**2).sum(axis=1)
            cost = square / np.diagonal(self.model.inverse(fit, self.lambda2))
        cost[self.model.problem.locked(fit.support)] = np.inf
        cost = table.in_steps(cost, self._tolerance(fit.value))
        return self._lowest(
            fit,
            [
                (int(fit.support[i]), -1)
                for i in np.argsort(cost, kind="stable")[:3]
                if np.isfinite(cost[i])
            ],
        )

    def _removable(self, fit):
        """The unforced columns of a fit, as a list."""
        return fit.support[~self.model.problem.locked(fit.support)].tolist()

    def _lowest(self, fit, pairs):
        """The lowest fit after one of the exchanges `pairs` (out, into), -1 for none; None without
        pairs.
        """
        best, target, first = None, np.inf, 0
        while first < len(pairs):
            e, new = self._first_below(fit, pairs[first:], target)
            if new is None:
                break
            best, target, first = new, new.value - self._tolerance(new.value), first + e + 1
        return best

    def _first_below(self, fit, pairs, target, thorough=False):
        """(number, fit) of the first of the exchanges `pairs` (out, into), all of which change the
        size alike, whose refit lies below `target`; -1 and None where there is none. thorough:
        whether others must be refuted, not only be guessed to lie above it.
        """
        if fit.b.ndim > 1 or FitStatus.SEPARATED in fit.flags:
            for e, pair in enumerate(pairs):
                new = self.refit(exchanged(fit.support, *pair), fit, target)
                if new is not None and new.value < target:
                    return e, new
                self._refused(fit, new)
            return -1, None
        first, shrinkage = 0, (self.lambda1, self.lambda2)
        if len(pairs):
            out, into = sides(pairs)
            supports, starts = exchanged_supports(fit.support, fit.b, out, into)
        while first < len(pairs):
            rest = supports[first:], starts[first:]
            e, new = self.model.first_below(*rest, fit.b0, shrinkage, target)
            if new is None:
                break
            if new.value < target:
                return first + e, new
            self._refused(fit, new)
            first += e + 1
        return -1, None

    def _exchanges(self, fit, pairs):
        """The `Exchanges` of pairs (out, into) of columns, -1 for none."""
        i, j = sides(pairs)
        out = np.where(i >= 0, np.searchsorted(fit.support, i), -1)
        return Exchanges(out, np.where(j >= 0, self.model.where[j], -1))

    def _refused(self, fit, new):
        """A refit after an exchange of `fit` was not below its target, or gave no fit."""
        if new is not None and FitStatus.NOT_CONVERGED in new.flags:
            self.undecided.add(fit.key)

    def swap(self, fit, thorough=False):
        """Confirmed swaps until none of the first pairs improves: n_best of them if `thorough`,
        else ON_THE_WAY. A support polished before is tried with the columns that are new since.
        """
        most = pairs_tried(self.settings, self.model.problem.refit_rows, fit.support.size)
        keep, trail = most if thorough else min(ON_THE_WAY, most), []
        for _ in range(self.settings.max_swaps):
            key = fit.key
            end, width, depth = self.polished.get(key, (fit, 0, (0, False)))
            trail.append(key)
            if end.key != key:
                fit = end
                continue
            width = width if depth >= (keep, thorough) else 0
            better = None
            if width < self.model.width:
                better = self._improve(fit, width, keep, thorough)
            if better is None:
                break
            fit = better
        for key in trail:
            self.polished[key] = (fit, self.model.width, (keep, thorough))
        return fit

    def _improve(self, fit, first, keep, thorough):
        """The first of the `keep` first swaps with working columns from position `first` on that a
        refit confirms, or None. On the way (not `thorough`) a sharp prediction that a swap does not
        pay is believed.
        """
        if not fit.support.size:
            return None
        failed = self.failed.setdefault(fit.key, set())
        far = FitStatus.SEPARATED in fit.flags
        change, pairs = (self._swaps_in_two if far else self._ranked_swaps)(fit, first, keep)
        target, key = fit.value - self._tolerance(fit.value), fit.key
        # columns that came later must beat the first pairs of before
        last = self.last_ranked.get((key, keep), np.inf) if first else np.inf
        most = 0.0 if self.sharp and not thorough else np.inf
        swaps = pairs[change <= min(last, most)]
        if failed:
            swaps = swaps[[pair not in failed for pair in map(tuple, swaps.tolist())]]
        e, new = self._first_below(fit, swaps, target, thorough)
        if self.remembers:
            failed.update(map(tuple, swaps[: None if new is None else e].tolist()))
        if new is None and len(pairs) == keep:
            self.last_ranked[key, keep] = min(last, change[-1])
        elif new is None and thorough and not far:
            left = self._unranked(fit, first, pairs)[: keep - len(pairs)]
            new = self._first_below(fit, left, target, thorough)[1]
        return new

    def _unranked(self, fit, first, ranked):
        """The swaps (out, into) with working columns from position `first` on that count although
        the quadratic does not rank them: none.
        """
        return ranked[:0]

    def _swaps_in_two(self, fit, first, keep):
        """As `_ranked_swaps` of a fit without a finite optimum, whose quadratic does not know what
        the removal of a column costs that separates: that is refitted, and additions are ranked.
        """
        found = []
        for out in self._removable(fit):
            less = self.refit(exchanged(fit.support, out, -1), fit)
            if not np.isfinite(less.value):
                continue
            found += [
                (less.value - fit.value + change, out, into)
                for change, into in self._ranked_additions(less, first, keep)
                if into != out
            ]
        best = sorted(found)[:keep]
        return np.array([one[0] for one in best]), sides([one[1:] for one in best]).T

    def _ranked_swaps(self, fit, first, keep):
        """(changes, pairs (out, into)) of the `keep` first swaps with working columns from position
        `first` on, ascending: two arrays, (m,) and (m, 2).
        """
        model, W = self.model, self.model.W[first:]
        change, column, position = scanned(
            model,
            fit,
            model.quadratic(fit, self.lambda2, first),
            W,
            separable(0.0, self.lambda1, self.lambda2),
            Wanted(1e300, 1e300, keep),
        )
        return change, np.array([fit.support[position], W[column]]).T

    def removable(self, fit):
        """As `Neighborhood.removable`, by the sizes of coefficients."""
        return columns_by_size(fit, self.model.problem)

    def reach(self, last):
        """Half as many columns again as the last size."""
        most = int(0.9 * self.model.problem.n_eff) - 1
        return Reach(last // 2, most_columns(self.model, self.lambda2, most), True)

    def refined(self, fit):
        """The fit at full accuracy: refits are."""
        return fit

    def without(self, fit, units):
        """The fit without some of its columns."""
        return self.refit(np.setdiff1d(fit.support, units, assume_unique=True), fit)
