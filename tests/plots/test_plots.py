"""The numbers behind the plots, labels that keep clear of each other, every kind on awkward paths,
and the pictures of notebooks.
"""

import itertools
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lazy import lazy

import l0path
from l0path import plots, report
from l0path.plots import numbers, style

plt = lazy("matplotlib.pyplot")

KINDS = numbers.PATH_PLOTS


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def response(X, seed=1):
    rng = np.random.default_rng(seed)
    return X[:, :8] @ np.array([3.0, -2.5, 2.0, -1.5, 1.2, 1.0, -0.8, 0.6]) + rng.standard_normal(
        len(X)
    )


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 20)) * np.linspace(0.5, 3, 20) + 0.5 * rng.standard_normal(
        (120, 1)
    )


@pytest.fixture(scope="module")
def path(X):
    return l0path.fit(X, response(X), max_k=16, certify=False)


@pytest.fixture(scope="module")
def paths(X, path):
    y = response(X)
    named = pd.DataFrame(
        X, columns=[f"concentration_of_substance_number_{j}_at_the_first_visit" for j in range(20)]
    )
    return {
        "whole": path,
        "slices": l0path.fit(X, y, lambda2=[1.0, 0.1, 0.01], max_k=8),
        "one": l0path.fit(X, y, k=3),
        "null": l0path.fit(X, y, max_k=0),
        "long": l0path.fit(named, y, max_k=14),
        "classes": l0path.fit(X, y > 0, loss="logistic", lambda2=1e-2, max_k=6),
        "grid": l0path.fit(X, y, grid="lambda0", max_k=10),
        "names": l0path.fit(X[:, :4], y, feature_names=["k", "low", "high", "lambda0"]),
    }


# -------------------- numbers


def test_coefficients_behind_the_plot(path):
    frame = plots.data(path, "coef")
    assert frame["k"].tolist() == path.table.k.tolist() and frame.index.tolist() == list(
        range(len(path))
    )
    for i in frame.index:
        b = path.coef(index=i, standardized=True).iloc[1:]
        row = frame.loc[i].iloc[1:]
        pd.testing.assert_series_equal(
            row[row != 0].sort_index(), b.sort_index(), check_names=False
        )
    raw = plots.data(path, "coef", standardized=False)
    pd.testing.assert_series_equal(
        raw.loc[5].iloc[1:][lambda b: b != 0].sort_index(),
        path.coef(k=5).iloc[1:].sort_index(),
        check_names=False,
    )
    np.testing.assert_allclose(
        plots.data(path, "coef", x="l1")["l1"], frame.iloc[:, 1:].abs().sum(axis=1)
    )


def test_lambda0_intervals_are_the_hull(path):
    frame = plots.data(path, "coef", x="lambda0")
    table = path.table.loc[frame.index]
    assert not table.lambda0_low.isna().any() and path.table.lambda0_low.notna().sum() == len(frame)
    np.testing.assert_array_equal(frame["low"], table.lambda0_low)
    np.testing.assert_array_equal(frame["high"].iloc[1:], table.lambda0_high.iloc[1:])
    assert frame["high"].iloc[0] > frame["low"].iloc[0] and np.isfinite(frame["high"].iloc[0])
    sizes = plots.data(path, "lambda0")
    assert list(sizes.columns) == ["k", "low", "high"] and sizes["k"].tolist() == table.k.tolist()


def test_values_of_a_lambda0_grid_hold_down_to_the_next(paths):
    path = paths["grid"]
    frame, value = plots.data(path, "coef", x="lambda0"), path.table.lambda0.to_numpy()
    np.testing.assert_array_equal(frame["high"].iloc[1:], value[1:])
    np.testing.assert_array_equal(frame["low"].iloc[:-1], value[1:])
    assert list(plots.data(path, "lambda0").columns) == ["k", "lambda0"]


def test_loss_gap_and_criteria_are_the_tables(path, paths):
    frame = plots.data(paths["slices"], "loss")
    pd.testing.assert_frame_equal(
        frame[["loss", "deviance_ratio", "slice"]],
        paths["slices"].table[["loss", "deviance_ratio", "slice"]],
        check_names=False,
    )
    assert plots.data(path, "gap")["gap"].isna().sum() == len(path) - 1
    scores, frame = path.score_table(), plots.data(path, "criteria")
    np.testing.assert_allclose(frame["bic"], scores["bic"] - scores["bic"].min())
    assert (frame.drop(columns="k").min() == 0).all() and frame["bic"].idxmin() == path.index("bic")


