"""Types of public arguments, named once: annotations for readers, editors and type checkers. What
is passed is checked where it is read, with a remedy; nothing is checked by these.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


class Design(Protocol):
    """The methods that all `l0path.designs` share: batched access to a matrix (n, p), whatever
    holds it.
    """

    n: int
    p: int

    def correlate(self, R: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray: ...
    def columns(self, J: np.ndarray) -> np.ndarray: ...
    def dot(self, J: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def moments(self, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]: ...
    def nonfinite(self) -> np.ndarray: ...


class Sparse(Protocol):
    """A sparse matrix or array of SciPy. Its module is slow to import, and is only where one is
    used.
    """

    def tocsc(self) -> Any: ...


Matrix: TypeAlias = ArrayLike | pd.DataFrame | Sparse | Design  # X (n, p)
Columns: TypeAlias = ArrayLike  # names, indices or a mask; one name or index alone
Bound: TypeAlias = ArrayLike | dict[str, float]  # a number, (p,) or {name: number}
Settings: TypeAlias = Any  # a record of `l0path.solvers`
# a size, the name of a criterion, or a function from a path to the index of a row
Rule: TypeAlias = int | str | Callable[[Any], int]
Seed: TypeAlias = int | np.random.Generator | None


class Selector(TypedDict, total=False):
    """Keywords that name one solution of a path: one of k, lambda0 and index, with slice, lambda1,
    lambda2 or relax where there are several slices.
    """

    k: int
    lambda0: float
    index: int
    slice: int
    lambda1: float
    lambda2: float
    relax: float
