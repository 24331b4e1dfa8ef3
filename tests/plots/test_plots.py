"""The numbers behind the plots, labels that keep clear of each other, every kind on awkward paths,
and ranges of sizes.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from plot_samples import fake_cv, plt
from thinning import diagonals, slow_but, thinned

import l0path
from l0path import plots
from l0path.plots import numbers, style

KINDS = numbers.PATH_PLOTS


# -------------------- numbers


def test_coefficients_behind_the_plot(path):
    frame = plots.data(path, "coef")
    assert frame["k"].tolist() == path.details.k.tolist() and frame.index.tolist() == list(
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
    table = path.details.loc[frame.index]
    assert not table.lambda0_low.isna().any() and path.details.lambda0_low.notna().sum() == len(
        frame
    )
    np.testing.assert_array_equal(frame["low"], table.lambda0_low)
    np.testing.assert_array_equal(frame["high"].iloc[1:], table.lambda0_high.iloc[1:])
    assert frame["high"].iloc[0] > frame["low"].iloc[0] and np.isfinite(frame["high"].iloc[0])
    sizes = plots.data(path, "lambda0")
    assert list(sizes.columns) == ["k", "low", "high"] and sizes["k"].tolist() == table.k.tolist()


def test_values_of_a_lambda0_grid_hold_down_to_the_next(paths):
    path = paths["grid"]
    frame, value = plots.data(path, "coef", x="lambda0"), path.details.lambda0.to_numpy()
    np.testing.assert_array_equal(frame["high"].iloc[1:], value[1:])
    np.testing.assert_array_equal(frame["low"].iloc[:-1], value[1:])
    assert list(plots.data(path, "lambda0").columns) == ["k", "lambda0"]


def test_loss_gap_and_criteria_are_the_tables(path, paths):
    frame = plots.data(paths["slices"], "loss")
    pd.testing.assert_frame_equal(
        frame[["loss", "deviance_ratio", "slice"]],
        paths["slices"].details[["loss", "deviance_ratio", "slice"]],
        check_names=False,
    )
    unproven = (path.details.optimality != "global").to_numpy()
    assert (plots.data(path, "gap")["gap"].isna() == unproven).all()
    scores, frame = path.score_table(), plots.data(path, "criteria")
    np.testing.assert_allclose(frame["bic"], scores["bic"] - scores["bic"].min())
    np.testing.assert_allclose(frame["cp"], scores["cp"] - scores["cp"].min())
    assert "Cp, least at" in " ".join(text.get_text() for text in path.plot("criteria").texts)
    assert (frame.drop(columns="k").min() == 0).all() and frame["bic"].idxmin() == path.select(
        "bic"
    )


def test_slices_are_chosen_and_named(paths):
    path = paths["slices"]
    assert numbers.default_slice(path) == 2
    assert (
        plots.data(path, "coef").index.tolist()
        == path.details.index[path.details.slice == 2].tolist()
    )
    assert (
        plots.data(path, "coef", slice=0).index.tolist()
        == path.details.index[path.details.slice == 0].tolist()
    )
    for ax, ridge in ((path.plot(), "0.01"), (path.plot(mark={"k": 3, "slice": 1}), "0.1")):
        title = rf"$\lambda_2$ = {ridge} (3 shrinkages were fitted)"
        assert ax.get_title(loc="left") == title
    with pytest.raises(LookupError):
        path.plot(slice=7)


def test_unknown_kinds_and_axes(path):
    with pytest.raises(ValueError, match="kind='tree'"):
        path.plot("tree")
    with pytest.raises(ValueError, match="x='time'"):
        path.plot(x="time")


# -------------------- drawing


NAMES = ("whole", "slices", "null", "classes", "grid", "one", "long", "names")


@pytest.mark.parametrize(
    ("name", "kind"),
    slow_but(diagonals(2, NAMES[:5], tuple(KINDS)), itertools.product(NAMES, KINDS)),
)
@pytest.mark.filterwarnings("ignore:x='l1'")
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


@pytest.mark.parametrize(
    ("name", "own"), thinned(2, ("whole", "long", "classes", "slices"), (True, False))
)
def test_labels_do_not_overlap(paths, name, own):
    path = paths[name]
    _, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for kind, x in (
        ("coef", "k"),
        ("coef", "lambda0"),
        ("criteria", "k") if path.loss.name != "squared_hinge" else ("loss", "k"),
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
        path._meta,
        [path._solutions[3]._replace(lambda0_low=math.nan, lambda0_high=math.nan)],
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
    fake.made = fake.made.assign(cv_mean=np.linspace(8.0, 0.1, len(path)), cv_se=0.2)
    ax = fake.plot(log=True)
    low, high = ax.get_ylim()
    assert ax.get_yscale() == "log" and 0.1 / 4.5 < low < 0.1 and 8.2 < high < 12
    short = fake.plot(k=(6, 9))
    curve = max(short.lines, key=lambda line: len(line.get_xdata()))
    assert list(curve.get_xdata()) == [6, 7, 8, 9]
    assert [text.get_text() for text in short.texts] == ["best score: k = 7"]
    fake.made["cv_mean"] -= 1.0
    with pytest.raises(ValueError, match="log=True"):
        fake.plot(log=True)
    with pytest.raises(LookupError, match="sizes 0 to 16"):
        fake.plot(k=(90, 95))


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