def test_slices_are_chosen_and_named(paths):
    path = paths["slices"]
    assert numbers.default_slice(path) == 2
    assert (
        plots.data(path, "coef").index.tolist() == path.table.index[path.table.slice == 2].tolist()
    )
    assert (
        plots.data(path, "coef", slice=0).index.tolist()
        == path.table.index[path.table.slice == 0].tolist()
    )
    assert path.plot().get_title(loc="left").startswith("slice 2 of 3")
    assert path.plot(mark={"k": 3, "slice": 1}).get_title(loc="left").startswith("slice 1 of 3")
    with pytest.raises(LookupError):
        path.plot(slice=7)


def test_unknown_kinds_and_axes(path):
    with pytest.raises(ValueError, match="kind='tree'"):
        path.plot("tree")
    with pytest.raises(ValueError, match="x='time'"):
        path.plot(x="time")


# -------------------- drawing


@pytest.mark.parametrize(
    "name",
    [
        *("whole", "slices", "null", "classes", "grid"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("one", "long", "names")),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_every_path(paths, name, kind):
    path = paths[name]
    before = dict(plt.rcParams)
    for x in ("k", "lambda0", "l1") if kind in ("coef", "loss", "criteria", "gap") else ("k",):
        ax = path.plot(kind, x=x)
        ax.get_figure().draw_without_rendering()
        assert ax.get_xlabel()
        plt.close(ax.get_figure())
    assert dict(plt.rcParams) == before


def test_an_axes_given_is_used_and_returned(path):
    _, ax = plt.subplots()
    assert path.plot(ax=ax) is ax and len(plt.get_fignums()) == 1


def drawn_curves(ax):
    return {
        round(float(line.get_ydata()[-1]), 9)
        for line in ax.lines
        if np.isfinite(line.get_ydata()[-1])
    }


def test_lines_end_at_the_coefficients_of_the_last_model(path):
    ends = drawn_curves(path.plot())
    for b in path.coef(index=-1, standardized=True).iloc[1:]:
        assert round(b, 9) in ends


def label_boxes(ax):
    figure = ax.get_figure()
    figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_text() and text.get_position()[0] == 1.05]
    return texts, [
        text.get_window_extent()
        if not hasattr(text, "arrow_patch")
        else plt.Text.get_window_extent(text)
        for text in texts
    ]


@pytest.mark.parametrize("name", ["whole", "long", "classes", "slices"])
@pytest.mark.parametrize("own", [True, False])
def test_labels_do_not_overlap(paths, name, own):
    path = paths[name]
    _, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for kind, x in (
        ("coef", "k"),
        ("coef", "lambda0"),
        ("criteria", "k") if path.loss != "squared_hinge" else ("loss", "k"),
    ):
        if not own:
            axes[0].clear()
        texts, boxes = label_boxes(path.plot(kind, x=x, ax=None if own else axes[0]))
        assert 1 < len(texts) <= 12
        for a, b in itertools.combinations(boxes, 2):
            assert not a.overlaps(b)
        if own:
            assert max(box.x1 for box in boxes) <= texts[0].get_figure().bbox.x1 + 1


def test_the_largest_coefficients_at_the_end_are_named(path):
    last = path.coef(index=-1, standardized=True).iloc[1:].abs().sort_values(ascending=False)
    texts, _ = label_boxes(path.plot())
    assert {text.get_text() for text in texts} == set(last.index[:12])


def test_marks_are_at_the_solution(path):
    ax = path.plot(mark=[{"k": 3}, "bic", 5])
    lines = sorted(
        line.get_xdata()[0]
        for line in ax.lines
        if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    )
    assert lines == sorted([3, path.model("bic").k, 5])
    assert {f"bic: k = {path.model('bic').k}", "k = 3", "k = 5"} <= {
        text.get_text() for text in ax.texts
    }
    ax = path.plot(x="lambda0", mark={"k": 1})
    row = plots.data(path, "coef", x="lambda0").loc[1]
    assert any(
        len(line.get_xdata()) == 2
        and math.isclose(line.get_xdata()[0], math.sqrt(row.low * row.high))
        for line in ax.lines
    )


def test_a_mark_that_is_not_drawn_is_an_error(paths):
    with pytest.raises(LookupError, match="does not show"):
        paths["slices"].plot(slice=0, mark=len(paths["slices"]) - 1)


def test_missing_bounds_are_said(path):
    assert any("no lower bound" in text.get_text() for text in path.plot("gap").texts)


# -------------------- labels


def test_spread_keeps_order_distance_and_bounds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = rng.uniform(0, 1, int(rng.integers(1, 12)))
        placed = style.spread(wanted, 0.07, 0.0, 1.0)
        order = np.argsort(wanted)
        assert (np.diff(placed[order]) >= 0.07 - 1e-12).all()
        assert placed.min() >= -1e-12 and placed.max() <= 1 + 1e-12
    np.testing.assert_allclose(
        style.spread([0.1, 0.5, 0.9], 0.1, 0.0, 1.0), [0.1, 0.5, 0.9]
    )  # far apart: left where they are
    np.testing.assert_allclose(style.spread([0.5, 0.5], 0.2), [0.4, 0.6])


def test_short_names_are_told_apart():
    assert style.short(["a", "b"]) == ["a", "b"]
    long = [f"concentration_of_substance_{j}_at_the_first_visit" for j in (1, 2, 12)]
    assert style.short(long) == ["…1…", "…2…", "…12…"]
    assert len(style.short(["x" * 80])[0]) == style.LABEL_LENGTH
    twins = ["a" * 20 + "left" + "b" * 20 + "!", "a" * 20 + "right" + "b" * 20 + "?", "other"]
    assert len(set(style.short(twins))) == 3
    assert (
        style.short(["same_prefix_that_is_rather_long", "same_prefix_that_is_rather_long_x"])[0]
        != ""
    )


# -------------------- cross-validation


def fake_cv(path, best, near):
    table = path.table[["k", "lambda0", "lambda1", "lambda2", "n_nonzero"]].copy()
    table["cv_mean"] = (
        (table["k"] - path.solutions[best].k) ** 2 * 0.1 + 1.0 + 0.01 * path.table["slice"]
    )
    table["cv_se"] = 0.2
    return SimpleNamespace(
        table=table,
        path=path,
        scoring="mse",
        greater_is_better=False,
        index=lambda which: {"min": best, "1se": near}[which],
    )


def test_plot_cv_marks_both_choices(path, paths):
    ax = plots.plot_cv(fake_cv(path, 7, 5))
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["one standard error: k = 5", "best score: k = 7"] or sorted(texts) == [
        "best score: k = 7",
        "one standard error: k = 5",
    ]
    assert ax.get_ylabel() == "held-out mse"
    curve = max(ax.lines, key=lambda line: len(line.get_xdata()))
    np.testing.assert_allclose(curve.get_ydata(), fake_cv(path, 7, 5).table["cv_mean"])
    same = plots.plot_cv(fake_cv(path, 7, 7))
    assert [text.get_text() for text in same.texts] == ["best score = one standard error: k = 7"]
    many = paths["slices"]
    assert plots.plot_cv(fake_cv(many, 3, 2)).get_title(loc="left").startswith("slice 0 of 3")
    assert plots.plot_cv(fake_cv(paths["grid"], 3, 2)).get_xscale() == "log"
    with pytest.raises(ValueError, match="x='lambda0'"):
        plots.plot_cv(fake_cv(path, 3, 2), x="lambda0")


def test_the_real_cross_validation_is_drawn(X):
    cv = l0path.cv_fit(X, response(X), cv=4, max_k=6, random_state=0)
    ax = cv.plot()
    ax.get_figure().draw_without_rendering()
    text = " ".join(text.get_text() for text in ax.texts)
    assert "best score" in text and f"k = {cv.model('min').k}" in text
    assert "<svg" in cv._repr_html_() and "cv_mean" in cv._repr_html_()


# -------------------- ranges of sizes


def test_a_range_of_sizes(path, paths):
    whole = plots.data(path, "coef")
    for k, low, high in ((5, 0, 5), ((3, 7), 3, 7), (range(2, 9), 2, 8)):
        frame = plots.data(path, "coef", k=k)
        assert frame["k"].tolist() == list(range(low, high + 1))
        pd.testing.assert_frame_equal(frame.iloc[:, 1:], whole.loc[frame.index, frame.columns[1:]])
        assert (frame.iloc[:, 1:] != 0).any().all()
    texts, _ = label_boxes(path.plot(k=4))
    assert {text.get_text() for text in texts} == set(path.coef(k=4).index[1:])
    for kind in KINDS:
        assert set(plots.data(path, kind, k=(2, 6)).index) <= {2, 3, 4, 5, 6}
        for name in ("slices", "null", "one"):  # "one" has no size in the range
            assert paths[name].plot(kind, k=(0, 2), ax=plt.figure().subplots()).get_xlabel()


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_whose_only_size_is_best_for_no_lambda0(path, kind):
    alone = l0path.Path(
        path.meta,
        [path.solutions[3]._replace(lambda0_low=math.nan, lambda0_high=math.nan)],
        "",
        [],
        [],
        path._source,
    )
    for x in ("k", "lambda0", "l1"):
        assert len(plots.data(alone, kind, x=x)) == (
            0 if "lambda0" in (kind, x) and kind != "support" else 1
        )
        alone.plot(kind, x=x).get_figure().draw_without_rendering()


def test_minima_of_criteria_are_those_of_the_whole_path(path):
    frame = plots.data(path, "criteria", k=3)
    pd.testing.assert_frame_equal(frame, plots.data(path, "criteria").loc[:3])
    assert path.model("bic").k > 3 and "BIC" in {
        text.get_text() for text in path.plot("criteria", k=3).texts
    }
    assert f"BIC, least at k = {path.model('bic').k}" in {
        text.get_text() for text in path.plot("criteria", k=12).texts
    }


@pytest.mark.parametrize("k", [-1, (5, 2), "5", True, (1, 2, 3), 2.5, range(0)])
def test_a_range_that_is_none_is_refused(path, k):
    with pytest.raises(ValueError, match="k="):
        path.plot(k=k)


def test_scores_on_a_logarithmic_axis_and_in_a_range(path):
    fake = fake_cv(path, 7, 5)
    fake.table = fake.table.assign(cv_mean=np.linspace(8.0, 0.1, len(path)), cv_se=0.2)
    ax = plots.plot_cv(fake, log=True)
    low, high = ax.get_ylim()
    assert ax.get_yscale() == "log" and 0.1 / 4.5 < low < 0.1 and 8.2 < high < 12
    short = plots.plot_cv(fake, k=(6, 9))
    curve = max(short.lines, key=lambda line: len(line.get_xdata()))
    assert list(curve.get_xdata()) == [6, 7, 8, 9]
    assert [text.get_text() for text in short.texts] == ["best score: k = 7"]
    fake.table["cv_mean"] -= 1.0
    with pytest.raises(ValueError, match="log=True"):
        plots.plot_cv(fake, log=True)
    with pytest.raises(LookupError, match="sizes 0 to 16"):
        plots.plot_cv(fake, k=(90, 95))


def luminance(color):
    rgb = np.array(color)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ np.array(
        [0.2126, 0.7152, 0.0722]
    )


def test_labels_stand_out_from_white(path):
    texts, _ = label_boxes(path.plot())
    assert all(
        1.05 / (luminance(plt.matplotlib.colors.to_rgb(text.get_color())) + 0.05) >= 4.5
        for text in texts
    )


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
    ax = cv.path.plot_roc(X[:50], y[:50], k=3, sample_weight=weight)
    line = next(line for line in ax.lines if line.get_gid() == "l0path-roc")
    area = np.trapezoid(line.get_ydata(), line.get_xdata())
    assert math.isclose(
        area,
        rank_area(cv.path.predict(X[:50], k=3, type="link"), y[:50] == "well", weight),
        rel_tol=1e-9,
    )
    low, high = plots.auc(y[:50] == "well", cv.path.predict(X[:50], k=3), weight).iloc[1:]
    text = f"k = 3\nAUC = {area:.3f} (95 % CI {low:.3f} to {high:.3f})"
    assert ax.get_legend().get_texts()[0].get_text() == text
    assert ax.get_xlabel() == "1 − specificity (false positive rate)"
    assert ax.get_ylabel() == "sensitivity (true positive rate)"
    assert ax.get_title(loc="left") == "positive class: well"
    again = cv.path.plot_roc(k=1, ax=ax, label="one")
    assert again is ax and len({line.get_color() for line in ax.lines if line.get_gid()}) == 2
    assert [text.get_text().split("\n")[0] for text in ax.get_legend().get_texts()] == [
        "k = 3",
        "one",
    ]
    line = [line for line in ax.lines if line.get_gid() == "l0path-roc"][-1]
    assert math.isclose(
        np.trapezoid(line.get_ydata(), line.get_xdata()),
        rank_area(cv.path.predict(X, k=1, type="link"), y == "well", np.ones(len(y))),
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
    ax = cv.path.plot_calibration(X[:60], y[:60], "bic", bins=4)
    np.testing.assert_allclose(
        next(line for line in ax.lines if line.get_gid()).get_xydata(),
        plots.calibration(y[:60] == "well", cv.path.predict(X[:60], "bic"), 4)[
            ["probability", "share"]
        ],
    )


def test_what_has_no_roc_or_calibration_is_refused(classes, path, X):
    cv, _, y = classes
    with pytest.raises(ValueError, match="loss='squared'"):
        path.plot_roc(k=2)
    hinge = l0path.Path(
        replace(cv.path.meta, loss="squared_hinge"), cv.path.solutions, "", [], [], cv.path._source
    )
    hinge.plot_roc(k=2)
    with pytest.raises(ValueError, match="no probabilities"):
        hinge.plot_calibration(k=2)
    with pytest.raises(ValueError, match="only one class"):
        cv.path.plot_roc(X[y == "well"], y[y == "well"], k=2)
    with pytest.raises(ValueError, match="X= and y="):
        cv.path.plot_roc(X, k=2)
    with pytest.raises(ValueError, match="those of the fit"):
        cv.path.plot_roc(k=2, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="bins=0"):
        cv.plot_calibration(bins=0)
    with pytest.raises(TypeError, match="choose a solution"):
        cv.path.plot_roc(X, y)


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


# -------------------- notebooks


def test_html_of_paths_is_well_formed(paths):
    for path in paths.values():
        html = path._repr_html_()
        ET.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")
        assert "l0path.Path" in html and "deviance_ratio" in html and "<svg" in html


def test_html_escapes_names(X):
    path = l0path.fit(X[:, :3], response(X), feature_names=["a<b>", "c&d", "e"], max_k=2)
    assert "a<b>" not in path.summary(k=2)._repr_html_()


def test_html_never_fails():
    class Broken:
        table = property(lambda self: 1 / 0)

        def __repr__(self):
            return "<Broken>"

    for render in (report.path_html, report.summary_html, report.cv_html):
        assert render(Broken()) == "<pre>&lt;Broken&gt;</pre>"


def test_pictures_are_small_and_keep_to_themselves(path, paths, X):
    certificate = l0path.fit(X, response(X), lambda2=0.01, max_k=3).certify(k=2, n_best=3)
    cv = l0path.CVPath(
        path,
        pd.DataFrame({0: np.arange(17.0), 1: np.ones(17)}),
        None,
        scoring="mse",
        greater_is_better=False,
    )
    for thing in (path, paths["slices"], cv, certificate):
        html = thing._repr_html_()
        svg = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
        assert svg.get("role") == "img" and svg.get("aria-label") and len(html) < 40_000
        assert not {"script", "style", "image"} & {node.tag.split("}")[1] for node in svg.iter()}
        assert (
            "currentColor" in html
            and report.html.INK not in html
            and "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", html)
        )
        ids = [node.get("id") for node in svg.iter() if node.get("id")]
        assert all(f"#{i}" in html for i in ids), ids
    assert "λ₂ 0.1" in paths["slices"]._repr_html_()
    assert dict(plt.rcParams)["svg.fonttype"] == plt.rcParamsDefault["svg.fonttype"]


def test_html_of_certificates(X):
    path = l0path.fit(
        X,
        response(X),
        lambda2=0.01,
        max_k=4,
        feature_names=["a<b>", *(f"x{j}" for j in range(1, 20))],
    )
    c = path.certify(k=3, n_best=4)
    html = c._repr_html_()
    assert (
        "proven optimal" in html
        and "the 4 best" in html
        and f"{c.incumbent:.4g}" in html
        and "<svg" in html
        and "a<b>" not in html
    )
    assert [
        ", ".join(m.features).replace("<", "&lt;").replace(">", "&gt;") in html for m in c.best
    ] == [True] * 4
    unbounded = replace(
        c,
        lower_bound=math.nan,
        gap=math.inf,
        proven=False,
        status="gap_not_closed",
        assumptions=["no lower bound <here>"],
    )._repr_html_()
    assert (
        "<svg" not in unbounded
        and "no lower bound &lt;here&gt;" in unbounded
        and "gap not closed" in unbounded
    )
    alone = path.certify(k=3)
    assert "<svg" not in alone._repr_html_()  # a closed gap of one model shows nothing


def test_html_of_results_holds_their_tables_and_a_picture(X):
    names = ["a<b>", *(f"x{j}" for j in range(1, 20))]
    path = l0path.fit(X, response(X), max_k=4, feature_names=names)
    some = {"feature_names": names, "random_state": 0}
    nested = l0path.nested_cv(X, response(X), outer=3, cv=3, max_k=3, **some)
    stable = l0path.stability_selection(X, response(X), k=3, n_subsamples=4, **some)
    knockoffs = l0path.knockoff_filter(X, response(X), fdr=0.5, **some)
    model = path.model(k=3)
    for thing, inside in (
        (model, f"{model.coef.iloc[1]:.4g}"),
        (nested, f"{nested.table.score[1]:.4g}"),
        (stable, str(stable.selected[0]).replace("<", "&lt;").replace(">", "&gt;")),
        (knockoffs, f"{knockoffs.statistic.max():.4g}"),
        (path.model(k=0), "(Intercept)"),
    ):
        html = thing._repr_html_()
        ET.fromstring(f"<div>{html}</div>")
        assert html.startswith("<p><code>&lt;l0path.") and inside in html and "a<b>" not in html
        assert ("<svg" in html) == (thing is not path.solutions and getattr(thing, "k", 1) != 0)


def test_html_without_pictures_where_matplotlib_fails(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    html = path._repr_html_()
    assert "<svg" not in html and "deviance_ratio" in html and html.startswith("<p>")


def test_html_imports_neither_statsmodels_nor_scikit_learn():
    code = (
        "import sys, numpy as np, l0path; X = np.random.default_rng(0).standard_normal((30, 3)); p "
        "= l0path.fit(X, X[:, 0]); p._repr_html_(); p.summary(k=1)._repr_html_(); p.explore(); "
        "assert not {'statsmodels', 'sklearn', 'matplotlib.pyplot'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


# -------------------- what journals and readers ask for


def colours(ax):
    """{label in the margin: its colour}, of the text before it was darkened: that of its line."""
    return {t.get_text(): t.arrow_patch.get_edgecolor() for t in ax.texts if t.arrow_patch}


def test_a_feature_has_one_colour_whatever_is_drawn(path):
    every, few = colours(path.plot("coef")), colours(path.plot("coef", k=5))
    shared = set(every) & set(few)
    assert len(shared) >= 4 and all(every[name] == few[name] for name in shared)


def test_points_of_criteria_with_the_same_minimum_are_all_seen(path):
    ax = path.plot("criteria")
    assert ax.get_ylabel() == "difference from the minimum"
    points = [line for line in ax.lines if line.get_marker() == "o"]
    by_place = {}
    for line in points:
        by_place.setdefault(float(line.get_xdata()[0]), []).append(line.get_markersize())
    assert any(len(sizes) > 1 for sizes in by_place.values())
    for sizes in by_place.values():
        assert len(set(sizes)) == len(sizes) and sizes == sorted(sizes, reverse=True)


def test_the_band_of_one_standard_error_is_drawn(X):
    cv = l0path.cv_fit(X, response(X), cv=4, max_k=6, random_state=0)
    table, best = cv.table, cv.index("min")
    band = [patch for patch in cv.plot().patches if patch.get_alpha() == 0.12]
    low, high = band[0].get_y(), band[0].get_y() + band[0].get_height()
    assert low == pytest.approx(table.cv_mean[best])
    assert high == pytest.approx(table.cv_mean[best] + table.cv_se[best])
    inside = table.index[table.cv_mean <= high + 1e-9]
    assert table.n_nonzero[cv.index("1se")] == table.n_nonzero[inside].min()
    assert not [patch for patch in cv.plot(mark=("min",)).patches if patch.get_alpha() == 0.12]


def test_the_columns_of_a_factor_are_labelled_apart():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["p", "q", "r"], 60), "a": rng.standard_normal(60)})
    frame["y"] = frame.a + (frame.kind == "q") - (frame.kind == "r") + 0.3 * frame.index % 3
    ax = l0path.fit("y ~ a + kind", frame).plot("coef")
    assert {"a", "kind[T.q]", "kind[T.r]"} == set(colours(ax))
    assert colours(ax)["kind[T.q]"] == colours(ax)["kind[T.r]"] != colours(ax)["a"]
    dashes = {
        str(line.get_linestyle())
        for line in ax.lines
        if line.get_color() == plt.matplotlib.colors.to_hex(colours(ax)["kind[T.q]"]).upper()
    }
    assert len({line.get_ydata()[-1] for line in ax.lines}) >= 3 and len(dashes) >= 1


