"""Grids of lambda0, lambda1 and lambda2 whose values follow from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import nonnegative, number, whole
from ..problem.traits import ORDERED, SEPARATES

COUNTS = {"lambda0": 100, "lambda1": 10, "lambda2": 10}  # how many values, where none is given
LEAST = 1e-4  # the least value of lambda1 and lambda2, as a share of the largest
# lambda2 of cross-validation by default, in units of `posing.curvature` times `mean_square`
RIDGES = (10.0, 1.0, 0.1, 0.0)
# classes that features separate have no optimum without a ridge, and need a small one
RIDGES_OF_CLASSES = (10.0, 1.0, 0.1, 0.01, 0.0)
SHARES = (0.0, 0.5, 1.0)  # the mixtures with the fit without shrinkage that go with them


@dataclass(frozen=True)
class Grid:
    """Values of lambda0, lambda1 or lambda2 that follow from the data: see `l0path.grid`.

    Attributes
    ----------
    n : int or None
        The number of values, at most so many for lambda0.
    ratio : float or None
        The least value as a share of the largest.
    """

    n: int | None = None
    ratio: float | None = None

    @property
    def most(self) -> int:
        """The largest number of values of lambda0."""
        return self.n or COUNTS["lambda0"]

    def values(self, name: str, top: float) -> np.ndarray:
        """The values of lambda1 or lambda2, geometric from `top` down."""
        count = self.n or COUNTS[name]
        if count == 1:
            return np.array([top])
        return top * np.geomspace(1.0, self.ratio or LEAST, count)


@dataclass(frozen=True)
class Ridges(Grid):
    """The values of lambda2 of "auto" of `l0path.cv_fit`; units: in units that follow from the
    data, descending.
    """

    units: tuple = RIDGES

    def values(self, name: str, top: float) -> np.ndarray:
        """The values of lambda2, descending; top: the unit."""
        return top * np.array(self.units)


def ridges(recession: int) -> Ridges:
    """The values of "auto" for a loss of this trait."""
    units = RIDGES_OF_CLASSES if recession in (SEPARATES, ORDERED) else RIDGES
    return Ridges(n=len(units), units=units)


# what lambda0, lambda1 and lambda2 of `fit` may be
Lambda = float | Sequence[float] | str | Grid | None


def grid(n: int | None = None, ratio: float | None = None) -> Grid:
    """A grid of lambda0, lambda1 or lambda2 whose values follow from the data.

    The text "grid" is the same as `l0path.grid()`. A grid of lambda1 begins where every coefficient
    is 0, one of lambda2 at the curvature of the loss, which halves the coefficients or more; their
    values are geometric. Each value of a grid of lambda0 lies just below the one at which the
    support changes.

    Parameters
    ----------
    n : int, optional
        The number of values; for lambda0 the largest number. None means 10 values of lambda1 or
        lambda2, and at most 100 of lambda0.
    ratio : float, optional
        The least value as a share of the largest, 0 < ratio < 1. None means 1e-4 for lambda1 and
        lambda2, and no limit for lambda0.

    Returns
    -------
    Grid
        What `lambda0`, `lambda1` and `lambda2` of `l0path.fit` take.

    Raises
    ------
    ValueError
        If n is not a whole number >= 1, or ratio not between 0 and 1.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.simulate.linear(60, 8, 2, random_state=0)
    >>> path = l0path.fit(data.X, data.y, max_k=2, lambda2=l0path.grid(n=3, ratio=0.01))
    >>> path.table.lambda2.unique().round(4)
    array([1.  , 0.1 , 0.01])
    """
    if n is not None:
        n = whole(n, "n", 1)
    if ratio is not None:
        ratio = number(ratio, "ratio")
        if not 0.0 < ratio < 1.0:
            raise ValueError(f"ratio={ratio!r} must be between 0 and 1, such as 1e-3")
    return Grid(n, ratio)


def lambdas(value: Any, name: str) -> Any:
    """The values of an argument lambda0, lambda1 or lambda2: an array, descending; a `Grid`; or
    None.
    """
    if value is None or isinstance(value, Grid):
        return value
    if isinstance(value, str):
        if value == "grid":
            return Grid()
        if value == "auto" and name == "lambda2":
            raise ValueError(
                'lambda2="auto" is for l0path.cv_fit, which chooses among its ridges; give fit a '
                'number, numbers, "grid" or l0path.grid(n=...)'
            )
        raise ValueError(
            f'{name}={value!r} is not known; give a number, numbers, "grid" or l0path.grid(n=...)'
        )
    return nonnegative(value, name)


def shares(value: Any) -> tuple:
    """The shares g < 1 of the argument relax, descending; 1, the shrunken model itself, is always
    offered.
    """
    out = nonnegative(value, "relax")
    if out[0] > 1.0:
        raise ValueError(f"relax={value!r} must be shares between 0 and 1, such as (0, 0.5, 1)")
    return tuple(float(g) for g in out if g < 1.0)
