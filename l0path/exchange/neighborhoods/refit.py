"""Moves ranked by the table of `exchange` on the local quadratic and decided by refits, or by
trials that leave few of them (`decisions`): every loss, lambda1, boxes.
"""

from typing import NamedTuple

import numpy as np

from ...core.status import FitStatus
from ...problem.penalties import separable
from ...problem.problem import Fit
from .. import table
from ..decisions import Aim, by_chord_steps, by_refits, by_thresholds, unranked_swaps
from ..local_search import ON_THE_WAY, flat, pairs_tried
from ..ranking import Wanted, combinations_count, exchanged_supports, scanned
from ..trials import Exchanges, predict_exchanges
from .protocol import Reach, columns_by_size, most_columns

NO_GAIN = -1e-300  # below 0, so that additions that gain nothing are ranked too
HELD_NUMBERS = 1 << 20  # numbers of supports and fits that are held
REMOVALS = 3  # of those ranked first are refitted
PRESELECTED = 3  # times as many exchanges as are wanted are ranked by the Hessian of a fit


def exchanged(support, out, into):
    """The sorted support without `out` and with `into` (-1: none)."""
    kept = support[support != out]
    if into < 0:
        return kept
    at = kept.searchsorted(into)
    return np.concatenate((kept[:at], (into,), kept[at:]))


class Known(NamedTuple):
    """What is known of a support."""

    least: float  # F there is at least that
    fit: Fit | None  # None where refits ended before, or bounds refuted it

    def open_below(self, target):
        """Whether its fit is below a target, or may be, since it has not converged."""
        return self.fit.value < target or FitStatus.NOT_CONVERGED in self.fit.flags