def test_long_paths_are_drawn_to_a_readable_size():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 60))
    path = l0path.fit(X, X[:, 0] + rng.standard_normal(120), algorithm="cd")
    ax = path.plot("coef")
    assert ax.get_xlim()[1] < 33 and "sizes up to 30 of 60" in ax.get_title(loc="left")
    assert path.plot("coef", k=np.inf).get_xlim()[1] > 58
    assert path.plot("coef", mark=45).get_xlim()[1] > 45
    assert path.plot("loss").get_xlim()[1] > 58
    text = [t.get_text() for t in path.plot("lambda0", k=8).texts]
    sizes = [int(k) for t in text for k in re.findall(r"(\d+)(?=,|$)", t.split("k =")[-1])]
    assert all(size <= 8 for size in sizes)


def test_plots_of_a_cross_validated_path_show_the_slice_that_was_chosen(X):
    y = response(X) + 3 * np.random.default_rng(0).standard_normal(len(X))
    cv = l0path.cv_fit(X, y, lambda2=[1.0, 0.1, 1e-4], cv=4, max_k=4, random_state=0)
    number = cv.model().slice
    assert number != 2  # which a path shows that was not cross-validated: least shrinkage
    assert "slice 2 of 3" in l0path.fit(X, y, lambda2=[1.0, 0.1, 1e-4]).plot().get_title(loc="left")
    assert plots.data(cv.path, "coef").index.tolist() == cv.path._rows(number, None, None)
    assert f"slice {number} of 3" in cv.path.plot("coef").get_title(loc="left")


