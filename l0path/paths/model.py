"""`Model`: one solution of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix

if TYPE_CHECKING:
    from .path import Path


class Model:
    """One solution. Attributes: index k n_nonzero slice lambda0 lambda1 lambda2 support features
    groups intercept coef objective loss deviance_ratio lower_bound gap flags optimality.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> model = path.model(k=6)
    >>> model.k, model.optimality, round(model.deviance_ratio, 3)
    (6, 'refit_swap', 0.509)
    >>> model.features
    ['AtBat', 'Hits', 'Walks', 'CRBI', 'Division_W', 'PutOuts']
    """

    k: int
    n_nonzero: int
    slice: int
    lambda0: float
    lambda1: float
    lambda2: float
    objective: float
    loss: float
    deviance_ratio: float
    lambda0_low: float
    lambda0_high: float
    lower_bound: float
    gap: float
    converged: bool
    status: str
    optimality: str
    flags: str

    def __init__(self, path: Path, index: int) -> None:
        self.path, self.index = path, int(index)
        self._row = path._row(path.solutions[self.index])

    def __getattr__(self, name):
        row = self.__dict__.get("_row", {})
        if name in row:
            return row[name]
        raise AttributeError(f"Model has no attribute {name!r}; it has {', '.join(sorted(row))}")

    def __dir__(self):
        return sorted({*super().__dir__(), *self._row})

    @property
    def support(self) -> np.ndarray:
        """Column indices, ascending."""
        return self.path.solutions[self.index].support.copy()

    @property
    def features(self) -> list[str]:
        """Names of the chosen columns."""
        return [self.path.meta.names[j] for j in self.path.solutions[self.index].support]

    @property
    def groups(self) -> list:
        """Labels of the chosen groups, forced ones included; without groups every column is one of
        its own, and these are the `features`.
        """
        chosen = self.path.solutions[self.index].groups
        if chosen is None:
            return self.features
        return [self.path.meta.groups.labels[g] for g in chosen]

    @property
    def exchanges(self) -> int | None:
        """How many exchanges were tried where `optimality` is "refit_swap_m", the m of it; None
        else.
        """
        return self.path.solutions[self.index].exchanges

    @property
    def intercept(self) -> float:
        """Intercept in the user's units."""
        return float(self.path.solutions[self.index].intercept)

    @property
    def coef(self) -> pd.Series:
        """Series: "(Intercept)" and the chosen columns, in the user's units."""
        return self.path.coef(index=self.index)

    def predict(
        self, X: Matrix, type: str | None = None, *, offset: ArrayLike | None = None
    ) -> np.ndarray | pd.Series:
        """See `Path.predict`."""
        return self.path.predict(X, index=self.index, type=type, offset=offset)

    def summary(self, X: Matrix | None = None, y: ArrayLike | None = None) -> Any:
        """See `Path.summary`."""
        return self.path.summary(index=self.index, X=X, y=y)

    def refit(
        self,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        **options: Any,
    ) -> Any:
        """See `Path.refit`; options: cov_type, cov_kwds, scale and others for statsmodels."""
        rows = {"X": X, "y": y, "sample_weight": sample_weight, "offset": offset}
        return self.path.refit(index=self.index, **rows, **options)

    def alternatives(
        self, n: int = 10, X: Matrix | None = None, y: ArrayLike | None = None
    ) -> pd.DataFrame:
        """See `Path.alternatives`."""
        return self.path.alternatives(index=self.index, n=n, X=X, y=y)

    def certify(self, **options: Any) -> Any:
        """See `Path.certify`; options: all but the selector."""
        return self.path.certify(index=self.index, **options)

    def score(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> pd.Series:
        """See `Path.score`."""
        return self.path.score(X, y, index=self.index, sample_weight=sample_weight, offset=offset)

    def __repr__(self):
        shown = ", ".join(self.features[:6]) + (", ..." if len(self.features) > 6 else "")
        about = f"{self.path.meta.about}, " if self.path.meta.about else ""
        return (
            f"<l0path.Model: {about}k = {self.k}, loss {self.loss:.6g}, deviance ratio "
            f"{self.deviance_ratio:.4f}, {self.optimality}; {shown or 'intercept only'}>"
        )
