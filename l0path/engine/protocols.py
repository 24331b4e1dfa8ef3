"""The protocols of algorithms, engines and the pipeline.

An *engine* solves one slice: all sizes, or all lambda0 values, at one (lambda1, lambda2). It has a
`result` at any time, so nothing is lost when a clock, Ctrl-C or a callback ends it. What algorithms
need is declared in `registry`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..core.control import Clock
from ..core.status import End, Optimality


class Point(NamedTuple):
    """One model of a slice.

    Attributes
    ----------
    k : int
        Number of unforced columns, or groups.
    fit : Fit
        The restricted optimum, in the units of the problem.
    optimality : Optimality
        What was verified for it.
    lower_bound : float
        No model of size k has a lower objective; NaN where there is no bound.
    lambda0 : float
        The value for which the model was solved; NaN on a grid of sizes.
    lambda0_low : float
        The model is stationary for lambda0 down to this value; NaN where that is not known.
    """

    k: int
    fit: Any
    optimality: Optimality
    lower_bound: float = float("nan")
    lambda0: float = float("nan")
    lambda0_low: float = float("nan")


class SliceResult(NamedTuple):
    """The models that an engine has solved so far.

    Attributes
    ----------
    points : tuple of Point
        Ascending sizes, or descending lambda0 values.
    null : Fit
        The fit of the forced columns, from which every search starts.
    last : int
        The largest size that is searched.
    end : End or str
        Why `last` is below the largest size asked for; empty where it is not.
    separated : Fit, optional
        The separated fit at which the sizes end, because no objective is lower.
    tied : int
        How many supports of its size were found that do as well.
    scale, tol : float
        The size of the objective that tolerances refer to, and the relative tolerance.
    optimality_if_verified : Optimality
        What a verification of this engine shows.
    dual_points : ndarray (n, m)
        Dual points found on the way, weights included; m = 0 where there are none.
    starts : tuple of ndarray
        Supports, or sets of groups, from which other slices may start.
    rounds : tuple of dict
        The profile of the search, a row for each round.
    notes : tuple of str
        What users should know.
    """

    points: tuple[Point, ...]
    null: Any
    last: int
    end: End | str
    separated: Any
    scale: float
    tol: float
    optimality_if_verified: Optimality
    dual_points: np.ndarray
    starts: tuple[np.ndarray, ...] = ()
    rounds: tuple[dict, ...] = ()
    notes: tuple[str, ...] = ()
    tied: int = 0


class Slice(NamedTuple):
    """The part of a path that one engine solves.

    Attributes
    ----------
    lambda1, lambda2 : float
        Shrinkage.
    max_k : int
        The largest number of unforced columns, or groups.
    compare_single : bool
        Whether the model of size 1 is compared with all others of its size at the end.
    """

    lambda1: float
    lambda2: float
    max_k: int
    compare_single: bool = False


def ignore(point: Point) -> None:
    """A listener for whom nobody waits."""


class Session(NamedTuple):
    """The clock, listener and starts of a search.

    Attributes
    ----------
    clock : Clock
        Its `poll` raises where the search has to end.
    listener : callable
        Hears of every `Point` when it is verified; it may raise `Stop`.
    rng : Generator, optional
        Random numbers of perturbations; None for a fixed seed.
    supports : sequence of ndarray
        Supports, or sets of groups, that compete for their sizes.
    thorough : bool
        Whether random restarts look for ways out of local optima, and refits refute as many
        exchanges of each fit as settings ask for, not a few.
    """

    clock: Clock
    listener: Callable[[Point], None] = ignore
    rng: np.random.Generator | None = None
    supports: tuple = ()
    thorough: bool = True


class Engine(Protocol):
    """The search of one slice."""

    def run(self) -> None:
        """Search until everything is verified; raises `Stop` or `KeyboardInterrupt` before."""

    @property
    def result(self) -> SliceResult:
        """The models solved so far; valid at any time."""


class Phase(Protocol):
    """Rounds of a search over sizes: what `rounds.Rounds.run` asks."""

    def start(self) -> None:
        """Choose the first working columns and the first fits."""

    def unfinished(self) -> bool:
        """Whether another round follows; where all sizes are verified, a phase may first look
        for a way out of the local optima found.
        """

    def improve(self) -> None:
        """Improve the sizes on the working columns."""

    def unverified(self) -> list[int]:
        """The sizes whose fit is not verified."""

    def verify(self, sizes: list[int]) -> None:
        """Check sizes over all columns, and let those that would improve one enter."""

    def profile(self) -> tuple:
        """(model, members, verified) of `Rounds.end`, and counts of a solver where it has any."""


@runtime_checkable
class SparseSettings(Protocol):
    """A settings record of an algorithm that solves one size at a time."""

    def check(self, problem: Any, lambda1: float, lambda2: float) -> None:
        """Raise ValueError where the algorithm lacks what a problem needs."""

    def solver(self, model: Any, lambda1: float, lambda2: float, scale: float) -> Any:
        """The solver of the sizes on the working columns of a model."""
