"""Scores of predictions: metrics of held-out rows, by our names, scikit-learn's names, or a
function.

    name                what is averaged over rows, weighted by sample_weight
    deviance            2 (loss(y, eta) - loss of a perfect prediction); hinges: the loss itself
        squared         (y - mu)^2
        logistic        2 log(1 + exp(-y eta))
        poisson         2 (y log(y / mu) - y + mu)
        cox             for each held-out event, on the scale of -2 log likelihood / events of the
                        fit, see `coupled.scores`, as for its other metrics
        huber           2 loss
        own, all rows   the loss of the held-out rows alone
    mse, mae            (y - mu)^2, |y - mu|                             squared, huber, poisson
    brier               (P(positive) - [y positive])^2                   logistic
    misclassification   [predicted class is wrong]                       classes
    r2, auc             not means over rows: scikit-learn's r2_score (real y) and roc_auc_score
                        (classes, of the linear predictor)

The best r2 and auc are the largest; of all others the smallest is the best.
"""

import difflib
import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..paths.predicting import class_predictors
from ..problem.coupled import scores as survival
from ..problem.losses import CLASSIFICATION, COUPLED, NAMES, OWN_LOSSES, SURVIVAL, traits_named
from ..problem.responses import unit_deviance
from ..problem.several import class_codes, indicators, log_losses, probabilities
from ..problem.verbs import losses, mean_of_rows

HINGES = frozenset(name for name in CLASSIFICATION if not traits_named(name).link)
REAL = NAMES.keys() - CLASSIFICATION
ORDERED_CLASSES = set(COUPLED) - SURVIVAL
USES = {
    "deviance": REAL | CLASSIFICATION | set(COUPLED),
    "concordance": SURVIVAL,
    "concordance_uno": SURVIVAL,
    "integrated_brier": SURVIVAL,
    "mse": REAL,
    "mae": REAL,
    "r2": REAL,
    "auc": CLASSIFICATION | ORDERED_CLASSES,
    "misclassification": CLASSIFICATION | ORDERED_CLASSES,
    "brier": (CLASSIFICATION | ORDERED_CLASSES) - HINGES,
}


GATHERED = 1 << 22  # entries of columns that are held at a time: 32 MB
CENSORING = ("concordance_uno", "integrated_brier")  # weigh by it; rows must not enter late


def metrics_for(loss, late=False):
    """Names of the metrics that are defined for the loss of a name; one of the user's own is for
    numbers. late: whether rows of survival times enter late.
    """
    kind = "squared" if loss in OWN_LOSSES else loss
    if loss in OWN_LOSSES and not traits_named(loss).intercept:
        return ["deviance"]  # its predictor has no origin, and predicts no y
    return [
        name for name, losses in USES.items() if kind in losses and not (late and name in CENSORING)
    ]


class UndefinedScore(ValueError):
    """Held-out rows for which a metric is not defined, such as the AUC of a single class."""


class Metric(NamedTuple):
    """A metric: `rows(held)` gives one value per row whose weighted mean is the score; where it is
    None, `score(held)` gives the score.
    """

    name: str
    greater_is_better: bool
    rows: Callable | None
    score: Callable


class HeldOutRows(NamedTuple):
    """Rows that a fit has not seen."""

    y: np.ndarray  # (n,), as the loss takes it (-1 and 1 for classes)
    eta: np.ndarray  # (n,), linear predictor
    weights: np.ndarray  # (n,), of the samples
    path: Any  # whose loss and classes they belong to
    times: Any = None  # `coupled.scores.ScoredTimes`, of survival times

    @property
    def mu(self):
        """Predictions as `predict` gives them: means, or the linear predictor of a hinge."""
        return self.path._transform(self.eta, None)

    @property
    def by_class(self):
        """Whether there is a predictor for each of several classes."""
        return self.y.ndim == 2 and self.path.classes is not None

    @property
    def responses(self):
        """[(y, eta), ...] (n,) of each of several responses, or of the only one."""
        if self.y.ndim == 1:
            return [(self.y, self.eta)]
        return [
            (np.ascontiguousarray(y), np.ascontiguousarray(eta))
            for y, eta in zip(self.y.T, self.eta.T, strict=True)
        ]

    @property
    def labels(self):
        """The response as the user gave it."""
        if self.path.classes is not None:
            return np.asarray(self.path.classes)[class_codes(self.y)]
        # of several responses with two classes each, which are 0 and 1
        several = self.path._meta.traits.response == "classes"
        return (self.y > 0).astype(np.float64) if several else self.y


