"""Best-subset models as scikit-learn estimators: `L0Regressor`, `L0Classifier` and their
cross-validated forms.

Each fit solves a whole path (`l0path.fit`) and takes one model of it, which is `model_`; `path_` is
the whole. The estimators select features too: `get_support()` and `transform()` keep exactly the
columns of the model. As any path it refers to X and y in memory, and pickles leave them out. This
is the only module that imports scikit-learn when it is imported, so `l0path/__init__` loads it when
one of its names is first used.
"""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, check_memory, validate_data

from .core.arguments import nonnegative, number
from .core.status import End
from .core.types import Bound, Columns, Matrix, Seed, Settings
from .cross_validation import cv_fit
from .engine.arguments import refuse_shares, sample_weights
from .engine.posing import default_max_k
from .errors import ConvergenceWarning, refuse_masked
from .fitting import fit
from .problem.groups import make_groups
from .problem.losses import CLASSIFICATION, canonical_name
from .problem.problem import effective_rows

PASSED = (
    "loss",
    "algorithm",
    "lambda1",
    "lambda2",
    "fit_intercept",
    "standardize",
    "lower",
    "upper",
    "always_include",
    "exclude",
    "penalty_factor",
    "gamma",
    "delta",
    "tol",
    "max_iter",
    "time_limit",
    "class_weight",
    "pos_label",
    "groups",
)  # parameters that `fit` takes under the same name
PASSED_CV = (*PASSED, "penalty", "n_shrink", "grid", "cv", "scoring", "n_repeats")
SPARSE = ("csc", "csr")  # formats taken as they are


class Unfinished(Exception):
    """A path that its time limit cut short: raised through the cache, so that it is not stored."""

    def __init__(self, path):
        super().__init__(path.status)
        self.path = path


def whole_path(X, y, sample_weight, arguments, n_jobs):
    """The path of `fit`, if nothing cut it short."""
    path = fit(X, y, sample_weight=sample_weight, n_jobs=n_jobs, **arguments)
    if path.end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"the fit was interrupted ({path.status})")
    if not path.end.finished:
        raise Unfinished(path)
    return path


def pickled_path(X, y, sample_weight, arguments, n_jobs, key):
    """`whole_path` as bytes, for joblib to cache (it would take longer to read the path's names one
    by one) under `key` alone.
    """
    return pickle.dumps(whole_path(X, y, sample_weight, arguments, n_jobs))


def cached_path(memory, X, y, sample_weight, arguments, n_jobs):
    """The path of `fit`: solved, or read from `memory`; there paths have no data. The key is a
    SHA-1 (twice as fast as joblib's own MD5) of data, arguments and the package's version.
    """
    if memory is None:
        return whole_path(X, y, sample_weight, arguments, n_jobs)
    try:
        release = version("l0path")
    except PackageNotFoundError:  # run from a checkout that was not installed
        release = "0"
    key = joblib.hash((X, y, sample_weight, arguments, release), hash_name="sha1")
    stored = check_memory(memory).cache(
        pickled_path, ignore=["X", "y", "sample_weight", "arguments", "n_jobs"]
    )
    return pickle.loads(stored(X, y, sample_weight, arguments, n_jobs, key))


def _keep(self, parameters):
    """Every parameter of __init__ (its locals()) as the attribute of its name, as scikit-learn
    wants it.
    """
    for name, value in parameters.items():
        if name != "self":
            setattr(self, name, value)


def _checked(estimator, X, *y, **options):
    """scikit-learn's `validate_data`, which would take a design for a number."""
    if hasattr(X, "correlate"):
        raise TypeError(
            f"X is a design ({type(X).__name__}), whose rows scikit-learn cannot take apart; pass "
            f"{type(estimator).__name__} an array, a DataFrame or a sparse matrix, or the design "
            "to "
            "l0path.fit or l0path.cv_fit"
        )
    return validate_data(estimator, X, *y, accept_sparse=SPARSE, **options)


