"""Columns that separate the classes at a size without a finite optimum, and the sizes beyond it.

Complete separation ends a slice: every larger size is separated too. Where named columns separate
some observations only (quasi-complete separation), larger sizes are searched on over the supports
without those columns. The same is done under the Poisson loss, where columns send rates to zero.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.status import FitStatus
from ..exchange.local_search import flat
from ..problem.recession import leading, separating, separating_classes, separating_ordered
from ..problem.several import class_codes, summed_loss
from ..problem.solution import LEFT_OUT
from ..problem.traits import MONOTONE, ORDERED, SENT, SEPARATES, held_by

MOST_SEARCHES = 10  # searches beyond separated sizes in one slice; each may name further columns
SEPARATION_REMEDY = (
    "the coefficients have no finite optimum and stopped at |eta| = 30; add a little shrinkage, "
    "lambda2=1e-3"
)


class Row(NamedTuple):
    """The fit of a size, the class that was checked, a bound for all models of the size, and the
    columns, or groups, that its search left out (numbers).
    """

    fit: tuple
    optimality: str
    bound: float
    left: tuple = ()


class Step(NamedTuple):
    """A separated size k: what its columns do (text), and the columns, or groups, that the search
    of larger sizes left out (numbers).
    """

    k: int
    what: str
    left: np.ndarray


def apart(fit):
    """Whether a fit is separated."""
    return FitStatus.SEPARATED in fit.flags


def separated_by(problem, fit):
    """(whether the separation is complete, columns that separate) of a separated fit."""
    Z = np.ascontiguousarray(problem.X.columns(fit.support).T)
    recession = problem.loss.traits.recession
    if recession == MONOTONE:
        at = leading(problem, Z, problem.lower[fit.support], problem.upper[fit.support])
        return False, fit.support[at]
    if recession == ORDERED:
        eta = fit.b @ Z
        inside = [eta[problem.y == c] for c in range(problem.loss.levels)]
        if all(low.max() < high.min() for low, high in pairwise(inside)):
            return True, fit.support
        lower, upper = problem.lower[fit.support], problem.upper[fit.support]
        return False, fit.support[separating_ordered(Z, problem.y, lower, upper)]
    if problem.turn is not None:
        codes, eta = class_codes(problem.y), fit.b0 + Z.T @ (fit.b @ problem.turn)
        own = eta[np.arange(codes.size), codes]
        eta[np.arange(codes.size), codes] = -np.inf
        if (own > eta.max(axis=1)).all():
            return True, fit.support
        at = separating_classes(Z, codes, eta.shape[1], problem.intercept)
        return False, fit.support[at]
    if recession == SEPARATES:
        eta = fit.b0 + fit.b @ Z
        if (problem.y * eta).min() > 0:
            return True, fit.support
    signs, held = held_by(recession, problem.y)
    at = separating(
        Z,
        signs,
        problem.intercept,
        problem.lower[fit.support],
        problem.upper[fit.support],
        held,
    )
    return False, fit.support[at]


def loss_of(problem, fit):
    """Mean loss of a fit as its coefficients are; `Fit.value` of a separated one is lower."""
    b = fit.b if problem.turn is None else fit.b @ problem.turn
    eta = problem.offset + fit.b0 + problem.X.columns(fit.support) @ b
    return summed_loss(problem.loss, problem.y, eta, problem.weights)


def consequence(problem, names, fit):
    """(what the columns or groups of a separated fit do, what follows), as texts."""
    recession = problem.loss.traits.recession
    complete, columns = separated_by(problem, fit)
    by = f" by {', '.join(names[j] for j in columns)}" if columns.size else ""
    if recession in SENT:
        return f"send {SENT[recession]}{by}", SEPARATION_REMEDY
    if recession == MONOTONE:
        return f"make the likelihood monotone{by}", SEPARATION_REMEDY
    if complete:
        return "separate the classes completely", SEPARATION_REMEDY
    return f"separate the classes quasi-completely{by}", SEPARATION_REMEDY


def without(problem, left):
    """A problem in which the columns, or groups, `left` cannot be chosen."""
    if problem.groups is None:
        usable = problem.usable.copy()
        usable[left] = False
        return replace(problem, usable=usable)
    factor, out = problem.groups.factor.copy(), np.zeros(len(problem.groups.labels), dtype=bool)
    out[left] = True
    if problem.groups.hierarchy is not None:  # what needs a group that is left out is left out too
        out = problem.groups.hierarchy.without(out)
    factor[out] = np.inf
    return replace(problem, groups=problem.groups._replace(factor=factor))


def marked(fit):
    """A fit with the flag of a search that left out columns."""
    return fit._replace(flags=(*fit.flags, LEFT_OUT))


class PastSeparation:
    """The sizes of a slice, and those beyond its quasi-completely separated ones.

    Parameters
    ----------
    problem : Problem
        What the first engine solved.
    engine : Engine
        An engine over sizes that has run.
    result : SliceResult
        What it has solved.
    names : sequence of str
        Names of the columns.

    Attributes
    ----------
    rows : dict of int to Row
        The best fit of every size; those of searches that left out columns are marked.
    steps : list of Step
        The separated sizes that were passed.
    engine : Engine
        The last engine that has run.
    result : SliceResult
        What it has solved.
    rounds : list of dict
        Those of all engines.
    """

    def __init__(self, problem, engine, result, names):
        self.problem, self.engine, self.names, self.steps = problem, engine, names, []
        self.result = result
        self.rounds = list(self.result.rounds)
        self.rows = {
            point.k: Row(point.fit, point.optimality, point.lower_bound)
            for point in self.result.points
        }

    @property
    def unresolved(self):
        """The separated fit at which the last search ended, None where it did not."""
        return self.result.separated

    @property
    def left(self):
        """Numbers of all columns, or groups, that were left out."""
        every = [step.left for step in self.steps]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *every]))

    def run(self, search):
        """Search the sizes beyond, until none of them is separated.

        search(problem, supports, rows): an engine that has run on a problem from these supports, or
        None where nothing may run any more; rows are those that are known already.
        """
        while self.unresolved is not None and len(self.steps) < MOST_SEARCHES:
            step = self.next_step()
            if step is None:
                return
            problem = without(self.problem, step.left)
            supports = [row.fit.units for k, row in self.rows.items() if k]
            left = np.union1d(self.left, step.left)
            known = [s for s in supports if not np.isin(s, left).any()]
            engine = search(problem, known, self.rows)
            if engine is None:
                return
            self.problem, self.engine, self.result = problem, engine, engine.result
            self.steps.append(step)
            self.rounds += self.result.rounds
            self.take()

    def next_step(self):
        """The Step past the separated size, None where its separation is complete or no column of
        it can be left out.

        Columns that the model of one size less has as well are kept: without the others they do
        not separate.
        """
        fit, last = self.unresolved, self.result.last
        complete, columns = separated_by(self.problem, fit)
        if complete or last == 0:
            return None
        left, groups = columns, self.problem.groups
        if groups is not None:
            left = np.intersect1d(fit.groups, groups.having(columns))
        solved = {point.k: point.fit for point in self.result.points}
        smaller = solved.get(last - 1, solved[0])
        left = np.setdiff1d(left, smaller.units)
        what, _ = consequence(self.problem, self.names, fit)
        return Step(last, what, left) if left.size else None

    def take(self):
        """Compare the fits of the last engine with the best ones of their sizes."""
        left = tuple(self.left.tolist())
        for k, fit, optimality, *_ in self.result.points:
            if k not in self.rows or self.better(fit, self.rows[k].fit):
                self.rows[k] = Row(marked(fit), optimality, np.nan, left)

    def better(self, fit, held):
        """Whether a fit that is not separated has a lower loss than the one held at its size."""
        if apart(fit):
            return False
        value = loss_of(self.problem, held) if apart(held) else held.value
        return fit.value < value - flat(value, self.result.scale, self.result.tol)

    def labels(self, left):
        """Names of columns, or groups, as a text."""
        every = self.names if self.problem.groups is None else self.problem.groups.labels
        return ", ".join(str(every[j]) for j in left)

    def story(self):
        """A text about the sizes passed and the columns left out."""
        unit = "columns" if self.problem.groups is None else "groups"
        passed = "; ".join(f"at k = {step.k} {unit} {step.what}" for step in self.steps)
        return f"{passed}, so larger sizes were searched without {self.labels(self.left)}"

    def note(self):
        """A text about what the optimality of the marked rows refers to."""
        sizes = {}
        for k, row in sorted(self.rows.items()):
            if row.left:
                sizes.setdefault(row.left, []).append(str(k))
        searched = [
            f"without {self.labels(left)}: k = {', '.join(ks)}" for left, ks in sizes.items()
        ]
        return (
            f"{self.story()}; the optimality of rows flagged {LEFT_OUT} compares them with "
            f"supports without these only ({'; '.join(searched) or 'no row'})"
        )
