"""`Path`: hazards and probabilities of survival of new rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite, same_index
from ..core.types import Matrix, Rule, Selector
from ..problem.coupled.arguments import strata_of_rows
from ..problem.coupled.baseline import baseline_of, cumulative_hazards
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
        strata: ArrayLike | str | None = None,
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
        strata : array-like of shape (m,) or str, optional
            If the fit had strata: those of the new rows, or the name of a column of the DataFrame
            X. The baseline hazard of a row is that of its stratum.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        DataFrame
            A row for each row of X, a column for each time.

        Raises
        ------
        ValueError
            If the loss is another one, or if strata are missing, or unknown to the fit.

        Examples
        --------
        >>> import numpy as np, l0path
        >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> y = np.array([[1.0, 1], [2, 1], [3, 0], [4, 1]])  # time, event
        >>> path = l0path.fit(X, y, loss="cox")
        >>> path.cumulative_hazard(X[:1], k=0, times=[0.5, 1, 2]).round(2).to_numpy()
        array([[0.  , 0.25, 0.58]])
        """
        meta, i = self.meta, self.index(rule, **selector)
        if meta.traits.response != "survival":
            raise ValueError(f"hazards are those of loss='cox'; this path has loss={meta.loss!r}")
        if times is not None:
            times = finite(np.atleast_1d(np.asarray(times, dtype=np.float64)), "times")
        baseline = baseline_of_model(self, i)
        same_index(X=X, strata=strata)
        if isinstance(strata, str):
            strata = _column(X, strata)
        new = self.predict(X, index=i, type="link", offset=offset)
        stratum = strata_of_rows(strata, len(new), meta.strata)
        at, hazards = cumulative_hazards(baseline, np.asarray(new), stratum, times)
        index = new.index if isinstance(new, pd.Series) else None
        return pd.DataFrame(hazards, index=index, columns=pd.Index(at, name="time"))

    def survival(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        times: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        strata: ArrayLike | str | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """Probabilities of no event until given times, exp(-H) of `Path.cumulative_hazard` H.

        Parameters
        ----------
        X, rule, times, offset, strata, **selector
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
        return np.exp(
            -self.cumulative_hazard(X, rule, times=times, offset=offset, strata=strata, **selector)
        )


def baseline_of_model(path, i):
    """The `Baseline` of a solution: that of the rows of the fit, or the one that was stored."""
    s, data = path.solutions[i], path._source.data
    if s.baseline is None and data is None:
        raise ValueError(
            "the file of this path holds no baseline hazard; fit again and save the path anew"
        )
    return s.baseline if data is None else _baseline(data, s)


def with_baselines(path):
    """The solutions of a path with their baseline hazards, for files and pickles, which do not hold
    the data; those of another loss as they are.
    """
    data = path._source.data
    if data is None or data.loss.traits.response != "survival":
        return path.solutions
    return [s._replace(baseline=_baseline(data, s)) for s in path.solutions]


def _baseline(data, s):
    eta = linear_predictor(data.design, data.offset, s)
    return baseline_of(data.loss, data.y, eta, data.weights)


def _column(X, name):
    """The column of X of a name."""
    if not isinstance(X, pd.DataFrame) or name not in X.columns:
        raise ValueError(
            f"strata={name!r} is not a column of X; pass a DataFrame that has it, or one label for "
            "each row of X"
        )
    return X[name]