class _Selected(SelectorMixin, BaseEstimator):
    """What the four estimators share: checked data, and a model of a path as fitted attributes."""

    def _data(self, X, y, sample_weight):
        """(X, y, sample_weight) as `fit` takes them; n_features_in_, feature_names_in_ and, for
        classes, classes_ are set. NaN in X is found by `fit`.
        """
        loss = canonical_name(self.loss, exact=True) if isinstance(self.loss, str) else self.loss
        classes = isinstance(self, ClassifierMixin)
        if isinstance(loss, str) and (loss in CLASSIFICATION) != classes:
            other = "Regressor" if classes else "Classifier"
            raise ValueError(
                f"loss={self.loss!r} is for {'numbers' if classes else 'classes'}: use L0{other} "
                f"or L0{other}CV"
            )
        for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            refuse_masked(value, name)
        if classes:
            refuse_shares(y, self.loss)
        X, y = _checked(
            self, X, y, ensure_all_finite=False, ensure_min_samples=2, y_numeric=not classes
        )
        return (
            X,
            self._labels(y) if classes else y,
            None if sample_weight is None else np.asarray(sample_weight),
        )

    def _labels(self, y):
        """Two classes of any dtype, as an array of labels that sort."""
        y = np.asarray(y)
        if y.dtype == object and len({type(label) for label in y}) == 1:
            y = np.array(y.tolist())
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. Fit "
                "one class against the rest with `y == c`, or use "
                f"sklearn.multiclass.OneVsRestClassifier({type(self).__name__}(...))"
            )
        self.classes_ = np.unique(y)
        return y

    def _arguments(self, names):
        """Arguments of `fit` or `cv_fit` from the parameters."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31 - 1))
        return {name: getattr(self, name) for name in names if hasattr(self, name)} | {
            "random_state": seed,
            "feature_names": getattr(self, "feature_names_in_", None),
        }

    def _with_offset(self, X, arguments):
        """The arguments of the path with the column of X that `offset` names as offset, and that
        column left out of the search; sets offset_index_, None without.
        """
        self.offset_index_ = self._offset_index(X.shape[1])
        if self.offset_index_ is None:
            return arguments
        exclude = arguments["exclude"]
        if exclude is None or isinstance(exclude, (str, int, np.integer)):
            exclude = [] if exclude is None else [exclude]
        exclude = list(exclude)
        if exclude and all(isinstance(v, (bool, np.bool_)) for v in exclude):
            exclude = np.flatnonzero(exclude).tolist()
        return arguments | {
            "offset": self._offset(X),
            "exclude": [*exclude, self.offset_index_],
        }

    def _offset_index(self, p):
        """The place of the column that `offset` names."""
        offset, names = self.offset, list(getattr(self, "feature_names_in_", []))
        if offset is None:
            return None
        if isinstance(offset, str) and offset in names:
            return names.index(offset)
        if isinstance(offset, (int, np.integer)) and not isinstance(offset, bool):
            if -p <= offset < p:
                return int(offset) % p
        given = repr(offset) if np.isscalar(offset) else f"a {type(offset).__name__}"
        raise ValueError(
            f"offset={given} must be the name of a column of the DataFrame X, or the number of "
            f"a column of X (0 to {p - 1}); an offset given by row goes into a column of X"
        )

    def _offset(self, X):
        """(n,) the column of X that is the offset; None without."""
        if self.offset_index_ is None:
            return None
        column = X[:, [self.offset_index_]]
        return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()

    def _take(self, path, index):
        """The fitted attributes."""
        self.path_, self.model_ = path, path.model(index=index)
        coef, intercept = np.zeros(path.p), self.model_.intercept
        s = path.solutions[index]
        coef[s.support] = s.beta
        two = isinstance(self, ClassifierMixin)
        if two and path.classes[1] != self.classes_[1]:  # the path speaks for pos_label
            coef, intercept = -coef, -intercept
        self.k_, self.n_iter_ = int(s.k), max(len(path.rounds), 1)
        self.coef_, self.intercept_ = (
            (coef[None, :], np.array([intercept])) if two else (coef, intercept)
        )
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.model_.support)

    def _predict(self, X, type):
        check_is_fitted(self)
        X = _checked(self, X, reset=False)
        return self.path_.predict(X, index=self.model_.index, type=type, offset=self._offset(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _largest(self, X, sample_weight, want):
        """`want`, or less where a model of that size would interpolate: without shrinkage, as many
        coefficients as distinct rows fit any y with almost any columns (if there are more), so the
        choice among them would be one of rounding. None stands for min(p, n_eff // 2, 100).
        """
        n, p = X.shape
        weights = sample_weights(sample_weight, n)
        if want is None and self.groups is not None:
            return default_max_k(
                make_groups(
                    self.groups,
                    [
                        str(name)
                        for name in getattr(self, "feature_names_in_", (f"x{j}" for j in range(p)))
                    ],
                ),
                p,
                effective_rows(weights),
            )
        if want is None:
            want = int(min(p, effective_rows(weights) // 2, 100))
        elif (
            isinstance(want, (bool, np.bool_))
            or not isinstance(want, (int, np.integer))
            or want < 0
        ):
            raise ValueError(f"max_k={want!r} must be a whole number >= 0, or None")
        if self.groups is not None:
            return int(want)
        named = getattr(self, "penalty", "L0")
        if any(
            name.replace("lambda", "L") in named
            if value is None
            else nonnegative(value, name).min() > 0
            for name, value in (("lambda1", self.lambda1), ("lambda2", self.lambda2))
        ):
            return int(want)
        intercept = int(bool(self.fit_intercept))
        rows = distinct_rows(X, np.flatnonzero(weights), want + intercept + 1)
        return int(want) if rows > want + intercept or p <= rows else max(rows - intercept - 1, 0)


def distinct_rows(X, rows, enough):
    """How many different rows X has among these, by their sums along a random direction (1e-12
    relative); counting stops at `enough`, so that mostly few rows are read.
    """
    direction, size = np.random.default_rng(8128).standard_normal(X.shape[1]), 2 * enough
    while True:
        with np.errstate(all="ignore"):  # what is not finite is refused by the fit
            along = np.sort(X[rows[:size]] @ direction)
            count = 1 + np.count_nonzero(np.diff(along) > 1e-12 * np.abs(along).max())
        if count >= enough or size >= rows.size:
            return count
        size *= 2


class _OneModel(_Selected):
    """Fit a path and take the model of a size, or of a lambda0."""

    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the path and take the model of size `k`, or the model at `lambda0`.

        Parameters
        ----------
        X : array-like of shape (n, p), DataFrame, sparse matrix or design
            The columns to choose from.
        y : array-like of shape (n,)
            The response.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0: 2 is a row twice, and 0 is no row. None means 1 for each row.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError or TypeError
            If an argument is not one of those described. The message names it, its value and the
            remedy.
        TimeoutError
            If time_limit ends before the first model.
        """
        X, y, sample_weight = self._data(X, y, sample_weight)
        arguments = self._with_offset(X, self._arguments(PASSED))
        for name in ("lambda1", "lambda2"):
            arguments[name] = number(arguments[name], name)
        arguments["max_k"] = self._length(X, sample_weight)
        if self.lambda0 is not None:
            arguments["lambda0"] = [number(self.lambda0, "lambda0")]
        try:
            path = cached_path(self.memory, X, y, sample_weight, arguments, self.n_jobs)
        except Unfinished as unfinished:
            path = unfinished.path
            self._tell(path)
        if self.lambda0 is not None:
            return self._take(path, 0)
        sizes = [s.k for s in path.solutions]
        return self._take(
            path, sizes.index(max((k for k in sizes if k <= self.k), default=min(sizes)))
        )

    def _length(self, X, sample_weight):
        """The largest size of the path: `max_k`, or k alone; for a lambda0, or with a cache, which
        serves every k, what `fit` takes by itself.
        """
        k, max_k = self.k, self.max_k
        if self.lambda0 is not None:
            return self._largest(X, sample_weight, max_k)
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 0:
            raise ValueError(f"k={k!r} must be a whole number >= 0, the size of the model")
        if max_k is None:
            return (
                self._largest(X, sample_weight, k)
                if self.memory is None
                else max(self._largest(X, sample_weight, None), self._largest(X, sample_weight, k))
            )
        if isinstance(max_k, (int, np.integer)) and max_k < k:
            raise ValueError(f"max_k={max_k!r} is below k={k}; raise it, or leave max_k=None")
        return self._largest(X, sample_weight, max_k)

    def _tell(self, path):
        """A warning about a path that ended at its time limit, an error where it is empty."""
        if not len(path):
            raise TimeoutError(
                f"time_limit={self.time_limit:g} s was over before the first model; raise it"
            ) from None
        warnings.warn(
            f"time_limit={self.time_limit:g} s was over at k = {path.solutions[-1].k} "
            f"({path.status}); raise time_limit, or lower k or max_k",
            ConvergenceWarning,
            stacklevel=3,
        )


class _BestModel(_Selected):
    """Cross-validate a path and take the model that the scores, or a rule, choose."""

    def fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Cross-validate the path by `l0path.cv_fit` and take the model that `which` names.

        The model is the one fitted on all rows.

        Parameters
        ----------
        X : array-like of shape (n, p), DataFrame, sparse matrix or design
            The columns to choose from.
        y : array-like of shape (n,)
            The response.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0 of training and held-out rows. None means 1 for each row.
        groups : array-like of shape (n,), optional
            Labels of rows that stay together in one fold (the parameter `groups` of the estimator
            is about columns). None keeps no rows together.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError or TypeError
            If an argument is not one of those described. The message names it, its value and the
            remedy.
        TimeoutError
            If time_limit leaves fewer than two folds.
        """
        X, y, sample_weight = self._data(X, y, sample_weight)
        max_k = self._largest(X, sample_weight, self.max_k)
        self.cv_ = cv_fit(
            X,
            y,
            sample_weight=sample_weight,
            groups_cv=groups,
            max_k=max_k,
            n_jobs=self.n_jobs,
            **self._with_offset(X, self._arguments(PASSED_CV)),
        )
        return self._take(self.cv_.path, self.cv_.index(self.which))


class _Regressor(RegressorMixin):
    def predict(self, X: Matrix) -> np.ndarray:
        """Predictions for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m,)
            Predicted means, in units of y.
        """
        return self._predict(X, "response")


def _has_probabilities(self):
    if isinstance(self.loss, str) and canonical_name(self.loss, exact=True) == "logistic":
        return True
    raise AttributeError(
        f"loss={self.loss!r} has no probabilities; use decision_function, or loss='logistic'"
    )


class _Classifier(ClassifierMixin):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Matrix) -> np.ndarray:
        """The linear predictor of new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m,)
            Positive values speak for classes_[1].
        """
        eta = self._predict(X, "link")
        return eta if self.path_.classes[1] == self.classes_[1] else -eta

    def predict(self, X: Matrix) -> np.ndarray:
        """Labels of new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m,)
            classes_[1] where the linear predictor is positive, else classes_[0].
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(np.int64)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Matrix) -> np.ndarray:
        """Probabilities of the two classes for new rows, for loss="logistic" only.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m, 2)
            Probabilities of classes_[0] and classes_[1].
        """
        eta = self.decision_function(X)
        with np.errstate(over="ignore"):
            return np.column_stack([1.0 / (1.0 + np.exp(eta)), 1.0 / (1.0 + np.exp(-eta))])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Matrix) -> np.ndarray:
        """Logarithms of `predict_proba`, exact where a probability is 0 up to rounding.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m, 2)
            Logarithms of the probabilities of classes_[0] and classes_[1].
        """
        eta = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)])


