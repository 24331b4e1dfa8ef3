"""`Path`: hazards and probabilities of survival of new rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite
from ..core.types import Matrix, Rule, Selector
from ..problem.coupled.baseline import cumulative_hazards
from .predicting import linear_predictor


class Surviving:
    """Methods of `Path` for survival times."""

    def cumulative_hazard(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Cumulative hazards of new rows by a model of loss="cox", with Breslow's baseline hazard.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        times : array-like of shape (q,), optional
            Times in the units of y. None takes the event times of the fit.
        offset : array-like of shape (m,) or str, optional
            As in `Path.predict`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Raises
        ------
        ValueError
            If the loss is another one, if the fit had several strata, or if the path was loaded:
            files do not hold the baseline hazard.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox")
        >>> path.cumulative_hazard(X[:1], k=0, times=[0.5, 1, 2]).round(2).to_numpy()
        array([[0.  , 0.25, 0.58]])
        """
        data, meta = self._source.data, self.meta
        if meta.traits.response != "survival":
            raise ValueError(f"hazards are those of loss='cox'; this path has loss={meta.loss!r}")
        if data is None:
            raise ValueError(
                "a loaded path has no baseline hazard, because files do not hold the data; use the "
                "path that was fitted, or predict(type='risk')"
            )
        if data.loss.stratum.any():
            raise ValueError(
                "the fit had several strata, whose baseline hazards differ, and hazards of these "
                "are not served yet; use predict(type='risk')"
            )
        if times is not None:
            times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
        new = self.predict(X, rule, type="link", offset=offset, **selector)
        eta = linear_predictor(
            data.design, data.offset, self.solutions[self.index(rule, **selector)]
        )
        at, hazards = cumulative_hazards(
            data.loss, data.y, eta, data.weights, np.asarray(new), times
        )
        index = new.index if isinstance(new, pd.Series) else None
        return pd.DataFrame(hazards, index=index, columns=pd.Index(at, name="time"))

    def survival(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Probabilities of no event until given times, exp(-H) of `Path.cumulative_hazard` H.

        Parameters
        ----------
        X, rule, times, offset, **selector
            As in `Path.cumulative_hazard`.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox")
        >>> path.survival(X[:1], k=0, times=[0.5, 1, 2]).round(2).to_numpy()
        array([[1.  , 0.78, 0.56]])
        """
        return np.exp(-self.cumulative_hazard(X, rule, times=times, offset=offset, **selector))
