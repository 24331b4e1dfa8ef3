"""`L0Equations`: an equation for each response, with a best subset of its own. PySINDy takes it as
its optimizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from ..core.arguments import number, whole
from ..core.hints import hinted
from ..core.status import Optimality
from ..fitting import fit


class L0Equations(RegressorMixin, MultiOutputMixin, BaseEstimator):
    """Least squares equations for several responses, each with a best subset of its own.

    Every response y_t is fitted by the model of k_t features with the least sum of squares,

        y_t = X_S beta_t,  |S| = k_t,

    and a search proves that no other k_t features are better. It is an optimizer for PySINDy:
    `pysindy.SINDy(optimizer=L0Equations(k=3))` takes the best k terms of its library for each
    variable. (Responses that share their features are the case of `l0path.fit` with y of shape
    (n, r).)

    Parameters
    ----------
    k : int or sequence of int, optional
        The number of features of each equation, one number for all or one for each response. None
        takes the model of each response that is best by `criterion`.
    criterion : str, default "bic"
        The criterion where k is None: "bic", "ebic", "aic", "aicc", "gic", "mbic" or "cp". Rows
        that are copies of each other count as one, with the sum of their weights.
    max_k : int, optional
        The largest size where k is None. None means min(p, n // 2, 100) for n different rows.
    lambda2 : float, default 0.0
        A ridge >= 0, in units of the mean loss.
    standardize : bool, default True
        Whether the ridge is about standardized coefficients.
    fit_intercept : bool, default False
        Whether each equation has an intercept. A library of PySINDy has its own constant column.
    always_include : array-like of str, int or bool, optional
        Features that are in every equation, beside the k chosen features.
    prove : bool, default True
        Whether a model that the fit has not proven is searched for a proof (`Path.certify`).
    time_limit : float or None, default 30
        Seconds of that search for each response.

    Attributes
    ----------
    coef_ : ndarray of shape (r, p)
        Coefficients of the responses, 0 for features that are not in an equation.
    intercept_ : ndarray of shape (r,) or float
        Intercepts, 0.0 without.
    ind_ : ndarray of shape (r, p)
        Whether a coefficient is not 0.
    proven_ : ndarray of shape (r,)
        Whether the features of an equation are proven to be the best of their number. With a
        criterion the proof is about the size that it chose.
    paths_ : list of Path
        The path of every response.
    n_features_in_ : int
        Number of features p.

    Notes
    -----
    Rows in which X or y is NaN are left out, as optimizers of PySINDy do: differences have no value
    at the ends of a trajectory.

    References
    ----------
    - Brunton, Proctor & Kutz, PNAS 113, 2016: equations of motion by sparse regression.
    - Bertsimas & Gurnee, Nonlinear Dynamics 111, 2023: the same with proven best subsets.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> Y = np.column_stack([X[:, 0] - X[:, 3], 2 * X[:, 5]])
    >>> model = l0path.L0Equations(k=[2, 1]).fit(X, Y)
    >>> [np.flatnonzero(row).tolist() for row in model.coef_]
    [[0, 3], [5]]
    """

    @hinted
    def __init__(
        self,
        k: int | Sequence[int] | None = None,
        *,
        criterion: str = "bic",
        max_k: int | None = None,
        lambda2: float = 0.0,
        standardize: bool = True,
        fit_intercept: bool = False,
        always_include: Sequence | None = None,
        prove: bool = True,
        time_limit: float | None = 30,
    ) -> None:
        self.k = k
        self.criterion = criterion
        self.max_k = max_k
        self.lambda2 = lambda2
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.always_include = always_include
        self.prove = prove
        self.time_limit = time_limit

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the equations.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The features to choose from, such as the terms of a library at the times of a
            trajectory.
        y : array-like of shape (n,) or (n, r)
            The responses, such as derivatives.
        sample_weight : array-like of shape (n,) or float, optional
            Importance or precision of the rows, as in `l0path.fit`.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError or TypeError
            If an argument is not one of those described.
        """
        X = validate_data(self, X, ensure_all_finite="allow-nan")
        if y is None:
            raise ValueError("L0Equations requires y to be passed, but the target y is None")
        y = check_array(y, ensure_2d=False, ensure_all_finite="allow-nan", dtype="numeric")
        check_consistent_length(X, y)
        self._one, y = y.ndim == 1, y.reshape(len(y), -1)
        weights = None
        if sample_weight is not None:
            weights = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), len(X))
        seen = ~(np.isnan(X).any(axis=1) | np.isnan(y).any(axis=1))
        if not seen.all():
            X, y = X[seen], y[seen]
            weights = None if weights is None else weights[seen]
        X, y, weights = _merged(X, y, weights)
        sizes = self._sizes(y.shape[1])
        found = [self._equation(X, y[:, t], size, weights) for t, size in enumerate(sizes)]
        self.paths_ = [path for path, _, _ in found]
        self.proven_ = np.array([proven for _, _, proven in found])
        self.coef_ = np.zeros((len(found), X.shape[1]))
        for row, (_, model, _) in zip(self.coef_, found, strict=True):
            solution = model.path._solutions[model._index]
            row[solution.support] = solution.beta
        intercepts = [model.intercept for _, model, _ in found]
        self.intercept_ = np.array(intercepts) if self.fit_intercept else 0.0
        self.ind_ = self.coef_ != 0.0
        return self

    def _sizes(self, responses):
        """The size of each response, None where the criterion chooses."""
        if self.k is None or np.ndim(self.k) == 0:
            return [self.k if self.k is None else whole(self.k, "k", 0)] * responses
        if len(self.k) != responses:
            raise ValueError(
                f"k={self.k!r} has {len(self.k)} sizes and y has {responses} responses; give one "
                "for each, or one number for all"
            )
        return [whole(size, "k", 0) for size in self.k]

    def _equation(self, X, y, size, weights):
        """(path, model, whether it is proven) of one response."""
        path = fit(
            X,
            y,
            max_k=self.max_k if size is None else size,
            lambda2=number(self.lambda2, "lambda2"),
            standardize=self.standardize,
            fit_intercept=self.fit_intercept,
            always_include=self.always_include,
            sample_weight=weights,
            feature_names=getattr(self, "feature_names_in_", None),
        )
        last = path._solutions[-1].k
        model = path.model(self.criterion) if size is None else path.model(min(size, last))
        proven = path._solutions[model._index].optimality == Optimality.GLOBAL
        if proven or not self.prove:
            return path, model, proven
        certificate = path.certify(index=model._index, time_limit=self.time_limit)
        return path, certificate.model, certificate.proven

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicted responses.

        Parameters
        ----------
        X : array-like of shape (m, p)
            New rows. Where one has NaN, so does its prediction.

        Returns
        -------
        ndarray of shape (m, r), or (m,) if y was of shape (n,)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        out = X @ self.coef_.T + self.intercept_
        return out[:, 0] if self._one else out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def complexity(self) -> int:
        """Number of coefficients that are not 0, intercepts included."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.coef_) + np.count_nonzero(self.intercept_))


def _merged(X, y, weights):
    """(X, y, weights) with one row in place of rows that are copies, of the sum of their weights,
    so that weights and copies of rows are the same.
    """
    _, first, of = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    if first.size == len(X):
        return X, y, weights
    w = np.bincount(of.ravel(), weights=np.ones(len(X)) if weights is None else weights)
    order = np.argsort(first)
    return X[first[order]], y[first[order]], w[order]