class L0Regressor(_Regressor, _OneModel):
    """Linear regression on the best subset of k columns.

        minimise    (1 / sum w) sum_i w_i loss(y_i, beta0 + x_i'beta)
                    + lambda1 ||b||_1 + lambda2 ||b||_2^2
        subject to  at most k nonzero coefficients b_j = s_j beta_j,
                    s_j the weighted standard deviation of column j if standardize, else 1

    Parameters
    ----------
    k : int, default 10
        The size of the model; forced columns are not counted. Where no model of that size can be
        fitted, the largest that can be is taken, and `k_` says which: k > p, a perfect fit, or,
        without shrinkage and with p larger, as many coefficients as distinct rows (any columns
        would fit then).
    lambda0 : float, optional
        The cost of a column. If it is given, the model minimises the above + lambda0 ||beta||_0,
        and k is not used.
    lambda1, lambda2 : float, default 0.0
        Weights >= 0 of ||b||_1 and of ||b||_2^2, in units of the mean loss.
    loss : str, default "squared"
        "squared", "huber" (threshold `delta`) or "poisson".
    max_k : int, optional
        The largest size of the path. None means k, and with memory=, which serves every k, min(p,
        n_eff // 2, 100) or k if that is more. A longer path may hold a better model of size k,
        because its models are improved from both sides.
    memory : str or joblib.Memory, optional
        Where paths are kept, so that a grid search over k solves one path per training set,
        whatever the number of sizes. Each fit still reads its training set to recognise it, so
        where only k is searched `L0RegressorCV` is faster. A path from there has no data: methods
        of `path_` that need them take X= and y=.
    algorithm : str or settings record, default "swap"
        As in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients in units of y and X, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds, likewise.
    always_include : array-like of str, int, or bool, optional
        Columns in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Columns in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of columns, as in `l0path.fit`. Then k is the number of chosen groups, and
        `model_.groups` names them.
    offset : str or int, optional
        A column of X, by name (of a DataFrame) or number, that is added to the linear predictor:
        the logarithm of an exposure, for rates. It is no feature: never chosen, 0 in coef_. As a
        column it goes with its rows through pipelines and searches; transformers before must pass
        it through unchanged. `offset_index_` is its place in X.
    delta : float, optional
        The threshold of the Huber loss in units of y. None takes it from a robust pilot fit.
    tol : float, default 1e-8
        The relative accuracy, as in `l0path.fit`.
    max_iter : int, default 1000
        The largest number of Newton steps or sweeps of one solve.
    time_limit : float, optional
        Seconds after which the largest model solved, up to k, is taken, with a ConvergenceWarning.
        None means no limit.
    n_jobs : int, optional
        The number of threads. None takes all.
    random_state : int, Generator, or None
        The seed of effort="high", as in `l0path.fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        The coefficients in units of y and X.
    intercept_ : float
        The intercept.
    k_ : int
        The size of the model.
    n_iter_ : int
        Rounds of the search over all columns.
    path_ : Path
        The path.
    model_ : Model
        The chosen model.
    n_features_in_ : int
        The number p of columns of X.
    feature_names_in_ : ndarray of shape (p,)
        Their names, if X was a DataFrame.

    Notes
    -----
    `get_support()` and `transform(X)` keep exactly the columns of the model. (`SelectFromModel`
    compares |coef_| with a threshold, by default its mean: give threshold=1e-12.)

    The problem is equation (1) of Dedieu, Hazimeh & Mazumder, Journal of Machine Learning Research
    22:135, 2021.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.L0Regressor(k=2).fit(X, y).get_support(indices=True)
    array([2, 7])
    """

    def __init__(
        self,
        k: int = 10,
        *,
        lambda0: float | None = None,
        lambda1: float = 0.0,
        lambda2: float = 0.0,
        loss: str = "squared",
        max_k: int | None = None,
        memory: str | joblib.Memory | None = None,
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        delta: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        _keep(self, locals())


class L0Classifier(_Classifier, _OneModel):
    """Classification of two classes by a linear predictor on the best subset of k columns.

    The problem is that of `L0Regressor`; the response is -1 for classes_[0] and 1 for classes_[1],
    the sorted labels.

    Parameters
    ----------
    k : int, default 10
        The size of the model, as in `L0Regressor`.
    lambda0 : float, optional
        The cost of a column, which is used instead of k if it is given.
    lambda1 : float, default 0.0
        The weight >= 0 of ||b||_1.
    max_k : int, optional
        The largest size of the path, as in `L0Regressor`.
    memory : str or joblib.Memory, optional
        Where paths are kept, as in `L0Regressor`.
    lambda2 : float, default 1e-3
        The weight >= 0 of ||b||_2^2. It is not 0, because without shrinkage the logistic loss has
        no minimum where the columns separate the classes.
    loss : str, default "logistic"
        "logistic", "squared_hinge", "smoothed_hinge" (width `gamma`), or with algorithm="exact"
        "hinge". Only the first has `predict_proba`.
    class_weight : dict or str, optional
        {label: weight}, or "balanced" for sum w / (2 sum of w in the class). It multiplies
        sample_weight. None means 1 for each class.
    pos_label : object, optional
        The label that `path_` and `model_` (their coefficients, bounds, summaries and plots) speak
        for. None means classes_[1]. classes_, coef_, intercept_, `decision_function` and
        `predict_proba` keep the order of scikit-learn whatever it is.
    gamma : float, default 0.25
        The width > 0 of the smoothed hinge.
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds of the coefficients, as in `l0path.fit`.
    always_include : array-like of str, int, or bool, optional
        Columns in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Columns in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of columns, as in `L0Regressor`.
    offset : str or int, optional
        A column of X that is added to the linear predictor, as in `L0Regressor`.
    tol : float, default 1e-8
        The relative accuracy, as in `l0path.fit`.
    max_iter : int, default 1000
        The largest number of Newton steps or sweeps of one solve.
    time_limit : float, optional
        Seconds after which the largest model solved, up to k, is taken. None means no limit.
    n_jobs : int, optional
        The number of threads. None takes all.
    random_state : int, Generator, or None
        The seed of effort="high".

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The sorted labels.
    coef_ : ndarray of shape (1, p)
        The coefficients in units of X.
    intercept_ : ndarray of shape (1,)
        The intercept.
    k_, n_iter_, path_, model_, n_features_in_, feature_names_in_ : as in L0Regressor
        The size, rounds of the search, the path, the chosen model, and the number and names of
        columns.

    Notes
    -----
    More than two classes raise a ValueError: use
    sklearn.multiclass.OneVsRestClassifier(L0Classifier(...)).

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_wdbc(); model = l0path.L0Classifier(k=3).fit(data.X, data.y)
    >>> list(model.get_feature_names_out()), round(model.score(data.X, data.y), 3)
    (['worst_radius', 'worst_texture', 'worst_concave_points'], 0.968)
    """

    def __init__(
        self,
        k: int = 10,
        *,
        lambda0: float | None = None,
        lambda1: float = 0.0,
        lambda2: float = 1e-3,
        loss: str = "logistic",
        class_weight: str | dict | None = None,
        pos_label: object = None,
        max_k: int | None = None,
        memory: str | joblib.Memory | None = None,
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        gamma: float = 0.25,
        tol: float = 1e-8,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        _keep(self, locals())


class L0RegressorCV(_Regressor, _BestModel):
    """`L0Regressor` whose size is chosen by cross-validation of the whole path.

    lambda1 and lambda2 are chosen with the size where they have grids, see `l0path.cv_fit`.

    Parameters
    ----------
    max_k : int, optional
        The largest size tried. None means min(p, n_eff // 2, 100), and less where models would
        interpolate, see k of `L0Regressor`.
    cv : int, splitter, iterable, or array-like, default 5
        The number of folds (shuffled by random_state), a scikit-learn splitter, an iterable of
        (train, test), or fold ids, one per row.
    scoring : str, scorer, or callable, optional
        "deviance", "mse", "mae", "r2", a name or scorer of scikit-learn, or f(y, prediction,
        sample_weight). None means "deviance", the mean squared error for the squared loss.
    which : str or callable, default "min"
        "min" for the best score, "1se" for the fewest columns within one standard error of it, or a
        criterion such as "bic", which looks at the fit on all rows.
    n_repeats : int, default 1
        Repeats of an integer cv.
    penalty : str, default "L0"
        "L0", "L0L1", "L0L2" or "L0L1L2": the terms that get a grid of `n_shrink` values where
        lambda1 or lambda2 is None.
    lambda1, lambda2 : float or sequence of float, optional
        Weights of ||b||_1 and of ||b||_2^2, used as they are. None means the grid that `penalty`
        names, else 0.
    n_shrink : int, default 10
        The number of values of a default grid of lambda1 or lambda2.
    grid : str, default "support"
        "support" for every size, or "lambda0".
    loss : str, default "squared"
        "squared", "huber" (threshold `delta`) or "poisson".
    delta : float, optional
        The threshold of the Huber loss in units of y. None takes it from a robust pilot fit.
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds of the coefficients, as in `l0path.fit`.
    always_include : array-like of str, int, or bool, optional
        Columns in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Columns in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of columns, as in `L0Regressor`.
    offset : str or int, optional
        A column of X that is added to the linear predictor, as in `L0Regressor`.
    tol : float, default 1e-8
        The relative accuracy, as in `l0path.fit`.
    max_iter : int, default 1000
        The largest number of Newton steps or sweeps of one solve.
    time_limit : float, optional
        Seconds for all fits. None means no limit.
    n_jobs : int, optional
        The number of processes for the folds. None means one process with all threads.
    random_state : int, Generator, or None
        The seed of the folds. None draws a new one for each fit (`cv_.random_state`).

    Attributes
    ----------
    cv_ : CVPath
        Scores and standard errors of every model.
    path_ : Path
        The path on all rows.
    model_, k_, coef_, intercept_, n_iter_ : as in L0Regressor
        The chosen model, its size, coefficients and intercept, and the rounds of the search.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters()
    >>> model = l0path.L0RegressorCV(max_k=8, which="1se", random_state=1).fit(data.X, data.y)
    >>> model.k_, model.transform(data.X).shape
    (2, (263, 2))
    """

    def __init__(
        self,
        max_k: int | None = None,
        *,
        cv: int | Iterable | Any = 5,
        scoring: str | Callable | None = None,
        which: str | Callable = "min",
        n_repeats: int = 1,
        penalty: str = "L0",
        lambda1: float | Sequence[float] | None = None,
        lambda2: float | Sequence[float] | None = None,
        n_shrink: int = 10,
        grid: str = "support",
        loss: str = "squared",
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        delta: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        _keep(self, locals())


class L0ClassifierCV(_Classifier, _BestModel):
    """`L0Classifier` whose size is chosen by cross-validation of the whole path.

    lambda1 and lambda2 are chosen with the size where they have grids, see `l0path.cv_fit`. Folds
    are stratified by class.

    Parameters
    ----------
    max_k : int, optional
        The largest size tried, as in `L0RegressorCV`.
    cv : int, splitter, iterable, or array-like, default 5
        The folds, stratified by class, in the forms that `L0RegressorCV` takes.
    which : str or callable, default "min"
        "min", "1se", or a criterion, as in `L0RegressorCV`.
    n_repeats : int, default 1
        Repeats of an integer cv.
    penalty : str, default "L0"
        The terms that get a grid of `n_shrink` values where lambda1 or lambda2 is None.
    n_shrink : int, default 10
        The number of values of a default grid of lambda1 or lambda2.
    grid : str, default "support"
        "support" for every size, or "lambda0".
    scoring : str, scorer, or callable, optional
        "deviance", "auc", "misclassification", "brier" (logistic only), a name or scorer of
        scikit-learn, or a function. None means "deviance", twice the mean negative log-likelihood
        for the logistic loss.
    lambda1 : float or sequence of float, optional
        Weights of ||b||_1. None means the grid that `penalty` names, else 0.
    lambda2 : float, sequence of float or None, default 1e-3
        Weights of ||b||_2^2. None means the grid that `penalty` names, else 0.
    loss : str, default "logistic"
        The loss, as in `L0Classifier`.
    class_weight : dict or str, optional
        Class weights, as in `L0Classifier`; "balanced" weights are those of each training set.
    pos_label : object, optional
        The label that `path_` and `model_` speak for, as in `L0Classifier`.
    gamma : float, default 0.25
        The width > 0 of the smoothed hinge.
    algorithm : str or settings record, default "swap"
        The search, as in `l0path.fit`.
    fit_intercept, standardize : bool, default True
        As in `l0path.fit`.
    lower : float, array-like of shape (p,) or dict, default -inf
        Lower bounds of the coefficients, as in `l0path.fit`.
    upper : float, array-like of shape (p,) or dict, default inf
        Upper bounds of the coefficients, as in `l0path.fit`.
    always_include : array-like of str, int, or bool, optional
        Columns in every model, as in `l0path.fit`.
    exclude : array-like of str, int, or bool, optional
        Columns in no model, as in `l0path.fit`.
    penalty_factor : array-like of shape (p,) or dict, optional
        Factors of lambda0, as in `l0path.fit`.
    groups : sequence or dict, optional
        Groups of columns, as in `L0Regressor`.
    offset : str or int, optional
        A column of X that is added to the linear predictor, as in `L0Regressor`.
    tol : float, default 1e-8
        The relative accuracy, as in `l0path.fit`.
    max_iter : int, default 1000
        The largest number of Newton steps or sweeps of one solve.
    time_limit : float, optional
        Seconds for all fits. None means no limit.
    n_jobs : int, optional
        The number of processes for the folds. None means one process with all threads.
    random_state : int, Generator, or None
        The seed of the folds. None draws a new one for each fit (`cv_.random_state`).

    Attributes
    ----------
    cv_ : CVPath
        Scores and standard errors of every model.
    path_, model_, k_, coef_, intercept_, n_iter_, classes_ : as in L0Classifier
        The path on all rows, the chosen model, its size, coefficients and intercept, the rounds of
        the search, and the sorted labels.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_wdbc()
    >>> model = l0path.L0ClassifierCV(max_k=4, scoring="auc", random_state=1).fit(data.X, data.y)
    >>> model.predict_proba(data.X)[:2].round(2)
    array([[1., 0.],
           [1., 0.]])
    """

    def __init__(
        self,
        max_k: int | None = None,
        *,
        cv: int | Iterable | Any = 5,
        scoring: str | Callable | None = None,
        which: str | Callable = "min",
        n_repeats: int = 1,
        penalty: str = "L0",
        lambda1: float | Sequence[float] | None = None,
        lambda2: float | Sequence[float] = 1e-3,
        n_shrink: int = 10,
        grid: str = "support",
        loss: str = "logistic",
        class_weight: str | dict | None = None,
        pos_label: object = None,
        algorithm: str | Settings = "swap",
        fit_intercept: bool = True,
        standardize: bool = True,
        lower: Bound = -math.inf,
        upper: Bound = math.inf,
        always_include: Columns | None = None,
        exclude: Columns | None = None,
        penalty_factor: ArrayLike | None = None,
        groups: Sequence | dict | None = None,
        offset: str | int | None = None,
        gamma: float = 0.25,
        tol: float = 1e-8,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        _keep(self, locals())
