"""Plots of cross-validation, ROC curves, calibration and recovery."""

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from asked import loss_with
from plot_samples import fake_cv, response

import l0path
from l0path import plots

# -------------------- cross-validation


def test_plot_cv_marks_both_choices(path, paths):
    ax = fake_cv(path, 7, 5).plot()
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["one standard error: k = 5", "best score: k = 7"] or sorted(texts) == [
        "best score: k = 7",
        "one standard error: k = 5",
    ]
    assert ax.get_ylabel() == "held-out mse"
    curve = max(ax.lines, key=lambda line: len(line.get_xdata()))
    np.testing.assert_allclose(curve.get_ydata(), fake_cv(path, 7, 5).scores["cv_mean"])
    same = fake_cv(path, 7, 7).plot()
    assert [text.get_text() for text in same.texts] == ["best score = one standard error: k = 7"]
    many = deepcopy(paths["slices"])  # which keeps the slice that is chosen
    ax = fake_cv(many, 3, 2).plot()
    lines = ax.get_title(loc="left").split("\n")  # in the place of a legend, which hid curves
    assert ax.get_legend() is None and lines[1].startswith("green: within one standard error")
    assert lines[0] == "blue: the best of 3 shrinkages for each size; gray: each of them"
    title = fake_cv(many, 3, 2).plot(slice=0).get_title(loc="left")
    assert title.startswith(r"blue: $\lambda_2$ = 1; gray: the other 2 shrinkages")
    assert fake_cv(paths["grid"], 3, 2).plot().get_xscale() == "log"
    with pytest.raises(ValueError, match="x='lambda0'"):
        fake_cv(path, 3, 2).plot(x="lambda0")


def test_the_real_cross_validation_is_drawn(X):
    cv = l0path.cv_fit(X, response(X), cv=4, max_k=6, random_state=0)
    ax = cv.plot()
    ax.get_figure().draw_without_rendering()
    text = " ".join(text.get_text() for text in ax.texts)
    assert "best score" in text and f"k = {cv.model('min').k}" in text
    assert "<svg" in cv._repr_html_() and "cv_mean" in cv._repr_html_()


# -------------------- classes


@pytest.fixture(scope="module")
def classes(X):
    y = np.where(
        response(X) + 2 * np.random.default_rng(5).standard_normal(len(X)) > 0, "sick", "well"
    )
    return l0path.cv_fit(X, y, loss="logistic", lambda2=1e-2, max_k=5, cv=4, random_state=0), X, y


def rank_area(score, positive, weight):
    """The share of pairs (weighted) that are in order: the definition of the area."""
    more, same = (
        score[positive][:, None] > score[~positive],
        score[positive][:, None] == score[~positive],
    )
    return (weight[positive] @ (more + 0.5 * same) @ weight[~positive]) / (
        weight[positive].sum() * weight[~positive].sum()
    )


def test_roc_of_new_rows_and_of_the_fit(classes):
    cv, X, y = classes
    weight = np.random.default_rng(1).uniform(0.5, 2, 50)
    ax = cv.model(k=3).plot("roc", X[:50], y[:50], sample_weight=weight)
    line = next(line for line in ax.lines if line.get_gid() == "l0path-roc")
    area = np.trapezoid(line.get_ydata(), line.get_xdata())
    assert math.isclose(
        area,
        rank_area(cv.predict(X[:50], k=3, type="link"), y[:50] == "well", weight),
        rel_tol=1e-9,
    )
    low, high = plots.auc(y[:50] == "well", cv.predict(X[:50], k=3), weight).iloc[1:]
    text = f"k = 3\nAUC = {area:.3f} (95 % CI {low:.3f} to {high:.3f})"
    assert ax.get_legend().get_texts()[0].get_text() == text
    assert ax.get_xlabel() == "1 − specificity (false positive rate)"
    assert ax.get_ylabel() == "sensitivity (true positive rate)"
    assert ax.get_title(loc="left") == "positive class: well"
    again = cv.model(k=1).plot("roc", ax=ax, label="one")
    assert again is ax and len({line.get_color() for line in ax.lines if line.get_gid()}) == 2
    assert [text.get_text().split("\n")[0] for text in ax.get_legend().get_texts()] == [
        "k = 3",
        "one",
    ]
    line = [line for line in ax.lines if line.get_gid() == "l0path-roc"][-1]
    assert math.isclose(
        np.trapezoid(line.get_ydata(), line.get_xdata()),
        rank_area(cv.predict(X, k=1, type="link"), y == "well", np.ones(len(y))),
        rel_tol=1e-9,
    )


