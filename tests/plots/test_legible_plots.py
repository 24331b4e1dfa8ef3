"""Colors, labels, sizes and ticks of plots that are to be printed."""

import re

import numpy as np
import pandas as pd
import pytest
from plot_samples import plt, response

import l0path
from l0path import plots

# -------------------- what journals and readers ask for


def colors(ax):
    """{label in the margin: its color}, of the text before it was darkened: that of its line."""
    return {t.get_text(): t.arrow_patch.get_edgecolor() for t in ax.texts if t.arrow_patch}


def test_a_feature_has_one_color_whatever_is_drawn(path):
    every, few = colors(path.plot("coef")), colors(path.plot("coef", k=5))
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
    cv = l0path.cv_fit(X, response(X), cv=4, max_k=6, lambda2=0, random_state=0)
    table, best = cv.scores, cv.select("min")
    band = [patch for patch in cv.plot().patches if patch.get_alpha() == 0.12]
    low, high = band[0].get_y(), band[0].get_y() + band[0].get_height()
    assert low == pytest.approx(table.cv_mean[best])
    assert high == pytest.approx(table.cv_mean[best] + table.cv_se[best])
    inside = table.index[table.cv_mean <= high + 1e-9]
    assert table.n_features[cv.select("1se")] == table.n_features[inside].min()
    assert not [patch for patch in cv.plot(mark=("min",)).patches if patch.get_alpha() == 0.12]


def test_the_columns_of_a_factor_are_labeled_apart():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["p", "q", "r"], 60), "a": rng.standard_normal(60)})
    frame["y"] = frame.a + (frame.kind == "q") - (frame.kind == "r") + 0.3 * frame.index % 3
    ax = l0path.fit("y ~ a + kind", frame).plot("coef")
    assert {"a", "kind[T.q]", "kind[T.r]"} == set(colors(ax))
    assert colors(ax)["kind[T.q]"] == colors(ax)["kind[T.r]"] != colors(ax)["a"]
    dashes = {
        str(line.get_linestyle())
        for line in ax.lines
        if line.get_color() == plt.matplotlib.colors.to_hex(colors(ax)["kind[T.q]"]).upper()
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
    number = cv.model().details["slice"]
    assert number != 2  # which a path shows that was not cross-validated: least shrinkage
    title = l0path.fit(X, y, lambda2=[1.0, 0.1, 1e-4]).plot().get_title(loc="left")
    assert title == r"$\lambda_2$ = 0.0001 (3 shrinkages were fitted)"
    assert plots.data(cv, "coef").index.tolist() == cv._rows(number, None, None)
    shown = f"{cv.model().details['lambda2']:.3g} (3 shrinkages were fitted)"
    assert cv.plot("coef").get_title(loc="left").endswith(shown)


def test_names_can_be_replaced_in_print(path):
    name = path.model(k=4).features[0]
    texts = {name: "systolic pressure"}
    assert "systolic pressure" in colors(path.plot("coef", labels=texts, k=4))
    ticks = [t.get_text() for t in path.plot("support", labels=texts).get_yticklabels()]
    assert "systolic pressure" in ticks and name not in ticks
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"site": np.tile(["u", "v", "w"], 20), "dose": rng.standard_normal(60)})
    table["y"] = table["dose"] + (table["site"] == "v") - (table["site"] == "w")
    factor = l0path.fit("y ~ site + dose", table).plot("coef", labels={"site": "Clinic"})
    assert {"Clinic[T.v]", "Clinic[T.w]", "dose"} <= set(colors(factor))
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


def test_a_marked_model_is_named_and_drawn_with_a_few_sizes_beyond(path):
    """Its columns are named wherever their curves end."""
    ax = path.plot("coef", mark={"k": 3})
    named = {name for name in colors(ax) if name in path.names}
    assert named == set(path.model(k=3).features)
    assert 8 <= ax.get_xlim()[1] < 9 and "sizes up to 8 of" in ax.get_title(loc="left")
    assert set(path.model(k=3).features) <= set(colors(path.plot("coef", mark={"k": 3}, k=6)))


def test_a_coefficient_of_one_size_alone_is_a_point():
    values = np.array([0.0, 0.0, 3.0, 0.0, 0.0, 1.0, 2.0, 0.0])
    found = plots.drawing.entered(values)
    np.testing.assert_array_equal(np.isnan(found), [1, 1, 0, 1, 0, 0, 0, 0])


