"""The protocol of a neighborhood: the steps from a support to those beside it, with all
coefficients refitted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...problem.problem import Fit, Problem
from ..table import EQUAL, in_steps


class Reach(NamedTuple):
    """The extent of an oscillation.

    Parameters
    ----------
    units : int
        Most units (columns or groups) beyond the last size of the path.
    columns : float
        Most columns of a support.
    polished : bool
        Whether supports are polished by swaps on the way back, from one unit beyond the last size
        on.
    """

    units: int
    columns: float
    polished: bool


class Neighborhood(Protocol):
    """Steps between supports over the working columns. A unit is a column or a group.

    A step may be remembered: it is taken anew only where the working columns have grown since.
    `settings` is the `LocalSearch` record that says how many exchanges are tried. `compiled` says
    whether whole sweeps over the sizes run in kernels; then the neighborhood also has `show` and
    `make_move` of `gram.GramNeighborhood`. `undecided` holds the keys of fits with an exchange
    that neither a bound nor a converged refit decided: nothing is claimed of their exchanges.
    """

    settings: Any
    compiled: bool
    undecided: set

    def add(self, fit: Fit, polish: bool = True) -> Fit | None:
        """The fit with the best unit added, then polished by swaps; None where every unit outside
        is a combination of the support.
        """

    def drop(self, fit: Fit, polish: bool = True) -> Fit | None:
        """The fit without its cheapest unit, then polished by swaps; None where only forced units
        are left.
        """

    def swap(self, fit: Fit, thorough: bool = False) -> Fit:
        """The fit after swaps, one after the other, until none improves it. Where the table of
        swaps only ranks, `thorough` refutes as many of them as a verification needs.
        """

    def without(self, fit: Fit, units: Sequence[int]) -> Fit:
        """The fit without these units."""

    def refit(self, support: np.ndarray, fit: Fit, target: float = np.inf) -> Fit | None:
        """The fit of a sorted support, started from the coefficients of `fit`; None where it cannot
        come below `target`. Asked for where `closed_form` does not hold, so that tables only rank.
        """

    def refined(self, fit: Fit) -> Fit:
        """The fit at full accuracy."""

    def removable(self, fit: Fit) -> tuple[np.ndarray, np.ndarray]:
        """The importance of the unforced units of a fit, ascending, and the units."""

    def reach(self, last: int) -> Reach:
        """The extent of an oscillation from size `last`."""


def most_columns(model: Any, lambda2: float, most: float) -> float:
    """The most columns of an oscillation: `most`, a share of the rows, for supports that fit all of
    them tell nothing of smaller ones. Beside a ridge there are none such.
    """
    return most if model.negligible_ridge(lambda2) else model.problem.X.p


def columns_by_size(fit: Fit, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """`Neighborhood.removable` for columns: |b| of those that are not forced, of several responses
    its norm, ascending, and the columns.
    """
    free = np.flatnonzero(~problem.locked(fit.support))
    b = fit.b[free]
    size = np.abs(b) if b.ndim == 1 else np.linalg.norm(b, axis=1)
    order = np.argsort(in_steps(size, EQUAL * size.max(initial=0.0)), kind="stable")
    return size[order], fit.support[free[order]]
