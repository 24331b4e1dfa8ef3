"""Common base of the designs that make their features from the columns of X: names that can make
the features of new rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from l0path.designs.protocol import DesignTraits

GRAM_BYTES = 2 * 10**9  # bytes of Gram rows kept by a support path
MOST = 2 * 10**8  # features beyond which the vectors of length p alone would take tens of gigabytes


class Derived(Sequence):
    """Features made of p0 columns. As a sequence it holds their names, which are made when asked
    for.

    Parameters
    ----------
    base : list of str
        The p0 names.
    by_name : bool
        Whether X was a DataFrame.

    Attributes
    ----------
    stored : tuple
        Names of the arrays from which, with the two parameters, it can be made again.
    what : str
        The word for what two of them can differ in, for messages.
    """

    stored: tuple[str, ...] = ()
    what = ""

    def __init__(self, base: list[str], by_name: bool) -> None:
        self.base, self.by_name = [str(name) for name in base], bool(by_name)

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.base == other.base and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.stored
        )

    __hash__ = None

    def __getitem__(self, j):
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        if not -len(self) <= j < len(self):
            raise IndexError(f"feature {j} is out of range for {len(self)} features")
        return self._name_of(int(j) % len(self))

    @abstractmethod
    def _name_of(self, j: int) -> str:
        """The name of feature j."""

    def repeated(self, second: np.ndarray) -> np.ndarray:
        """Features that are linear combinations of columns of X and the intercept on the rows in
        which the features have the given second moments (p,). Only products can be.
        """
        return np.empty(0, dtype=np.int64)

    def base_places(self) -> dict[str, int]:
        """{name: position} of X's own columns."""
        return {name: j for j, name in reversed(list(enumerate(self.base)))}


LABELS = ("row_index", "heredity")  # attributes that are set after a design was made


class DerivedDesign:
    """Design of `names`, features of the columns of a base design (n, p0); `row_index`: that of the
    DataFrame they were made of.
    """

    row_index: Any = None
    traits = DesignTraits(gram_rows=True, row_subsets=True)

    def __init__(self, base: Any, names: Derived) -> None:
        self.base, self.names = base, names
        self.n, self.p = base.n, len(names)

    def __reduce__(self):
        own = {name: self.__dict__[name] for name in LABELS if name in self.__dict__}
        return type(self), (self.base, self.names), own

    @property
    def nbytes(self) -> int:
        """Bytes that X takes as it is stored."""
        return self.base.nbytes

    @property
    def entries(self) -> int:
        """Numbers that a copy of X would hold."""
        return self.base.entries

    @property
    def gram_rows(self) -> int:
        """Number of Gram rows (p float64 each) that are kept."""
        return max(1, GRAM_BYTES // (8 * max(self.p, 1)))

    def take_rows(self, rows: np.ndarray) -> DerivedDesign:
        """Design of some rows: the same features, with the same centers or knots."""
        return type(self)(self.base.take_rows(rows), self.names)
