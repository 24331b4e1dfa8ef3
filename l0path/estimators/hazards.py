"""The interface of scikit-survival for estimators: risk scores, and functions of time by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..core.arguments import is_whole
from ..core.types import Matrix
from ..engine.arguments import sample_weights
from ..errors import refuse_masked
from ..problem.coupled.arguments import rows_of
from ..problem.coupled.cox import cox_of
from ..problem.coupled.scores import concordance
from ..problem.losses import SURVIVAL
from ..problem.specified import told_apart
from .columns import checked, column_of, without_column


class StepFunction:
    """A function of time that is constant from each of its times to the next, as that of
    scikit-survival.

    Parameters
    ----------
    x : ndarray of shape (q,)
        Times, ascending.
    y : ndarray of shape (q,)
        The value from each of these times on.
    start : float
        The value before the first time.

    Attributes
    ----------
    domain : tuple
        The times that it takes: from 0, or the first one if that is before, to the last one.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, start: float) -> None:
        self.x, self.y, self.start = x, y, start
        self.domain = (min(0.0, float(x[0])), float(x[-1]))

    def __call__(self, x: ArrayLike) -> np.ndarray | float:
        """The values at times.

        Parameters
        ----------
        x : float or array-like of shape (m,)
            Times in `domain`.

        Returns
        -------
        float or ndarray of shape (m,)
        """
        times = np.asarray(x, dtype=np.float64)
        low, high = self.domain
        if not ((times >= low) & (times <= high)).all():
            raise ValueError(f"x={x!r} must be times from {low:g} to {high:g}, those of the fit")
        out = np.append(self.start, self.y)[np.searchsorted(self.x, times, side="right")]
        return float(out) if out.ndim == 0 else out

    def __repr__(self) -> str:
        return f"StepFunction(x={self.x!r}, y={self.y!r})"


