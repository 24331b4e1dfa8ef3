"""Plots of the ranking and the probabilities of a classifier: ROC and calibration curves, of rows
given, of the rows of the fit, or of held-out predictions.
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
from ..paths import Path
from ..paths.predicting import linear_predictor
from ..paths.records import one_response, unordered
from . import style
from .numbers import auc, calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@described_by(Path.plot_roc)
def plot_roc(
    self: Path,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    rule: Rule | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    _check(self, "link")
    curve = _rows(self.model(rule, **selector), "link", X, y, sample_weight, offset)
    return _roc(curve, ax, label, self.classes[1])


@described_by(Path.plot_calibration)
def plot_calibration(
    self: Path,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    rule: Rule | None = None,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    _check(self, "response")
    curve = _rows(self.model(rule, **selector), "response", X, y, sample_weight, offset)
    return _calibration(curve, ax, label, bins, self.classes[1])


@described_by(CVPath.plot_roc)
def plot_cv_roc(
    self: CVPath,
    which: Rule | None = None,
    *,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    curve = _held_out(self, which, X, y, "link", selector)
    return _roc(curve, ax, label, self.path.classes[1])


@described_by(CVPath.plot_calibration)
def plot_cv_calibration(
    self: CVPath,
    which: Rule | None = None,
    *,
    bins: int = 10,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    label: str | None = None,
    **selector: Unpack[Selector],
) -> Axes:
    curve = _held_out(self, which, X, y, "response", selector)
    return _calibration(curve, ax, label, bins, self.path.classes[1])


@described_by(NestedCV.plot_roc)
def plot_nested_roc(self: NestedCV, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    return _roc(_nested(self, "link"), ax, label, self.models[0].path.classes[1])


@described_by(NestedCV.plot_calibration)
def plot_nested_calibration(
    self: NestedCV, *, bins: int = 10, ax: Axes | None = None, label: str | None = None
) -> Axes:
    curve = _nested(self, "response")
    return _calibration(curve, ax, label, bins, self.models[0].path.classes[1])


def _nested(nested, type):
    """(target, prediction, weights, name) of the rows in some outer fold."""
    _check(nested.models[0].path, type)
    seen = np.isfinite(nested.held_out) & (nested._weights > 0)
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
        ax.set_title(title, loc="left", fontsize=style.FONT_SIZE + 1, color=style.GREY, pad=8)
    return _finish(
        ax,
        "1 − specificity (false positive rate)",
        "sensitivity (true positive rate)",
        "lower right",
    )


def _calibration(curve, ax, label, bins, positive):
    from sklearn.calibration import CalibrationDisplay

    target, probability, weight, name = curve
    table = calibration(target, probability, bins, weight)
    ax, _ = style.new_axes(ax, (4.8, 4.6))
    drawn = _drawn(ax, "calibration")
    mean, share = table["probability"].to_numpy(), table["share"].to_numpy()
    display = CalibrationDisplay(share, mean, probability).plot(
        ax=ax, name=label or name, ref_line=False
    )
    if not drawn:
        ax.plot([0, 1], [0, 1], color=style.PALE, linewidth=0.9, zorder=1, label="_perfect")
        height, edges = np.histogram(probability, bins=25, range=(0.0, 1.0), weights=weight)
        ax.bar(
            edges[:-1],
            0.1 * height / height.max(),
            width=1 / 25,
            align="edge",
            color=style.PALE,
            linewidth=0,
            zorder=0,
        )
    color = _curve(display.line_, drawn, "calibration", label or name)
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
    return _finish(
        ax,
        f"predicted probability of {positive}",
        f"observed frequency of {positive}",
        "upper left",
    )


def _check(path, type):
    one_response(path, "a plot of two classes")
    unordered(path, "a plot of two classes")
    if path.classes is None:
        raise ValueError(
            f"the path has loss={path.loss!r}; ROC and calibration curves are for classes, such as "
            "loss='logistic'"
        )
    if type == "response" and not path.meta.traits.link:
        raise ValueError(
            f"loss={path.loss!r} gives no probabilities to be calibrated; fit loss='logistic', or "
            "see plot_roc"
        )


def _rows(model, type, X, y, sample_weight, offset):
    """(target -1 or 1, prediction, weights, name) of the rows given, or those of the fit."""
    path, name = model.path, f"k = {model.k}"
    if (X is None) != (y is None):
        raise ValueError("pass X= and y= together, or neither for the rows of the fit")
    if X is not None:
        same_index(X=X, y=y, sample_weight=sample_weight, offset=offset)
        score = np.asarray(model.predict(X, type, offset=offset))
        target = coded(y, score.size, path.meta)
        return target, score, sample_weights(sample_weight, score.size), name
    if sample_weight is not None or offset is not None:
        raise ValueError(
            "sample_weight and offset without X are those of the fit; leave them out, or pass X "
            "and y"
        )
    data = path.data()
    inside = data.weights > 0
    eta = linear_predictor(data.design, data.offset, path.solutions[model.index])
    score = path._transform(eta, type)[inside]
    return data.y[inside], score, data.weights[inside], f"{name}, rows of the fit"


def _held_out(cv, which, X, y, type, selector):
    """The same of held-out predictions, for rows in some fold."""
    _check(cv.path, type)
    i = cv.index(which, **selector)
    score, data = cv.held_out(index=i, type=type, X=X, y=y), cv.path.data(X, y)
    seen = np.isfinite(score) & (data.weights > 0)
    return data.y[seen], score[seen], data.weights[seen], f"k = {cv.path.solutions[i].k}, held-out"


def _drawn(ax, kind):
    """Number of curves of this kind that the axes hold."""
    return sum(line.get_gid() == f"l0path-{kind}" for line in ax.lines)


def _curve(line, number, kind, label):
    """Set the style of a curve; returns its colour."""
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
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    style.tidy(ax, xlabel, ylabel)
    ax.legend(loc=where, frameon=False, fontsize=style.FONT_SIZE)
    return ax