def test_norms_are_called_norms_and_one_response_has_signs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc"))
    Y = pd.DataFrame({"up": X["a"], "down": -X["a"] + X["b"]}) + rng.standard_normal((60, 2))
    path = l0path.fit(X, Y)
    assert path.plot("coef").get_ylabel() == "norm of the standardized coefficients (2 responses)"
    bar = path.plot("support").get_figure().axes[1]
    assert [t.get_text() for t in bar.get_yticklabels()] == ["0", "1"]
    assert bar.get_ylabel().startswith("norm")
    one = plots.data(path, "coef", response="down")
    wanted = path.coef(standardized=True).xs("down", level=1, axis=1)
    np.testing.assert_allclose(one["a"], wanted.loc["a"])
    assert (one["a"].iloc[1:] < 0).all()
    ax = path.plot("support", response="down")
    image = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert np.nanmin(image) < 0 and "down" in ax.get_figure().axes[1].get_ylabel()
    codes = np.argmax(X.to_numpy() + rng.gumbel(size=(60, 3)), axis=1)
    classes = l0path.fit(X, codes, loss="multinomial", lambda2=1e-2)
    assert "(3 classes)" in classes.plot("coef").get_ylabel()
    assert classes.plot("coef", class_=2).get_ylabel().endswith(", 2")
    with pytest.raises(ValueError, match=r"class_=7: not one of this path; choose one of 0, 1, 2"):
        classes.plot(class_=7)
    with pytest.raises(ValueError, match="this one takes class_="):
        classes.plot(response=1)
    with pytest.raises(ValueError, match="one response; leave it out"):
        l0path.fit(X, Y["up"]).plot(response="up")


def test_signs_have_the_same_colors_in_all_plots(path):
    """Blue above zero, orange below, in supports and in sets of models, with a key."""
    hitters = l0path.datasets.load_hitters()
    path = l0path.fit(hitters.X, hitters.y, max_k=8)
    drawn = path.near_best(criterion="bic", within=2).plot()
    maps = [drawn.images[0].get_cmap(), path.plot("support").images[0].get_cmap()]
    for colors_of in maps:
        ends = [plt.matplotlib.colors.to_hex(colors_of(v)) for v in (0.0, 1.0)]
        assert ends == [plots.style.NEGATIVE.lower(), plots.style.POSITIVE.lower()]
    assert [t.get_text() for t in drawn.get_legend().get_texts()] == ["positive", "negative"]


def test_gaps_are_in_percent():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    path = l0path.fit(X, X[:, 0] + rng.standard_normal(40), lambda2=0.05, max_k=4, certify=True)
    ax = path.plot("gap")
    gap = path.details.gap.to_numpy()
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), np.where(gap <= 1e-6, 0.0, 100 * gap), rtol=1e-12
    )
    assert "%" in ax.get_ylabel() and gap.max() > 1e-6


def test_curves_that_run_backwards_are_warned_of():
    rng = np.random.default_rng(1)
    a = rng.standard_normal(200)
    X = np.column_stack([a + 0.01 * rng.standard_normal(200), a, rng.standard_normal(200)])
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    path = l0path.fit(X, y)
    sums = plots.data(path, "coef", x="l1")["l1"].to_numpy()
    reverse = l0path.Path(path._meta, path._solutions[::-1], path.status, (), (), path._source)
    assert (np.diff(sums) > 0).all()
    path.plot(x="l1")
    with pytest.warns(UserWarning, match="run backwards"):
        reverse.plot(x="l1")


def test_numbers_at_risk_and_ties_are_said():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((90, 2))
    X[:50, 0] = 0.0
    time, seen = rng.exponential(np.exp(-X[:, 0])), rng.random(90) < 0.8
    path = l0path.fit(X, np.column_stack([time, seen]), loss="cox", max_k=1, always_include=[0])
    ax = path.model(k=0).plot("survival", groups=2)
    texts = [t.get_text() for t in ax.texts]
    ticks = ax.get_xticks()
    assert texts[0] == "at risk" and len(texts) == 1 + 2 * len(ticks)
    risk = path.predict(X, k=0, type="link")
    low = risk <= np.quantile(risk, 0.5)
    assert texts[1 : 1 + len(ticks)] == [str(int((time[low] >= t).sum())) for t in ticks]
    legend = ax.get_legend()
    said = legend.get_title().get_text()
    assert "equal risk" in said and "95 %" in said and low.sum() != 45
    ax.figure.draw_without_rendering()
    assert legend.get_window_extent().y0 > ax.get_window_extent().y1 - 2  # above the curves