def deviance_rows(held):
    """The unit deviance of every row."""
    if held.by_class:
        return 2.0 * log_losses(held.y, held.eta)
    meta, loss, total = held.path._meta, held.path._loss_record(), 0.0
    shares = [1.0] if meta.responses is None else meta.response_weights
    for share, (y, eta) in zip(shares, held.responses, strict=True):
        out = np.empty(y.size)
        losses(loss, y, eta, out)
        total = total + share * unit_deviance(loss, y, eta, out)
    return total


def predicted_codes(held):
    """The numbers of the predicted classes, (n,), or (n, r) of several responses."""
    return held.eta.argmax(axis=1) if held.by_class else (held.eta > 0).astype(np.int64)


def _misclassified(held):
    codes = class_codes(held.y) if held.by_class else (held.y > 0).astype(np.int64)
    return _over_responses((predicted_codes(held) != codes).astype(float))


def _brier(held):
    if held.by_class:
        return ((held.mu - held.y) ** 2).sum(axis=1)
    return _over_responses((held.mu - (held.y > 0)) ** 2)


def _over_responses(values):
    """Values by row (n,), the mean where there are several responses, as in scikit-learn."""
    return values if values.ndim == 1 else values.mean(axis=1)


ROW_METRICS = {
    "deviance": deviance_rows,
    "mse": lambda held: _over_responses((held.y - held.mu) ** 2),
    "mae": lambda held: _over_responses(np.abs(held.y - held.mu)),
    "misclassification": _misclassified,
    "brier": _brier,
}


def _r2(held):
    from sklearn.metrics import r2_score

    if len(held.y) < 2:
        raise UndefinedScore(
            "scoring='r2' needs at least two held-out rows in every fold; use scoring='mse' with "
            "leave-one-out"
        )
    if np.isinf(held.mu).any():  # which scikit-learn refuses
        return -math.inf
    return r2_score(held.y, held.mu, sample_weight=held.weights)


def _auc(held):
    from sklearn.metrics import roc_auc_score

    if held.by_class:
        return _auc_of_classes(held)
    found = []
    for y, eta in held.responses:
        seen = y[held.weights > 0] > 0
        if seen.all() or not seen.any():
            raise UndefinedScore(
                "scoring='auc' needs both classes among the rows that are scored, in every fold; "
                "use fewer, stratified folds, more rows, or scoring='deviance'"
            )
        found.append(roc_auc_score(y > 0, eta, sample_weight=held.weights))
    return float(np.mean(found))


def _auc_of_classes(held):
    """The mean over the classes of the AUC of each against the rest, by its probability."""
    from sklearn.metrics import roc_auc_score

    seen = held.y[held.weights > 0]
    missing = np.asarray(held.path.classes)[~seen.any(axis=0)]
    if missing.size or not (seen == 0).any(axis=0).all():
        raise UndefinedScore(
            "scoring='auc' needs every class among the rows that are scored, in every fold "
            f"({', '.join(map(str, missing))} missing); use fewer, stratified folds, more rows, "
            "or scoring='deviance'"
        )
    return roc_auc_score(held.y, held.mu, sample_weight=held.weights)


