"""Mixtures of shrunken models with the fits on their supports that have no shrinkage, for
cross-validation: further slices of a path.

With b the coefficients of a model that lambda1 or lambda2 shrinks, and b' those of the fit without
shrinkage on its support, a mixture has g b + (1 - g) b', and the intercept likewise: g = 1 is the
shrunken model, g = 0 the one without shrinkage, whose support the shrunken search has chosen.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from ..core.describing import spans
from ..core.status import FitStatus
from ..problem.families.endless import falls_for_ever
from ..problem.solution import mixed
from ..working_set.groups import GroupModel
from ..working_set.linear_algebra import COLLINEAR
from . import assemble

# of the largest mean square of a column: the ridge in whose limit columns that are linearly
# dependent have one fit without shrinkage
VANISHING = 1e-8


def mixtures(slices, shares):
    """[(number, g)] of the further slices, in their order: those of slices (lambda1, lambda2) that
    have shrinkage, with every share g.
    """
    return [(i, g) for i, pair in enumerate(slices) if any(pair) for g in shares]


def with_mixtures(setting, solutions):
    """(solutions with the mixtures of `Plan.relax` behind them, notes).

    In a fit on all rows mixtures with a fit that has no finite optimum, because the columns of its
    support separate the classes, are left out. In folds they are there, and separated.
    """
    shares, control = setting.request.plan.relax, setting.control
    wanted = [s for s in solutions if s.lambda1 or s.lambda2]
    if not shares or not wanted or control.end:
        return solutions, []
    whole, numbers = setting.request.row_counts is None, {}
    for t, (i, g) in enumerate(mixtures(setting.slices, shares)):
        numbers[i, g] = len(setting.slices) + t
    plain, found, apart = Unshrunken(setting, wanted), [], set()
    with control.stage(" while shrunken models were mixed"):
        for s in wanted:
            control.clock.poll()
            if not s.support.size:
                # nothing is shrunken: a row for folds alone, whose sizes may be those of others
                rows = [] if whole else [s._replace(relax=g) for g in shares]
                found += [one._replace(slice=numbers[s.slice, one.relax]) for one in rows]
                continue
            fit = plain.of(s)
            whose = plain.problem, plain.data, setting.weights
            ones = mixed(*whose, s, fit, shares=shares, measured=whole)
            if ones[0].separated and whole:
                apart.add(s.k)
                continue
            found += [one._replace(slice=numbers[s.slice, one.relax]) for one in ones]
    if whole:  # slices without a model have no number
        left = sorted({one.slice for one in found})
        new = {old: len(setting.slices) + t for t, old in enumerate(left)}
        found = [one._replace(slice=new[one.slice]) for one in found]
    notes = []
    if apart:
        notes.append(
            "without shrinkage there is no finite optimum on the features of some models "
            "(separation), whose mixtures are not offered: k = "
            + (spans(apart) if len(apart) > 1 else str(*apart))
        )
    return [*solutions, *sorted(found, key=lambda one: one.slice)], notes


class Unshrunken:
    """The fits without shrinkage on the supports of some solutions, each computed once."""

    def __init__(self, setting, solutions):
        self.columns = np.unique(np.concatenate([s.support for s in solutions]))
        self.setting, self.reporting = setting, assemble.reporting(setting)
        self.problem, self.data = self.reporting.problem, self.reporting.data
        self.known, self.groups = {}, None
        if setting.problem.groups is not None:
            self.groups = GroupModel(setting.working_set, 0.0, 0.0)

    def of(self, s):
        """The `Fit` without shrinkage on the support of a solution."""
        key = s.support.tobytes(), s.units.tobytes()
        if key not in self.known:
            fit = self._fit(s)
            if self.reporting.needed:
                fit = self.reporting.fit(fit, 0.0, 0.0)
            if falls_for_ever(self.setting.problem, fit, False):
                fit = fit._replace(flags=(*fit.flags, FitStatus.SEPARATED))
            self.known[key] = fit
        return self.known[key]

    def _fit(self, s):
        """The restricted optimum of the loss of the search without shrinkage."""
        setting = self.setting
        # coefficients of several responses, which solvers have in other units, are no start
        start = self.reporting.start(s) if setting.problem.turn is None else None
        if self.groups is not None:
            return self.groups.refit(s.groups, start)
        model = setting.working_set if setting.hinge is None else setting.hinge
        model.grow(s.support)
        ridge = VANISHING * float(setting.problem.square.max()) if self._dependent(s) else 0.0
        given = None if start is None else (start.b, start.b0)
        return model.refit(s.support, 0.0, ridge, given)

    @cached_property
    def apart(self):
        """Whether the columns of all supports together are clearly independent."""
        model = self.setting.working_set
        model.grow(self.columns)
        return model.clearly_apart(self.columns)

    def _dependent(self, s):
        """Whether the columns of a support are linearly dependent, up to rounding of their Gram
        matrix; near combinations that are known have fits of their own.
        """
        model = self.setting.working_set
        if self.apart or model.hidden(s.support, 0.0):
            return False
        factor, failed = lapack.dpotrf(model.correlations(s.support), lower=1)
        return bool(failed) or np.diagonal(factor).min() ** 2 <= COLLINEAR
