"""Plots of the ranking and the probabilities of a classifier, and of predicted means and quantiles:
ROC and calibration curves, of rows given, of the rows of the fit, or of held-out predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import same_index
from ..core.describing import described_by
from ..core.types import Matrix, Rule, Selector
from ..cross_validation import CVPath, NestedCV
from ..engine.arguments import coded, sample_weights
from ..paths.predicting import class_predictors, linear_predictor
from ..paths.records import one_response, unordered
from ..problem.families.trials import in_two_columns, shares_of
from . import style
from .numbers import auc, calibration, calibration_of_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNIT = (-0.02, 1.02)  # limits of axes of probabilities


def plot_roc(model, X, y, *, sample_weight, offset, ax, label):
    """The ROC curve of a model, for `Model.plot`."""
    _check(model.path, "link")
    curve = _rows(model, "link", X, y, sample_weight, offset)
    return _roc(curve, ax, label, model.path.classes[1])


def plot_calibration(model, X, y, *, bins, sample_weight, offset, ax, label):
    """The calibration of a model, for `Model.plot`."""
    _check(model.path, "response")
    curve = _rows(model, "response", X, y, sample_weight, offset)
    return _calibration(curve, ax, label, bins, model.path)


@described_by(CVPath.plot_roc)
def plot_cv_roc(
    self: CVPath,
    rule: Rule | None = None,
    *,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    curve = _held_out(self, rule, X, y, "link", selector)
    return _roc(curve, ax, label, self.classes[1])


@described_by(CVPath.plot_calibration)
def plot_cv_calibration(
    self: CVPath,
    rule: Rule | None = None,
    *,
    bins: int = 10,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    curve = _held_out(self, rule, X, y, "response", selector)
    return _calibration(curve, ax, label, bins, self)


@described_by(NestedCV.plot_roc)
def plot_nested_roc(self: NestedCV, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    return _roc(_nested(self, "link"), ax, label, self.models[0].path.classes[1])


@described_by(NestedCV.plot_calibration)
def plot_nested_calibration(
    self: NestedCV, *, bins: int = 10, ax: Axes | None = None, label: str | None = None
) -> Axes:
    curve = _nested(self, "response")
    return _calibration(curve, ax, label, bins, self.models[0].path)


def _nested(nested, type):
    """(target, prediction, weights, name) of the rows in some outer fold."""
    _check(nested.models[0].path, type)
    seen = _finite(nested.held_out) & (nested._weights > 0)
    name = f"{len(nested)} outer folds, held-out"
    return nested._y[seen], nested.held_out[seen], nested._weights[seen], name


def _roc(curve, ax, label, positive):
    from sklearn.metrics import RocCurveDisplay, roc_curve

    target, score, weight, name = curve
    if np.unique(target).size < 2:
        raise ValueError(
            f"y has only one class in these {target.size} rows; a ROC curve needs both"
        )
    false, true, _ = roc_curve(target, score, sample_weight=weight)
    area = auc(target, score, weight)
    ax, _ = style.new_axes(ax, (4.8, 4.6))
    drawn = _drawn(ax, "roc")
    display = RocCurveDisplay(fpr=false, tpr=true, roc_auc=area.auc).plot(ax=ax)
    if not drawn:
        ax.plot([0, 1], [0, 1], color=style.PALE, linewidth=0.9, zorder=1, label="_chance")
    text = f"AUC = {area.auc:.3f} (95 % CI {area.low:.3f} to {area.high:.3f})"
    _curve(np.ravel(display.line_)[0], drawn, "roc", f"{label or name}\n{text}")
    if not ax.get_title(loc="left"):
        title = f"positive class: {positive}"
        ax.set_title(title, loc="left", fontsize=style.FONT_SIZE + 1, color=style.GRAY, pad=8)
    ax.set(xlim=UNIT, ylim=UNIT, aspect="equal")
    return _finish(
        ax,
        "1 − specificity (false positive rate)",
        "sensitivity (true positive rate)",
        "lower right",
    )


def _calibration(curve, ax, label, bins, path):
    """Draw what was observed against what was predicted: shares of classes, shares below a
    predicted quantile, or means.
    """
    target, predicted, weight, name = curve
    ax, _ = style.new_axes(ax, (4.8, 4.6))
    first, label = not _drawn(ax, "calibration"), label or name
    if path.classes is not None:
        return _of_classes(_events(path, target, predicted), weight, ax, label, bins)
    table = calibration_of_means(target, predicted, bins, weight)
    last = table["prediction"].iloc[-1]
    if first:
        low, high = predicted.min(), predicted.max()
        far = last + 0.25 * (last - low)  # few predictions beyond would squeeze the curve
        _histogram(ax, np.minimum(predicted, far), weight, (low, min(high, far)))
        beyond = int(np.count_nonzero(predicted > far))
        if beyond:
            text = f"{beyond} predictions beyond, up to {high:.3g}"
            look = {"ha": "right", "va": "bottom", "color": style.GRAY}
            where = {"transform": ax.get_xaxis_transform(), "fontsize": style.FONT_SIZE}
            ax.text(far, 0.11, text, **look, **where)
    if path._meta.loss == "quantile":
        level = path._loss_record().quantile
        _points(ax, calibration(target <= predicted, predicted, bins, weight), label)
        if first:
            ax.axhline(level, color=style.PALE, linewidth=0.9, zorder=1, label="_perfect")
        ax.set(ylim=UNIT)
        return _finish(ax, f"predicted quantile ({level:g})", "share at or below it", "upper left")
    if target.min() >= 0.0:  # intervals of counts and amounts end at 0
        table["low"] = table["low"].clip(lower=0.0)
    _points(ax, table, label)
    if first:
        start = table["prediction"].iloc[0]
        look = {"color": style.PALE, "linewidth": 0.9, "zorder": 1, "label": "_perfect"}
        ax.axline((start, start), slope=1.0, **look)
    what = "share" if path._meta.traits.response == "shares" else "mean"
    return _finish(ax, f"predicted {what}", f"observed {what}", "upper left")


def _of_classes(events, weight, ax, label, bins):
    """A curve for each of the `events`; one for two classes."""
    (what, _, probability), *others = events
    if not _drawn(ax, "calibration"):
        ax.plot([0, 1], [0, 1], color=style.PALE, linewidth=0.9, zorder=1, label="_perfect")
        if not others:
            _histogram(ax, probability, weight, (0.0, 1.0))
    for name, happened, p in events:
        text = f"{name}, {label}" if others else label
        _points(ax, calibration(happened, p, bins, weight), text)
    of = "" if others else f" of {what}"
    ax.set(xlim=UNIT, ylim=UNIT, aspect="equal")
    return _finish(ax, f"predicted probability{of}", f"observed frequency{of}", "upper left")


def _events(path, target, predicted):
    """[(name, whether it happened (m,), its probability (m,))] of the classes."""
    if path._meta.ordered:
        above = np.minimum(np.cumsum(predicted[:, :0:-1], axis=1)[:, ::-1], 1.0)
        lower = enumerate(path.classes[:-1])
        return [(f"a class above {name}", target > j, above[:, j]) for j, name in lower]
    if target.ndim == 2:
        classes = enumerate(path.classes)
        return [(str(name), target[:, j] > 0, predicted[:, j]) for j, name in classes]
    return [(path.classes[1], target > 0, predicted)]


def _histogram(ax, values, weight, limits):
    """A histogram of predictions at the foot of the axes, none of equal predictions."""
    if not limits[0] < limits[1]:
        return
    height, edges = np.histogram(values, bins=25, range=limits, weights=weight)
    ax.bar(
        edges[:-1],
        0.1 * height / height.max(),
        width=np.diff(edges),
        align="edge",
        color=style.PALE,
        linewidth=0,
        zorder=0,
        transform=ax.get_xaxis_transform(),
    )


def _points(ax, table, label):
    """The curve of a table of `calibration`, with bars of its intervals."""
    mean, share = table.iloc[:, 0].to_numpy(), table.iloc[:, 1].to_numpy()
    number = _drawn(ax, "calibration")
    color = _curve(ax.plot(mean, share)[0], number, "calibration", label)
    ax.errorbar(
        mean,
        share,
        yerr=np.maximum([share - table["low"], table["high"] - share], 0.0),
        fmt="none",
        ecolor=color,
        elinewidth=1.1,
        capsize=2,
        alpha=0.5,
        zorder=2,
    )


def _check(path, type):
    traits = path._meta.traits
    if type == "response":
        if path.classes is None:
            one_response(path, "a calibration curve")
        if traits.response == "survival":
            raise ValueError(
                f"loss={path._meta.loss!r}: calibration curves are for probabilities, means and "
                "quantiles; see model.plot('survival', X, y), and model.score(X, y, times=...) "
                "for the Brier score"
            )
        if not traits.link:
            raise ValueError(
                f"loss={path._meta.loss!r} gives no probabilities to be calibrated; fit "
                "loss='logistic', or draw the ROC curve, plot('roc', X, y) or cv.plot_roc()"
            )
        return
    one_response(path, "a ROC curve")
    unordered(path, "a ROC curve")
    if path.classes is None:
        raise ValueError(
            f"the path has loss={path._meta.loss!r}; ROC curves are for two classes, such as "
            "loss='logistic'"
        )


def _finite(predicted):
    """Whether the predictions (m,) or (m, classes) of each row are finite."""
    return np.isfinite(predicted).reshape(len(predicted), -1).all(axis=1)


def _rows(model, type, X, y, sample_weight, offset):
    """(target as the loss takes it, prediction, weights, name) of the rows given, or of the fit."""
    path, name = model.path, f"k = {model.k}"
    if (X is None) != (y is None):
        raise ValueError("pass X= and y= together, or neither for the rows of the fit")
    if X is not None:
        same_index(X=X, y=y, sample_weight=sample_weight, offset=offset)
        if path._meta.trials is not None and in_two_columns(y):
            y, trials = shares_of(y, None, len(y), path._meta.loss)
            given = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float)
            sample_weight = trials * given
        score = np.asarray(model.predict(X, type, offset=offset))
        if not _finite(score).all():
            raise ValueError(
                f"predictions of {(~_finite(score)).sum()} rows are not finite; drop or impute "
                "rows of X with NaN or infinite values in the features of the model"
            )
        target = coded(y, len(score), path._meta)
        return target, score, sample_weights(sample_weight, len(score)), name
    if sample_weight is not None or offset is not None:
        raise ValueError(
            "sample_weight and offset without X are those of the fit; leave them out, or pass X "
            "and y"
        )
    data = path._data()
    inside = data.weights > 0
    s = model._solution
    eta = class_predictors(s, linear_predictor(data.design, data.offset, s))
    score = path._transform(eta, type)[inside]
    return data.y[inside], score, data.weights[inside], f"{name}, rows of the fit"


def _held_out(cv, rule, X, y, type, selector):
    """The same of held-out predictions, for rows in some fold."""
    _check(cv, type)
    i = cv.select(rule, **selector)
    score, data = np.asarray(cv.held_out(index=i, type=type, X=X, y=y)), cv._data(X, y)
    seen = _finite(score) & (data.weights > 0)
    return data.y[seen], score[seen], data.weights[seen], f"k = {cv._solutions[i].k}, held-out"


def _drawn(ax, kind):
    """Number of curves of this kind that the axes hold."""
    return sum(line.get_gid() == f"l0path-{kind}" for line in ax.lines)


def _curve(line, number, kind, label):
    """Set the style of a curve; returns its color."""
    color = style.PALETTE[number % len(style.PALETTE)]
    line.set(
        color=color,
        linestyle=style.DASHES[number % len(style.DASHES)],
        linewidth=1.6,
        label=label,
        zorder=3,
        markersize=4,
    )
    if kind == "calibration":
        line.set_marker("o")
    line.set_gid(f"l0path-{kind}")
    return color


def _finish(ax, xlabel, ylabel, where):
    style.tidy(ax, xlabel, ylabel)
    ax.legend(loc=where, frameon=False, fontsize=style.FONT_SIZE)
    return ax