def _loss_of_rows(held):
    """The loss of the held-out rows alone, with their weights, for a loss that couples them."""
    weights, loss = held.weights / held.weights.sum(), held.path._loss_record()
    value = mean_of_rows(loss, held.y, held.eta, weights)
    if np.isnan(value):
        raise UndefinedScore(
            f"the loss {held.path._meta.loss!r} of {held.y.size} held-out rows alone is NaN; use "
            "fewer folds, or other ones"
        )
    return value


WHOLE_METRICS = {"r2": _r2, "auc": _auc}


def _rmse(held):
    return math.sqrt(np.average(ROW_METRICS["mse"](held), weights=held.weights))


def score(metric, held):
    """The score of held-out rows of positive weight; the others may have predictions that
    overflow.
    """
    seen = held.weights > 0.0
    if seen.any() and not seen.all():
        held = held._replace(y=held.y[seen], eta=held.eta[seen], weights=held.weights[seen])
    with np.errstate(over="ignore", invalid="ignore"):
        if metric.rows is None:
            return float(metric.score(held))
        return float(metric.rows(held) @ held.weights / held.weights.sum())


def scores(metric, fits):
    """The scores of fits, each given by its `HeldOutRows` of the same rows, one after another.
    A metric of rows is asked for many fits at once.
    """
    fits = iter(fits)
    for first in fits:
        count = 1 if metric.rows is None else max(GATHERED // max(first.eta.size, 1), 1)
        some = [first, *itertools.islice(fits, count - 1)]
        if len(some) == 1:
            yield score(metric, first)
            continue
        seen = first.weights > 0.0
        seen = seen if seen.any() else ~seen  # rows without weight have a score of NaN, see `score`
        weights = first.weights[seen]
        together = first._replace(
            y=np.concatenate([one.y[seen] for one in some]),
            eta=np.concatenate([one.eta[seen] for one in some]),
            weights=np.tile(weights, len(some)),
        )
        with np.errstate(over="ignore", invalid="ignore"):
            rows = metric.rows(together).reshape(len(some), -1)
            values = rows @ weights / weights.sum()
        yield from values.tolist()


def held_out_rows(path, data, solutions, split):
    """The `HeldOutRows` of a fold (train, test) with each of these solutions of it, one after
    another.
    """
    test, times = split[1], None
    survival = data.loss.traits.response == "survival"  # risk sets hold training rows too
    rows = np.arange(data.design.n) if survival else test
    for s, eta in zip(solutions, predictors(data, solutions, rows), strict=True):
        if survival:
            times = times_of_fold(data, eta, split)
        y, own = in_classes(data.loss, s, data.y[test], eta[test] if survival else eta)
        yield HeldOutRows(y, own, data.weights[test], path, times)


def predictors(data, solutions, rows):
    """The linear predictor of each solution at these rows, one after another. The columns of many
    solutions are fetched at once.
    """
    n, start = data.design.n, 0
    while start < len(solutions):
        stop, shape = len(solutions), solutions[start].beta.shape[1:]
        while True:
            some = solutions[start:stop]
            J = np.unique(np.concatenate([s.support for s in some]))
            if max(J.size, len(some) * math.prod(shape)) * n <= GATHERED or len(some) == 1:
                break
            stop = start + (stop - start) // 2
        beta = np.zeros((len(some), J.size, *shape))
        for own, s in zip(beta, some, strict=True):
            own[np.searchsorted(J, s.support)] = s.beta
        Z = data.design.columns(J)[rows]
        for s, eta in zip(some, np.moveaxis(np.tensordot(Z, beta, (1, 1)), 1, 0), strict=True):
            eta = s.intercept + eta
            yield eta if data.offset is None else eta + data.offset[rows]
        start = stop


def in_classes(loss, solution, y, eta):
    """(y, eta) of rows as scores take them: indicators of ordered classes (m, K), and their log
    probabilities as predictors of the classes.
    """
    if loss.traits.response != "ordered":
        return y, eta
    return indicators(y.astype(np.int64), loss.levels), class_predictors(solution, eta)


def times_of_fold(data, eta, split):
    """The `ScoredTimes` of a fold (train, test) with the predictor (n,) of its fit."""
    train, test = split
    counts = np.bincount(train, minlength=eta.size)
    left_out = np.where(np.isin(np.arange(eta.size), test), data.weights, 0.0)
    return survival.ScoredTimes(data.loss, data.y, eta, data.weights * counts, left_out)


SURVIVAL_METRICS = {
    "deviance": survival.held_out_deviance,
    "concordance": survival.harrell,
    "concordance_uno": survival.uno,
    "integrated_brier": survival.integrated_brier,
}


def _of_survival(scoring, loss):
    """The Metric of survival times, whose risk sets go beyond the held-out rows."""
    if not isinstance(scoring, str) or scoring not in SURVIVAL_METRICS:
        raise ValueError(
            f"scoring={scoring!r} is not defined for loss={loss!r}; choose one of "
            f"{', '.join(map(repr, SURVIVAL_METRICS))}"
        )
    larger = scoring.startswith("concordance")
    return Metric(scoring, larger, None, lambda held: SURVIVAL_METRICS[scoring](held.times))


def metric_of(scoring, loss):
    """The Metric of a `scoring` argument for a loss; ValueError, with the metrics that fit, where
    it does not.
    """
    scoring = "deviance" if scoring is None else scoring
    if loss in SURVIVAL:
        return _of_survival(scoring, loss)
    if scoring == "rmse" and "mse" in metrics_for(loss):  # the root of the mse of each fold
        return Metric(scoring, False, None, _rmse)
    if isinstance(scoring, str) and scoring in USES:
        if scoring not in metrics_for(loss):
            fitting = ", ".join(map(repr, metrics_for(loss)))
            raise ValueError(
                f"scoring={scoring!r} is not defined for loss={loss!r}; choose one of {fitting}, a "
                "name of scikit-learn, or a function f(y, prediction, sample_weight)"
            )
        if scoring == "deviance" and traits_named(loss).coupled and loss in OWN_LOSSES:
            return Metric(scoring, False, None, _loss_of_rows)
        return Metric(
            scoring, scoring in WHOLE_METRICS, ROW_METRICS.get(scoring), WHOLE_METRICS.get(scoring)
        )
    if isinstance(scoring, str):
        return Metric(
            scoring, True, None, _by_scorer(_sklearn_scorer(scoring), scoring, loss, coded=True)
        )
    if not callable(scoring):
        raise TypeError(
            f"scoring={scoring!r} must be a name or a function f(y, prediction, sample_weight)"
        )
    name = getattr(scoring, "__name__", type(scoring).__name__)
    if _is_scorer(scoring):
        return Metric(
            str(scoring), True, None, _by_scorer(scoring, str(scoring), loss, coded=False)
        )
    _check_function(scoring, name)
    return Metric(
        name, bool(getattr(scoring, "greater_is_better", False)), None, _by_function(scoring, name)
    )


def _check_function(function, name):
    """Refuse functions that do not take f(y, prediction, sample_weight), as the metrics of
    scikit-learn, which do not say either whether large is good.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in: the call will tell
        return
    try:
        signature.bind(None, None, None)
    except TypeError as error:
        raise TypeError(
            f"scoring={name} cannot be called as f(y, prediction, sample_weight) ({error}); for a "
            "metric of scikit-learn pass the name of its scorer "
            "(sklearn.metrics.get_scorer_names()), "
            f"or sklearn.metrics.make_scorer({name}), greater_is_better=False for an error"
        ) from error


def _sklearn_scorer(name):
    from sklearn.metrics import get_scorer, get_scorer_names

    try:
        return get_scorer(name)
    except ValueError as error:
        names = (
            f"{', '.join(USES)}, rmse, a name of scikit-learn (sklearn.metrics.get_scorer_names())"
        )
        every = [*USES, "rmse", *get_scorer_names()]
        near = difflib.get_close_matches(name.lower().replace("-", "_"), every, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"scoring={name!r} is not known; {hint}choose one of {names}, or a function f(y, "
            "prediction, sample_weight)"
        ) from error


def _is_scorer(scoring):
    """Whether it was made by sklearn.metrics.make_scorer, and so is called with an estimator."""
    import sys

    if "sklearn.metrics" not in sys.modules:
        return False
    from sklearn.metrics import make_scorer, r2_score

    return isinstance(scoring, type(make_scorer(r2_score)))


def _by_scorer(scorer, name, loss, coded):
    """Score by a scikit-learn scorer: it is shown an estimator whose X is the linear predictor.
    coded: classes as 0 and 1 (a scorer by name knows no labels of ours), else as in y.
    """
    shown = _stand_in(loss)

    def score(held):
        classes = (
            None
            if held.path.classes is None
            else np.arange(len(held.path.classes))
            if coded
            else np.asarray(held.path.classes)
        )
        y = held.y if classes is None else classes[class_codes(held.y)]
        weights = {} if np.all(held.weights == held.weights[0]) else {"sample_weight": held.weights}
        try:
            eta = held.eta.reshape(len(y), -1)
            if classes is not None and eta.shape[1] > 1:  # as scikit-learn's metrics expect
                order = np.argsort(classes)
                classes, eta = classes[order], eta[:, order]
            return scorer(shown(held.path, classes), eta, y, **weights)
        except (
            AttributeError
        ) as error:  # scikit-learn's for an estimator without predict_proba and the like
            lacks = "classes" if loss in REAL else "probabilities"
            raise ValueError(
                f"scoring={name!r} needs {lacks}, which loss={loss!r} does not have ({error}); "
                f"choose one of {', '.join(map(repr, metrics_for(loss)))}"
            ) from error
        except ValueError as error:  # a metric of classes for numbers, say
            raise ValueError(
                f"scoring={name!r} cannot score held-out rows of loss={loss!r} ({error}); choose "
                f"one of {', '.join(map(repr, metrics_for(loss)))}"
            ) from error

    return score


def _stand_in(loss):
    """Class of an estimator that has been given its linear predictor: predict, and for classes
    decision_function, for the logistic loss predict_proba.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class Shown(BaseEstimator):
        def __init__(self, path, classes):
            self.path, self.classes, self.classes_ = path, classes, classes

    class Real(RegressorMixin, Shown):
        def predict(self, X):
            eta = X[:, 0] if self.path._meta.responses is None else X
            return self.path._transform(eta, "response")

    class Classes(ClassifierMixin, Shown):
        def predict(self, X):
            return self.classes[(X[:, 0] > 0).astype(np.int64)]

        def decision_function(self, X):
            return X[:, 0]

    class Probabilities(Classes):
        def predict_proba(self, X):
            return np.column_stack(
                [self.path._transform(sign * X[:, 0], "response") for sign in (-1.0, 1.0)]
            )

    class Several(Classes):
        def predict(self, X):
            return self.classes[X.argmax(axis=1)]

        def decision_function(self, X):
            return X

        def predict_proba(self, X):
            return probabilities(X)

    if loss in REAL or loss in OWN_LOSSES:
        return Real
    if traits_named(loss).by_class or loss in ORDERED_CLASSES:
        return Several
    return Classes if loss in HINGES else Probabilities


def _by_function(function, name):
    """Score by f(y, prediction, sample_weight)."""

    def score(held):
        out = function(held.labels, held.mu, held.weights)
        if np.ndim(out) or not isinstance(out, (int, float, np.number, np.ndarray)):
            raise TypeError(f"scoring function {name} must return one number, got {out!r}")
        return float(out)

    return score