class SurvivalMethods:
    """Fits to survival times, and predictions, scores and functions of time."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _data(self, X, y, sample_weight):
        """(X, y, sample_weight) as `fit` takes them; sets n_features_in_, feature_names_in_,
        unique_times_, n_events_ and strata_labels_.
        """
        for name, value in (("X", X), ("sample_weight", sample_weight)):
            refuse_masked(value, name)
        self.strata_labels_ = None
        if self._names_strata(X) and not pd.api.types.is_numeric_dtype(X[self.strata].dtype):
            self.strata_labels_ = X[self.strata].dropna().unique()
        X = checked(self, self._numbered(X), ensure_all_finite=False, ensure_min_samples=2)
        rows = rows_of(y, X.shape[0])
        weights = sample_weights(sample_weight, X.shape[0])
        self.unique_times_ = np.unique(rows.stop)
        self.n_events_ = float(np.count_nonzero(rows.event[weights > 0]))
        given = None if sample_weight is None else np.asarray(sample_weight)
        return X, np.column_stack([column for column in rows if column.size]), given

    def _names_strata(self, X):
        """Whether X is a DataFrame with a column that `strata` names."""
        named = isinstance(X, pd.DataFrame) and isinstance(self.strata, str)
        return named and list(X.columns).count(self.strata) == 1

    def _numbered(self, X):
        """X with numbers in place of texts or categories in its column of strata."""
        if self.strata_labels_ is None or not self._names_strata(X):
            return X
        labels = X[self.strata]
        numbers = pd.Index(self.strata_labels_).get_indexer(labels).astype(float)
        numbers[labels.isna()] = np.nan
        if (numbers < 0).any():
            had = ", ".join(map(repr, self.strata_labels_[:5]))
            raise ValueError(
                f"column {self.strata!r} holds {labels[numbers < 0].iloc[0]!r}, which is no "
                f"stratum of the fit: it had {had}"
            )
        return X.assign(**{self.strata: numbers})

    def _predict(self, X, type):
        check_is_fitted(self)
        return super()._predict(self._numbered(X), type)

    def _arguments(self, names):
        if told_apart(self.loss)[0] not in SURVIVAL:
            raise ValueError(
                f"loss={self.loss!r} is not for survival times: use 'cox', l0path.losses.Cox() or "
                "'weibull'"
            )
        return super()._arguments(names)

    def _with_offset(self, X, arguments):
        """With the column that `strata` names too; sets strata_index_."""
        arguments = super()._with_offset(X, arguments)
        self.strata_index_ = self._place("strata", X.shape[1])
        if self.strata_index_ is None:
            return arguments
        return without_column(arguments, self.strata_index_) | {"strata": self._strata(X)}

    def _strata(self, X):
        """(n,) the column of X that holds the strata; None without."""
        return None if self.strata_index_ is None else column_of(X, self.strata_index_)

    def _largest(self, X, y, sample_weight, want):
        """`want`; None stands for what `fit` takes for the number of different rows with an
        event.
        """
        if want is None:
            weights = sample_weights(sample_weight, X.shape[0])
            return self._default_size(X, y, np.flatnonzero((weights > 0) & (y[:, -1] > 0)))
        if not is_whole(want):
            raise ValueError(f"max_k={want!r} must be a whole number >= 0, or None")
        return int(want)

    def _take(self, path, index, chosen_by=""):
        super()._take(path, index, chosen_by)
        del self.intercept_  # the baseline hazard is in its place
        return self

    def predict(self, X: Matrix) -> np.ndarray:
        """Risk scores of new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame or sparse matrix
            The new rows.

        Returns
        -------
        ndarray of shape (m,)
            The linear predictor, the log of the hazard relative to that of a row of zeros. Rows of
            larger scores are at higher risk.
        """
        return self._predict(X, "link")

    def score(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Harrell's concordance of the risk scores of rows with their times.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame or sparse matrix
            The rows.
        y : array-like
            Their times and events, in the forms that `fit` takes.
        sample_weight : array-like of shape (m,), optional
            Weights >= 0: pairs count by the product of their weights. None means 1 for each row.

        Returns
        -------
        float
            The share of comparable pairs, those within a stratum, that are in the right order.
        """
        eta = self.predict(X)
        rows, weights = rows_of(y, eta.size), sample_weights(sample_weight, eta.size)
        strata = self._strata(checked(self, self._numbered(X), reset=False))
        numbers = None if strata is None else np.unique(strata, return_inverse=True)[1]
        record = cox_of(*rows, stratum=numbers)
        return concordance(record, rows.event, eta, weights)

    def predict_cumulative_hazard_function(
        self, X: Matrix, return_array: bool = False
    ) -> np.ndarray:
        """Cumulative hazards of new rows.

        The baseline hazard goes with the ties of the fit: Breslow's estimator for "breslow", its
        correction for tied events (as in R's `survfit`) for "efron".

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame or sparse matrix
            The new rows.
        return_array : bool, default False
            Whether to return values at unique_times_ instead of functions.

        Returns
        -------
        ndarray of shape (m,) or (m, q)
            A `StepFunction` for each row, or a row of values at the q times of unique_times_.
        """
        return self._functions(self._hazards(X), 0.0, return_array)

    def predict_survival_function(self, X: Matrix, return_array: bool = False) -> np.ndarray:
        """Probabilities of no event until each time, for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame or sparse matrix
            The new rows.
        return_array : bool, default False
            Whether to return values at unique_times_ instead of functions.

        Returns
        -------
        ndarray of shape (m,) or (m, q)
            A `StepFunction` for each row, or a row of values at the q times of unique_times_.
        """
        return self._functions(np.exp(-self._hazards(X)), 1.0, return_array)

    def _hazards(self, X):
        """(m, q) cumulative hazards at unique_times_."""
        check_is_fitted(self)
        X = checked(self, self._numbered(X), reset=False)
        more = {"offset": self._offset(X), "strata": self._strata(X)}
        more |= {"times": self.unique_times_, "type": "cumulative_hazard"}
        table = self.model_.survival(X, **more)
        return table.to_numpy()

    def _functions(self, values, start, return_array):
        if return_array:
            return values
        out = np.empty(len(values), dtype=object)
        out[:] = [StepFunction(self.unique_times_, row, start) for row in values]
        return out
