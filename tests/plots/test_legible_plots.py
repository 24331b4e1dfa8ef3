"""Colours, labels, sizes and ticks of plots that are to be printed."""

import re

import numpy as np
import pandas as pd
import pytest
from plot_samples import plt, response

import l0path
from l0path import plots

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