def test_roc_of_held_out_rows(classes):
    cv, _, y = classes
    ax = cv.plot_roc("1se")
    line = next(line for line in ax.lines if line.get_gid())
    assert math.isclose(
        np.trapezoid(line.get_ydata(), line.get_xdata()),
        rank_area(cv.held_out("1se", type="link"), y == "well", np.ones(len(y))),
        rel_tol=1e-9,
    )
    assert "held-out" in ax.get_legend().get_texts()[0].get_text()


def test_calibration_is_scikit_learns_and_weights_are_repeats(classes):
    from sklearn.calibration import calibration_curve
    from statsmodels.stats.proportion import proportion_confint

    rng = np.random.default_rng(0)
    p = rng.permutation(np.linspace(0.01, 0.99, 200))
    z = rng.uniform(size=200) < p
    table = plots.calibration(z, p, 8)
    share, mean = calibration_curve(z, p, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(table[["share", "probability"]], np.column_stack([share, mean]))
    np.testing.assert_allclose(
        table[["low", "high"]],
        np.column_stack(proportion_confint(table.share * table.n, table.n, method="wilson")),
    )
    pd.testing.assert_frame_equal(
        table, plots.calibration(np.where(z, 1, -1), p, 8, np.full(200, 3.0))
    )
    twice = rng.integers(0, 3, 200)
    weighted, repeated = (
        plots.calibration(z, p, 5, twice),
        plots.calibration(np.repeat(z, twice), np.repeat(p, twice), 5),
    )
    np.testing.assert_allclose(
        weighted[["probability", "share"]], repeated[["probability", "share"]]
    )
    assert len(plots.calibration(z, np.full(200, 0.5), 10)) == 1
    cv, X, y = classes
    ax = cv.plot_calibration(k=3, bins=6)
    line = next(line for line in ax.lines if line.get_gid())
    np.testing.assert_allclose(
        line.get_xydata(),
        plots.calibration(y == "well", cv.held_out(k=3), 6)[["probability", "share"]],
    )
    assert ax.get_xlabel() == "predicted probability of well"
    ax = cv.model("bic").plot("calibration", X[:60], y[:60], bins=4)
    np.testing.assert_allclose(
        next(line for line in ax.lines if line.get_gid()).get_xydata(),
        plots.calibration(y[:60] == "well", cv.predict(X[:60], "bic"), 4)[["probability", "share"]],
    )


def drawn_points(ax):
    return [line.get_xydata() for line in ax.lines if line.get_gid()]


def test_calibration_of_means_by_hand():
    predicted, y = np.array([1.0, 1.0, 2.0, 3.0]), np.array([0.0, 4.0, 2.0, 9.0])
    table = plots.calibration_of_means(y, predicted, 2)
    half = 1.959964 * np.sqrt([4.0, 12.25])  # the spread in the bin, over n - 1 = 1
    means = np.array([2.0, 5.5])
    expected = np.column_stack([[1.0, 2.5], means, means - half, means + half, [2, 2]])
    np.testing.assert_allclose(table, expected, rtol=1e-6)
    thrice = plots.calibration_of_means(y, predicted, 2, [3, 3, 3, 0])
    assert thrice["mean"].tolist() == [2.0, 2.0] and np.isnan(thrice["low"].iloc[1])


def test_calibration_of_numbers_and_quantiles(X):
    rng = np.random.default_rng(0)
    mean = np.exp(0.4 * X[:, 0])
    draws = {"poisson": rng.poisson(mean), "quantile": response(X)}
    for loss, y in draws.items():
        path = l0path.fit(X, y, loss=loss_with(loss, quantile=0.3), max_k=1)
        predicted = path.predict(X, k=1)
        ax = path.model(k=1).plot("calibration", X, y, bins=4)
        table = (
            plots.calibration(y <= predicted, predicted, 4)
            if loss == "quantile"
            else plots.calibration_of_means(y, predicted, 4)
        )
        np.testing.assert_allclose(drawn_points(ax)[0], table.iloc[:, :2])
        np.testing.assert_allclose(
            drawn_points(path.model(k=1).plot("calibration", bins=4))[0], table.iloc[:, :2]
        )
    assert ax.get_xlabel() == "predicted quantile (0.3)"
    with pytest.raises(ValueError, match="1 rows are not finite"):
        path.model(k=1).plot(
            "calibration", np.where(np.arange(X.size).reshape(X.shape) < 8, np.nan, X), y
        )
    trials = np.full(len(X), 20)
    shares = rng.binomial(trials, mean / (1 + mean)) / trials
    path = l0path.fit(X, shares, loss="binomial", trials=trials, max_k=1)
    counts = np.column_stack([shares, 1 - shares]) * 20
    np.testing.assert_allclose(
        drawn_points(path.model(k=1).plot("calibration", X, counts.round())),
        drawn_points(path.model(k=1).plot("calibration")),
    )


@pytest.mark.parametrize("loss", ["multinomial", "ordinal"])
def test_calibration_of_several_classes_has_a_curve_for_each(loss, X):
    y = np.digitize(response(X) + np.random.default_rng(1).normal(size=len(X)), [-1.0, 1.0])
    cv = l0path.cv_fit(X, y, loss=loss, lambda2=0.01, max_k=1, cv=3, random_state=0, certify=False)
    chances = cv.held_out(k=1)
    curves = drawn_points(cv.plot_calibration(k=1, bins=3))
    tables = (
        [plots.calibration(y == c, chances[:, c], 3) for c in range(3)]
        if loss == "multinomial"
        else [plots.calibration(y > c, chances[:, c + 1 :].sum(axis=1), 3) for c in range(2)]
    )
    assert len(curves) == len(tables)
    for curve, table in zip(curves, tables, strict=True):
        np.testing.assert_allclose(curve, table[["probability", "share"]])
    of_fit = [drawn_points(cv.model(k=1).plot("calibration", *rows)) for rows in ((), (X, y))]
    np.testing.assert_allclose(of_fit[0][0], of_fit[1][0])
    with pytest.raises(ValueError, match="a ROC curve is not served"):
        cv.plot_roc(k=1)


def test_what_has_no_roc_or_calibration_is_refused(classes, path, X):
    cv, _, y = classes
    with pytest.raises(ValueError, match="loss='squared'"):
        path.model(k=2).plot("roc")
    hinge = l0path.Path(
        replace(cv._meta, loss="squared_hinge"), cv._solutions, "", [], [], cv._source
    )
    hinge.model(k=2).plot("roc")
    with pytest.raises(ValueError, match="no probabilities"):
        hinge.model(k=2).plot("calibration")
    with pytest.raises(ValueError, match="only one class"):
        cv.model(k=2).plot("roc", X[y == "well"], y[y == "well"])
    with pytest.raises(ValueError, match="X= and y="):
        cv.model(k=2).plot("roc", X)
    with pytest.raises(ValueError, match="those of the fit"):
        cv.model(k=2).plot("roc", sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="bins=0"):
        cv.plot_calibration(bins=0)


# -------------------- recovery


def test_recovery_draws_its_table(path):
    table = l0path.diagnostics.support_recovery(path, np.arange(8))
    ax = l0path.diagnostics.plot_recovery(table)
    curves = [line for line in ax.lines if line.get_linestyle() != "None"]
    for line, name in zip(curves, ("precision", "recall", "f1"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), table[["k", name]])
    rings = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert (
        all(line.get_xdata().tolist() == table["k"][table["exact"]].tolist() for line in rings)
        and table["exact"].sum() == 1
    )
    assert {text.get_text() for text in ax.texts} == {
        "precision",
        "recall",
        "f1",
    } and "k = 8" in ax.get_title(loc="left")
    both = l0path.diagnostics.plot_recovery(
        {"a": table, "b": table.iloc[:9]}, "true_positives", k=(2, 12)
    )
    assert {text.get_text() for text in both.texts} == {"a", "b"} and [
        len(line.get_xdata()) for line in both.lines if line.get_linestyle() != "None"
    ] == [11, 7]
    with pytest.raises(ValueError, match="estimation_error has no values"):
        l0path.diagnostics.plot_recovery(table, "error")
    with pytest.raises(ValueError, match="compare tables by one"):
        l0path.diagnostics.plot_recovery({"a": table, "b": table})
    with pytest.raises(ValueError, match="kind='speed'"):
        l0path.diagnostics.plot_recovery(table, "speed")
    with pytest.raises(TypeError, match="support_recovery"):
        l0path.diagnostics.plot_recovery(path)
