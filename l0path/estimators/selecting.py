"""The common part of the estimators: arguments, paths kept in a cache, the chosen columns."""

from __future__ import annotations

import pickle
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Self

import joblib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, check_memory

from ..core.arguments import is_whole, number
from ..core.status import End
from ..core.types import Matrix
from ..cross_validation import cv_fit
from ..engine.arguments import refuse_shares, sample_weights
from ..engine.grids import Grid, lambdas
from ..engine.posing import default_max_k
from ..engine.responses import refuse_amounts
from ..errors import ConvergenceWarning, refuse_masked
from ..fitting import fit
from ..paths import Model
from ..problem.groups import make_groups
from ..problem.losses import CLASSIFICATION, takes_several, traits_named
from ..problem.specified import told_apart
from .columns import (
    categories_of,
    checked,
    column_of,
    loss_named,
    refuse_responses,
    without_column,
)

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
    "time_limit",
    "class_weight",
    "pos_label",
    "groups",
)  # parameters that `fit` takes under the same name
PASSED_CV = (*PASSED, "relax", "lambda0", "cv", "scoring", "n_repeats")
# losses of classifiers that take more than two classes; all but the last mean the multinomial one
MULTICLASS = ("logistic", "Logistic", "binomial", "multinomial", "ordinal")


class Unfinished(Exception):
    """A path that its time limit cut short: raised through the cache, so that it is not stored."""

    def __init__(self, path):
        super().__init__(path.status)
        self.path = path


def whole_path(X, y, sample_weight, arguments, n_jobs):
    """The path of `fit`, if nothing cut it short."""
    path = fit(X, y, sample_weight=sample_weight, n_jobs=n_jobs, **arguments)
    if path._end == End.INTERRUPTED:
        raise KeyboardInterrupt(f"the fit was interrupted ({path.status})")
    if not path._end.finished:
        raise Unfinished(path)
    return path


def pickled_path(X, y, sample_weight, arguments, n_jobs, key):
    """`whole_path` as bytes, for joblib to cache (it would take longer to read the path's names one
    by one) under `key` alone.
    """
    return pickle.dumps(whole_path(X, y, sample_weight, arguments, n_jobs)._without_data())


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