class RefitNeighborhood:
    """Moves ranked by the local quadratic, decided as `decide` of `decisions` says; what a refit or
    a bound said of a support is remembered, for sweeps and swaps come to the same ones again.
    """

    compiled = False

    def __init__(self, model, lambda1, lambda2, scale, settings, decide=by_refits):
        self.model, self.decide = model, decide
        self.lambda1 = float(lambda1)
        self.lambda2 = float(lambda2)
        self.scale = scale
        self.settings = settings
        self.guesses = decide is by_chord_steps  # which may refute exchanges on the way
        # whether exchanges are predicted closely, those with columns outside W too
        self.foretells = decide is by_thresholds
        self.exact = {}  # support -> its fit by Newton's method
        self.known, self.held = {}, 0  # support -> what is `Known`; about how many numbers that is
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
        """Refit on a sorted support; a fit that is known is returned. It starts from the
        coefficients of `fit`. Where these are far out, because there is no finite optimum, it does
        so to refute a target only.
        """
        known = self.known.get(support.tobytes())
        if known is not None and (known.fit is not None or known.least >= target):
            return known.fit
        new = self._refit(support, fit, target)
        self._note([support.tobytes()], new, target)
        return new

    def _refit(self, support, fit, target):
        """`refit` anew."""
        if FitStatus.SEPARATED in fit.flags and target == np.inf:
            return self.model.refit(support, self.lambda1, self.lambda2, None, target)
        b = np.zeros((support.size, *fit.b.shape[1:]))
        place = np.searchsorted(support, fit.support)
        place[place == support.size] = 0
        same = support[place] == fit.support if support.size else np.zeros(fit.support.size, bool)
        b[place[same]] = fit.b[same]
        return self.model.refit(support, self.lambda1, self.lambda2, (b, fit.b0), target)

    def addition(self, fit, column, target):
        """The refit with one more column; None once `target` is out of reach."""
        return self._first_below(fit, [(-1, column)], target, True)

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
        if self.model.sharp:
            return 3
        return max(3, pairs_tried(self.settings, rows, fit.support.size) // 4)

    def _ranked_additions(self, fit, first, most):
        """The `most` best (-gain, column) among the working columns from position `first` on; gains
        are counted in steps that count as equal.
        """
        change, _, into = self._ranked(fit, first, Wanted(NO_GAIN, 0.0, most, swaps=False))
        change = table.in_steps(change, self._tolerance(fit.value))
        return list(zip(change.tolist(), self.model.W[into].tolist(), strict=True))

    def _ranked(self, fit, first, wanted):
        """(changes, positions in the support, positions in W) of the exchanges that are `wanted`
        with working columns from position `first` on, ascending. Where the quadratic is that of
        the mean curvature, those that it ranks first are ranked by the curvatures of the fit.
        """
        model, shrinkage = self.model, separable(0.0, self.lambda1, self.lambda2)
        again = model.rough and model.near is None and FitStatus.SEPARATED not in fit.flags
        most = wanted._replace(count=PRESELECTED * wanted.count) if again else wanted
        change, column, out = scanned(
            model,
            fit,
            model.quadratic(fit, self.lambda2, first),
            model.W[first:],
            shrinkage,
            most,
        )
        into = column + first
        predicted = self._predicted(fit, Exchanges(out, into)) if again else None
        if predicted is not None:
            if combinations_count(model, shrinkage):  # of which a Hessian says nothing
                predicted = np.where(predicted < np.inf, predicted, change)
            best = np.argsort(predicted, kind="stable")
            best = best[predicted[best] < np.inf]
            change, out, into = predicted[best], out[best], into[best]
        return change[: wanted.count], out[: wanted.count], into[: wanted.count]

    def _predicted(self, fit, exchanges):
        """What the curvatures of a fit predict for `Exchanges`; None where they are not clear."""
        local = self.model.local_table(fit, self.lambda2, exchanges.into)
        if local is None:
            return None
        change = np.empty(exchanges.out.size)
        predict_exchanges(local, fit.b.shape[1], exchanges, change)
        return change

    def drop(self, fit, polish=True):
        """One size down: the best of the three removals ranked first, then swaps."""
        key = fit.key
        if key not in self.removals:
            self.removals[key] = self._remove(fit)
        best = self.removals[key]
        return self.swap(best) if polish and best is not None else best

    def _remove(self, fit):
        """The best of the three removals ranked first; None when only forced columns are left."""
        return self._lowest(fit, [(j, -1) for j in self._cheapest(fit, REMOVALS)])

    def _cheapest(self, fit, most):
        """The unforced columns of a fit, as a list, of the `most` removals ranked first. Where
        there is no finite optimum, with all that move along directions without one: what the
        removal of these costs, only a refit tells.
        """
        moving = np.zeros(fit.support.size, dtype=bool)
        if FitStatus.SEPARATED in fit.flags:
            moving = np.isin(fit.support, self.model.directions.moving(fit.support))
            if not moving.any():  # each of several responses has directions of its own
                moving[:] = True
        locked = self.model.problem.locked(fit.support)
        if (moving | locked).all():
            return fit.support[~locked].tolist()
        members, cost = np.arange(fit.support.size), None
        if self.model.rough and members.size and not moving.any():
            cost = self._predicted(fit, Exchanges(members, np.full(members.size, -1)))
        if cost is None:
            with np.errstate(over="ignore"):  # of close copies that cancel
                square = self.model.in_units(fit) ** 2
                square = square if square.ndim == 1 else square.sum(axis=1)
                cost = square / np.diagonal(self.model.inverse(fit, self.lambda2))
        cost[locked | moving] = np.inf
        cost = table.in_steps(cost, self._tolerance(fit.value))
        best = np.argsort(cost, kind="stable")[:most]
        best = np.append(best[np.isfinite(cost[best])], np.flatnonzero(moving & ~locked))
        return fit.support[best].tolist()

    def _lowest(self, fit, pairs):
        """The lowest fit after one of the exchanges `pairs` (out, into), -1 for none; None without
        pairs.
        """
        best, aim = None, Aim(np.inf, tie=self._tolerance(fit.value))
        found = self._open(fit, pairs, aim)
        for _round in range(2 if self.guesses else 1):
            for new in found:
                if new is not None and new.value < aim.target:
                    best, aim.target = new, new.value - self._tolerance(new.value)
                else:
                    self._refused(fit, new)
            if best is not None:
                break
            # trials leave out what their quadratic takes for combinations, all of these here
            found = (self.refit(exchanged(fit.support, *pair), fit) for pair in pairs)
        return best

    def _open(self, fit, pairs, aim):
        """The fits after those of the exchanges `pairs` (out, into), all of which change the size
        alike, that may reach an `Aim`, see `decisions`; what is known of supports is not asked.
        """
        if not len(pairs):
            return
        pairs, shrinkage = np.asarray(pairs, dtype=np.int64).T.copy(), (self.lambda1, self.lambda2)
        if self.guesses and aim.thorough:
            # long lists, most of which bounds refute in no more time than a look at each takes
            for _, new in self.decide(self.model, fit, pairs, shrinkage, aim):
                yield new
            return
        supports, _ = exchanged_supports(fit.support, fit.b, *pairs)
        whole, width = supports.tobytes(), 8 * supports.shape[1]
        keys = [whole[e * width : (e + 1) * width] for e in range(len(supports))]
        known, met = list(map(self.known.get, keys)), []
        if known.count(None) < len(keys):
            pairs, keys, met = self._unknown(pairs, keys, known, aim)
        if aim.tie is not None:
            yield from met
        first, proven = 0, not self.guesses
        for e, new in self.decide(self.model, fit, pairs, shrinkage, aim):
            self._note(keys[first if proven else e : e + 1], new, aim.target)
            yield new
            first = e + 1
        self._note(keys[first:] if proven else (), None, aim.target)
        if aim.tie is None:
            yield from met

    def _unknown(self, pairs, keys, known, aim):
        """(pairs, keys) of the exchanges of which more than what is `Known` must be asked, and the
        fits known of others that may reach an `Aim`; those of the exchanges before the first of
        these where it is to be the first one.
        """
        left, met, target = [], [], aim.target
        if aim.tie is not None:  # the lowest of them is known already
            lowest = min(one.fit.value if one and one.fit else np.inf for one in known)
            target = min(target, lowest - aim.tie)
        for e, one in enumerate(known):
            if one is None or (one.fit is None and one.least < target):
                left.append(e)
            elif one.fit is not None and one.open_below(aim.target):
                met.append(one.fit)
                if aim.tie is None:
                    break
        return np.ascontiguousarray(pairs[:, left]), [keys[e] for e in left], met

    def _note(self, keys, fit, target):
        """Note that supports do not reach a target, but for the last one if that has a fit."""
        if not keys:
            return
        self.known.update(dict.fromkeys(keys, Known(target, None)))
        self.held += len(keys) * len(keys[0]) // 8
        if fit is not None:
            self.known[keys[-1]] = Known(fit.value, fit)
            self.held += fit.b.size
        if self.held > HELD_NUMBERS:
            self.known, self.held = {}, 0

    def _first_below(self, fit, pairs, target, thorough=False):
        """The fit after the first of the exchanges `pairs` (out, into), all of which change the
        size alike, whose refit lies below `target`, None where there is none. thorough: whether
        others must be refuted, not only be guessed to lie above it.
        """
        for new in self._open(fit, pairs, Aim(target, thorough)):
            if new is not None and new.value < target:
                return new
            self._refused(fit, new)
        return None

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
            if width < self.model.width and not self._left_alone(fit, thorough):
                better = self._improve(fit, width, keep, thorough)
            if better is None:
                break
            fit = better
        for key in trail:
            self.polished[key] = (fit, self.model.width, (keep, thorough))
        return fit

    def _left_alone(self, fit, thorough):
        """Whether no swap is tried at a fit, since nothing is below a loss that is as low as it can
        be. Where its size is verified, swaps show how many supports separate the classes; a single
        column is compared with all others there instead.
        """
        if not self.model.problem.perfect(fit.value, self.scale):
            return False
        return FitStatus.SEPARATED not in fit.flags or not (thorough or fit.support.size == 1)

    def _improve(self, fit, first, keep, thorough):
        """The first of the `keep` first swaps with working columns from position `first` on that a
        refit confirms, or None. On the way (not `thorough`) a sharp prediction that a swap does not
        pay is believed.
        """
        if not fit.support.size:
            return None
        far = FitStatus.SEPARATED in fit.flags
        change, pairs = (self._swaps_in_two if far else self._ranked_swaps)(fit, first, keep)
        target, key = fit.value - self._tolerance(fit.value), fit.key
        # columns that came later must beat the first pairs of before
        last = self.last_ranked.get((key, keep), np.inf) if first else np.inf
        most = 0.0 if self.model.sharp and not thorough else np.inf
        swaps = pairs[change <= min(last, most)]
        new = self._first_below(fit, swaps, target, thorough)
        if new is None and len(pairs) == keep:
            self.last_ranked[key, keep] = min(last, change[-1])
        elif new is None and thorough and not far:
            left = unranked_swaps(self.model, fit, first, pairs)[: keep - len(pairs)]
            new = self._first_below(fit, left, target, thorough)
        return new

    def _swaps_in_two(self, fit, first, keep):
        """As `_ranked_swaps` of a fit without a finite optimum, whose quadratic does not know what
        the removal of a column costs that separates: those removals and the cheapest of the others
        are refitted, and additions ranked. Of the removals the keep / 2 cheapest so far are the
        bar: one that costs more than all of these is left out.
        """
        found, most, values = [], max(keep // 2, 1), []
        for out in self._cheapest(fit, most):  # dearer ones hardly lead to the best
            target = sorted(values)[most - 1] if len(values) >= most else np.inf
            less = self.refit(exchanged(fit.support, out, -1), fit, target)
            if less is None or not np.isfinite(less.value):
                continue
            values.append(less.value)
            found += [
                (less.value - fit.value + change, out, into)
                for change, into in self._ranked_additions(less, first, keep)
                if into != out
            ]
        best = sorted(found)[:keep]
        return np.array([one[0] for one in best]), np.array([one[1:] for one in best]).reshape(
            -1, 2
        )

    def _ranked_swaps(self, fit, first, keep):
        """(changes, pairs (out, into)) of the `keep` first swaps with working columns from position
        `first` on, ascending: two arrays, (m,) and (m, 2).
        """
        change, out, into = self._ranked(fit, first, Wanted(1e300, 1e300, keep))
        return change, np.array([fit.support[out], self.model.W[into]]).T

    def swap_among(self, fit, candidates):
        """The fit after the first of some swaps that a refit confirms, which is polished on the
        way, its column now in W; the fit itself where all are refuted. A column need not be in W
        where the neighborhood `foretells`.
        """
        swaps = np.array([candidates.out, candidates.into]).T[candidates.out >= 0]
        new = self._first_below(fit, swaps, fit.value - self._tolerance(fit.value), True)
        return fit if new is None else self.swap(new)

    def removable(self, fit):
        """As `Neighborhood.removable`, by the sizes of coefficients."""
        return columns_by_size(fit, self.model.problem)

    def reach(self, last):
        """Half as many columns again as the last size."""
        most = int(0.9 * self.model.problem.n_eff) - 1
        return Reach(last // 2, most_columns(self.model, self.lambda2, most), True)

    def refined(self, fit):
        """The fit at full accuracy: refits are, trials as Newton's method leaves them, see
        `by_newton`.
        """
        key = fit.key
        if not self.guesses or fit.flags or not fit.support.size:
            return fit
        most = fit.value + self._tolerance(fit.value)
        if key not in self.exact or not self.exact[key].value <= most:
            new = self.model.refit(fit.support, 0.0, self.lambda2, (fit.b, fit.b0))
            self.exact[key] = by_newton(fit, new, most - fit.value)
        return self.exact[key]

    def without(self, fit, units):
        """The fit without some of its columns."""
        stay = (fit.support[:, None] != units).all(axis=1)
        return self.refit(fit.support[stay], fit)


def by_newton(fit, new, tolerance):
    """The refit `new` of a fit that trials made; the fit as it is where that ends above it, as
    steps may along which a loss falls for ever.
    """
    if new.value <= fit.value + tolerance:
        return new
    return fit._replace(flags=(FitStatus.NOT_CONVERGED,))
