"""Predictions, as scikit-learn asks for them: of regressors and of classifiers."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..core.types import Matrix
from ..paths.predicting import class_predictors
from ..problem.losses import NAMES, takes_several, traits_named
from ..problem.several import probabilities
from ..problem.specified import told_apart
from .columns import loss_named
from .selecting import MULTICLASS


class RegressorMethods(RegressorMixin):
    """Predictions of numbers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        loss, numbers = told_apart(self.loss)
        known = isinstance(loss, str) and loss in NAMES and takes_several(loss)
        # a number that is to be found from the data is that of one response
        tags.target_tags.multi_output = known and traits_named(loss).pilot in ("", *numbers)
        return tags

    def predict(self, X: Matrix) -> np.ndarray:
        """Predictions for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m,) or (m, r)
            Predicted means, in units of y. Linear predictors for a loss of your own that has no
            mean.
        """
        return self._predict(X, None)


def _has_probabilities(self):
    loss = told_apart(self.loss)[0]
    if isinstance(loss, str) and traits_named(loss_named(loss)).link:
        return True
    raise AttributeError(
        f"loss={self.loss!r} has no probabilities; use decision_function, or loss='logistic'"
    )


def _probabilities(eta):
    """Probabilities (m, r) of classes by what `decision_function` returns."""
    if eta.ndim == 2:
        return probabilities(eta)
    with np.errstate(over="ignore"):
        return np.column_stack([1.0 / (1.0 + np.exp(eta)), 1.0 / (1.0 + np.exp(-eta))])


class ClassifierMethods(ClassifierMixin):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = told_apart(self.loss)[0] in MULTICLASS
        return tags

    def decision_function(self, X: Matrix) -> np.ndarray:
        """The linear predictor of new rows; of ordered classes the logarithms of probabilities.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m,) or (m, r)
            Positive values favor classes_[1] (for two ordered classes they are differences of the
            logarithms); of several classes the largest of a row is favored.
        """
        eta = self._predict(X, "link")
        if self.path_._meta.ordered:
            logs = class_predictors(self.path_._solutions[self.model_._index], eta)
            logs = logs[:, self._places()]
            return logs if logs.shape[1] > 2 else logs[:, 1] - logs[:, 0]
        if eta.ndim == 2:
            return eta[:, self._places()]
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
            The class of largest probability by `predict_proba`, the first of equal ones. Of losses
            without probabilities classes_[1] where the linear predictor is positive, else
            classes_[0].
        """
        eta = self.decision_function(X)
        if self.path_._meta.traits.link:
            return self.classes_[_probabilities(eta).argmax(axis=1)]
        at = (eta > 0).astype(np.int64) if eta.ndim == 1 else eta.argmax(axis=1)
        return self.classes_[at]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Matrix) -> np.ndarray:
        """Probabilities of the classes for new rows, for a loss that has them.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m, r)
            Probabilities of the r classes, in the order of classes_.
        """
        return _probabilities(self.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Matrix) -> np.ndarray:
        """Logarithms of `predict_proba`, exact where a probability is 0 up to rounding.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows.

        Returns
        -------
        ndarray of shape (m, r)
            Logarithms of the probabilities of the classes.
        """
        eta = self.decision_function(X)
        if eta.ndim == 2:
            return eta - np.logaddexp.reduce(eta, axis=1)[:, None]
        return np.column_stack([-np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)])