def test_names_can_be_replaced_in_print(path):
    name = path.model(k=4).features[0]
    texts = {name: "systolic pressure"}
    assert "systolic pressure" in colours(path.plot("coef", labels=texts, k=4))
    ticks = [t.get_text() for t in path.plot("support", labels=texts).get_yticklabels()]
    assert "systolic pressure" in ticks and name not in ticks
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"site": np.tile(["u", "v", "w"], 20), "dose": rng.standard_normal(60)})
    table["y"] = table["dose"] + (table["site"] == "v") - (table["site"] == "w")
    factor = l0path.fit("y ~ site + dose", table).plot("coef", labels={"site": "Clinic"})
    assert {"Clinic[T.v]", "Clinic[T.w]", "dose"} <= set(colours(factor))
    X = rng.standard_normal((60, 5))
    result = l0path.stability_selection(X, X[:, 1], k=1, n_subsamples=2, random_state=0)
    ticks = [t.get_text() for t in result.plot(labels={"x1": "dose"}).get_yticklabels()]
    assert ticks[0] == "dose"


def test_a_short_logarithmic_axis_has_ticks_between():
    _, ax = plt.subplots()
    for low, high in ((0.45, 1.2), (0.9, 1.1), (100000, 230000), (0.01, 0.3)):
        plots.style.log_labels(ax.xaxis, low, high)
        ax.set_xscale("log"), ax.set_xlim(low, high)
        plots.style.log_labels(ax.xaxis, low, high)
        inside = [v for v in ax.xaxis.get_majorticklocs() if low <= v <= high]
        assert 4 <= len(inside) <= 12, (low, high, inside)