class SelectedColumns(SelectorMixin, BaseEstimator):
    """Base class of the estimators: checked data, and a model of a path as fitted
    attributes.
    """

    def __getstate__(self):
        """The state without X and y, which `path_` refers to: pickles are made to predict, and are
        what processes send to each other.
        """
        state, bare = super().__getstate__(), {}

        def without(path):
            return bare.setdefault(id(path), path._without_data())

        if "path_" in state:
            model = state["model_"]
            own = {
                "path_": without(state["path_"]),
                "model_": Model(without(model.path), model._index, model._chosen_by),
            }
            if "cv_" in state:
                own["cv_"] = without(state["cv_"])
            state = state | own
        return state

    def _data(self, X, y, sample_weight):
        """(X, y, sample_weight) as `fit` takes them; n_features_in_, feature_names_in_ and, for
        classes, classes_ are set. NaN in X is found by `fit`.
        """
        classes = isinstance(self, ClassifierMixin)
        refuse_responses(self.loss, y, classes)
        loss = loss_named(self.loss)
        if classes and loss == "binomial":  # glmnet's name
            loss = "logistic"
        if (loss in CLASSIFICATION or loss == "ordinal") != classes:
            other = "Regressor" if classes else "Classifier"
            raise ValueError(
                f"loss={self.loss!r} is for {'numbers' if classes else 'classes'}: use L0{other} "
                f"or L0{other}CV"
            )
        for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            refuse_masked(value, name)
        if classes:
            refuse_shares(y, self.loss)
        kind = categories_of(y)
        X, y = checked(
            self,
            X,
            y,
            ensure_all_finite=False,
            ensure_min_samples=2,
            y_numeric=not classes,
            multi_output=not classes and takes_several(loss),
        )
        return (
            X,
            self._labels(y, kind) if classes else y,
            None if sample_weight is None else np.asarray(sample_weight),
        )

    def _labels(self, y, categories):
        """Classes of any dtype, as an array of labels that sort. More than two take the multinomial
        loss, which extends the logistic one. Ordered classes keep the order of their categories (a
        dtype, or None).
        """
        y = np.asarray(y)
        if y.dtype == object and len({type(label) for label in y}) == 1:
            y = np.array(y.tolist())
        if y.ndim == 1 and y.dtype.kind in "fiu":
            refuse_amounts(
                pd.Series(y),
                np.unique(y),
                ordered=self._ordered(),
                remedy="l0path.L0Regressor or l0path.L0RegressorCV",
                before="Unknown label type: ",  # by which scikit-learn knows the error
            )
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary" and not (
            kind == "multiclass" and told_apart(self.loss)[0] in MULTICLASS
        ):
            raise ValueError(
                f"Only binary classification is supported by loss={self.loss!r}. The type of the "
                f"target is {kind}. For more than two classes use loss='logistic'"
            )
        self.classes_ = np.unique(y)
        ordered = self._ordered() and categories is not None
        return pd.Series(pd.Categorical(y, dtype=categories)) if ordered else y

    def _ordered(self):
        """Whether the classes are ordered ones."""
        return told_apart(self.loss)[0] == "ordinal"

    def _arguments(self, names):
        """Arguments of `fit` or `cv_fit` from the parameters."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31 - 1))
        out = {name: value for name, value in vars(self).items() if name in names}
        if isinstance(self, ClassifierMixin) and self.classes_.size > 2:
            told = told_apart(self.loss)[0]
            out["loss"] = self.loss if told in ("multinomial", "ordinal") else "multinomial"
        if out.get("fit_intercept") and not traits_named(loss_named(self.loss)).intercept:
            out["fit_intercept"] = None  # the default here: the loss does not see a constant
        return out | {
            "random_state": seed,
            "feature_names": getattr(self, "feature_names_in_", None),
        }

    def _with_offset(self, X, arguments):
        """The arguments of the path with the column of X that `offset` names as offset, and that
        column left out of the search; sets offset_index_, None without.
        """
        self.offset_index_ = self._place("offset", X.shape[1])
        if self.offset_index_ is None:
            return arguments
        return without_column(arguments, self.offset_index_) | {"offset": self._offset(X)}

    def _place(self, parameter, p):
        """The place of the column that a parameter names; None if it is None."""
        value, names = getattr(self, parameter), list(getattr(self, "feature_names_in_", []))
        if value is None:
            return None
        if isinstance(value, str) and value in names:
            return names.index(value)
        if is_whole(value):
            if -p <= value < p:
                return int(value) % p
        given = repr(value) if np.isscalar(value) else f"a {type(value).__name__}"
        kind = {"offset": "an offset", "strata": "a stratum"}[parameter]
        raise ValueError(
            f"{parameter}={given} must be the name of a column of the DataFrame X, or the number "
            f"of a column of X (0 to {p - 1}); {kind} given by row goes into a column of X"
        )

    def _offset(self, X):
        """(n,) the column of X that is the offset; None without."""
        if self.offset_index_ is None:
            return None
        return column_of(X, self.offset_index_)

    def _take(self, path, index, chosen_by=""):
        """Set the fitted attributes."""
        self.path_, self.model_ = path, Model(path, index, chosen_by)
        s = path._solutions[index]
        coef, intercept = np.zeros((path.p, *s.beta.shape[1:])), s.intercept
        coef[s.support] = s.beta
        if path._meta.responses is not None:
            coef = np.ascontiguousarray(coef.T)
        if path._meta.traits.by_class:
            coef, intercept = coef[self._places()], intercept[self._places()]
        two = isinstance(self, ClassifierMixin) and path._meta.responses is None
        if path._meta.ordered:
            intercept = -s.thresholds
        elif two and path.classes[1] != self.classes_[1]:  # the path speaks for pos_label
            coef, intercept = -coef, -intercept
        self.k_, self.n_iter_ = int(s.k), max(len(path.rounds), 1)
        self.coef_, self.intercept_ = (
            (coef[None, :], np.atleast_1d(intercept)) if two else (coef, intercept)
        )
        return self

    def _places(self):
        """The places of `classes_` among those of the path."""
        return [self.path_.classes.index(label) for label in self.classes_]

    def _get_support_mask(self):
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.model_.support)

    def _predict(self, X, type):
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        return self.path_.predict(X, index=self.model_._index, type=type, offset=self._offset(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _default_size(self, X, y, rows):
        """The default of max_k: what `fit` takes for as many rows as there are different ones (X,
        y) among these, so that copies of rows and their weights do not change it.
        """
        p, groups = X.shape[1], None
        if self.groups is not None:
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(p)])
            groups = make_groups(self.groups, list(map(str, names)))
        enough = 2 * (min(p, 100) if groups is None else groups.columns.size)
        return default_max_k(groups, p, distinct_rows(X, rows, enough, y))

    def _largest(self, X, y, sample_weight, want):
        """`want`, or less where a model of that size would interpolate: without shrinkage, as many
        coefficients as distinct rows fit any y with almost any columns (if there are more), so the
        choice among them would be one of rounding. None stands for `_default_size`.
        """
        n, p = X.shape
        weights = sample_weights(sample_weight, n)
        if want is None:
            want = self._default_size(X, y, np.flatnonzero(weights))
        elif not is_whole(want) or want < 0:
            raise ValueError(f"max_k={want!r} must be a whole number >= 0, or None")
        if self.groups is not None:
            return int(want)
        # "auto" has a ridge of 0 among others, or is 0
        ridges = None if isinstance(self.lambda2, str) and self.lambda2 == "auto" else self.lambda2
        given = (lambdas(self.lambda1, "lambda1"), lambdas(ridges, "lambda2"))
        if any(isinstance(v, Grid) or (v is not None and v.min() > 0) for v in given):
            return int(want)
        intercept = int(bool(self.fit_intercept))
        rows = distinct_rows(X, np.flatnonzero(weights), want + intercept + 1)
        return int(want) if rows > want + intercept or p <= rows else max(rows - intercept - 1, 0)


def distinct_rows(X, rows, enough, y=None):
    """Number of different rows of X, or (X, y), among these, by their sums along a random direction
    (1e-12 relative). Counting stops at `enough`, so that mostly few rows are read. y: numbers, of
    one response or several, or labels.
    """
    rng, size = np.random.default_rng(8128), 2 * enough
    direction = rng.standard_normal(X.shape[1])
    if y is not None:
        y = np.asarray(y)
        y = np.unique(y, return_inverse=True)[1] if y.dtype.kind not in "fiub" else y
        y = y.reshape(X.shape[0], -1).astype(np.float64)
        also = rng.standard_normal(y.shape[1])
    while True:
        with np.errstate(all="ignore"):  # what is not finite is refused by the fit
            along = X[rows[:size]] @ direction
            along = np.sort(along if y is None else along + y[rows[:size]] @ also)
            count = 1 + np.count_nonzero(np.diff(along) > 1e-12 * np.abs(along).max())
        if count >= enough or size >= rows.size:
            return count
        size *= 2


class ModelOfOneSize(SelectedColumns):
    """Fit a path and take the model of a size, or of a lambda0."""

    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the path and take the model of size `k`, or the model at `lambda0`.

        Parameters
        ----------
        X : array-like of shape (n, p), DataFrame, sparse matrix or design
            The features to choose from.
        y : array-like of shape (n,)
            The response.
        sample_weight : array-like of shape (n,), optional
            Importance or precision of rows, as in `l0path.fit`: 0 is no row, and a constant factor
            changes nothing. None means 1 for each row.

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
        arguments["max_k"] = self._length(X, y, sample_weight)
        if self.lambda0 is not None:
            arguments["lambda0"] = [number(self.lambda0, "lambda0")]
        try:
            path = cached_path(self.memory, X, y, sample_weight, arguments, self.n_jobs)
        except Unfinished as unfinished:
            path = unfinished.path
            self._tell(path)
        if self.lambda0 is not None:
            return self._take(path, 0)
        sizes = [s.k for s in path._solutions]
        return self._take(
            path, sizes.index(max((k for k in sizes if k <= self.k), default=min(sizes)))
        )

    def _length(self, X, y, sample_weight):
        """The largest size of the path: `max_k`, or k alone; for a lambda0, or with a cache, which
        serves every k, what `fit` takes by itself.
        """
        k, max_k = self.k, self.max_k
        if self.lambda0 is not None:
            return self._largest(X, y, sample_weight, max_k)
        if not is_whole(k) or k < 0:
            raise ValueError(f"k={k!r} must be a whole number >= 0, the size of the model")
        if max_k is None:
            least = self._largest(X, y, sample_weight, k)
            if self.memory is None:
                return least
            return max(self._largest(X, y, sample_weight, None), least)
        if isinstance(max_k, (int, np.integer)) and max_k < k:
            raise ValueError(f"max_k={max_k!r} is below k={k}; raise it, or leave max_k=None")
        return self._largest(X, y, sample_weight, max_k)

    def _tell(self, path):
        """A warning about a path that ended at its time limit, an error where it is empty."""
        if not len(path):
            raise TimeoutError(
                f"time_limit={self.time_limit:g} s was over before the first model; raise it"
            ) from None
        warnings.warn(
            f"time_limit={self.time_limit:g} s was over at k = {path._solutions[-1].k} "
            f"({path.status}); raise time_limit, or lower k or max_k",
            ConvergenceWarning,
            stacklevel=3,
        )


class ModelOfBestScore(SelectedColumns):
    """Cross-validate a path and take the model that the scores, or a rule, choose."""

    def fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Cross-validate the path by `l0path.cv_fit` and take the model that `rule` names.

        The model is the one fitted on all rows.

        Parameters
        ----------
        X : array-like of shape (n, p), DataFrame, sparse matrix or design
            The features to choose from.
        y : array-like of shape (n,)
            The response.
        sample_weight : array-like of shape (n,), optional
            Importance or precision of training and held-out rows, as in `l0path.fit`. None means 1
            for each row.
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
        max_k = self._largest(X, y, sample_weight, self.max_k)
        self.cv_ = cv_fit(
            X,
            y,
            sample_weight=sample_weight,
            groups_cv=groups,
            max_k=max_k,
            n_jobs=self.n_jobs,
            **self._with_offset(X, self._arguments(PASSED_CV)),
        )
        return self._take(*self.cv_._best(self.rule))