def test_curves_of_typical_rows_are_those_of_survival():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.standard_normal((90, 2)), columns=["age", "dose"])
    y = np.column_stack([rng.exponential(np.exp(-X["age"])), rng.random(90) < 0.8])
    model = l0path.fit(X, y, loss="cox", max_k=1).model(k=1)
    typical = pd.DataFrame({"age": [0.0, 1.0], "dose": 0.0}, index=["mean", "old"])
    ax = model.plot("survival", typical)
    curves = model.survival(typical)
    for line, (_, chance) in zip(ax.lines, curves.iterrows(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [0.0, *curves.columns])
        np.testing.assert_array_equal(line.get_ydata(), [1.0, *chance])
    assert [text.get_text() for text in ax.texts] == ["mean", "old"]
    texts = model.plot("survival", typical.reset_index(drop=True)).texts
    assert [text.get_text() for text in texts] == ["row 0", "row 1"]
    with pytest.raises(ValueError, match="X has 90 rows, and curves are drawn for 1 to 12"):
        model.plot("survival", X)
    # a table with the times of a formula is one of groups of rows
    data = X.assign(time=y[:, 0], died=y[:, 1])
    model = l0path.fit("Surv(time, died) ~ age + dose", data, loss="cox").model(k=1)
    assert len(model.plot("survival", data, groups=2).get_legend().get_texts()) == 2
    assert len(model.plot("survival", typical).texts) == 2


def test_few_large_predictions_do_not_squeeze_a_calibration_curve():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 2))
    mean = np.exp(1.3 * X[:, 0] - 0.5)
    y = rng.poisson(mean)
    ax = l0path.fit(X, y, loss="poisson", max_k=1).model(k=1).plot("calibration")
    points = next(line for line in ax.lines if line.get_gid() == "l0path-calibration")
    assert points.get_xdata()[-1] > 0.7 * ax.get_xlim()[1]
    assert any("predictions beyond, up to" in t.get_text() for t in ax.texts)
    bars = np.concatenate([s[:, 1] for s in ax.collections[0].get_segments()])
    assert bars.min() >= 0


def test_the_legend_of_signs_has_the_signs_that_are_there():
    """A model of negative coefficients alone had "positive" in its legend."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    for sign, word in ((1.0, "positive"), (-1.0, "negative")):
        ax = l0path.fit(X, sign * (X[:, 0] + X[:, 1])).model(k=2).plot()
        assert [t.get_text() for t in ax.get_legend().get_texts()] == [word]


def test_the_shrinkage_of_each_curve_is_named_in_full(X):
    options = {"cv": 3, "max_k": 3, "random_state": 0}
    cv = l0path.cv_fit(X, response(X), lambda2=[10.0, 0.0], relax=(0, 0.5, 1), **options)
    names = colors(cv.plot("loss"))
    assert "no shrinkage" in names and r"$\lambda_2$ = 10, relax = 0.5" in names
    assert not any("…" in name for name in names)


def test_the_line_from_a_curve_that_ends_early_to_its_name_is_no_curve():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    total = X.sum(axis=1, keepdims=True) + 0.3 * rng.standard_normal((60, 1))
    path = l0path.fit(np.hstack([X, total]), X.sum(axis=1) + 0.1 * rng.standard_normal(60), max_k=2)
    assert path.support(k=1).tolist() == [2] and path.support(k=2).tolist() == [0, 1]
    texts = path.plot("coef", mark=[{"k": 1}, {"k": 2}]).texts
    line = {t.get_text(): t.arrow_patch.get_linestyle() for t in texts if t.arrow_patch}
    assert line == {"x0": "-", "x1": "-", "x2": ":"}


def test_equal_predictions_have_a_calibration_point():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.random.default_rng(1).normal(size=30)
    y[:15] = y[15:]
    for loss in ("squared", l0path.losses.Huber(delta=1.0)):
        ax = (
            l0path.fit(X, y, loss=loss, freq_weight=np.arange(30) % 3)
            .model(k=0)
            .plot("calibration")
        )
        assert any(line.get_gid() == "l0path-calibration" for line in ax.lines)
