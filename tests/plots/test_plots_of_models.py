"""Plots of one model: its coefficients, with intervals where other rows give them."""

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.plots import style


def drawn(loss, n=120, seed=0):
    """(X, y) with two columns that matter."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)) * [1, 10, 1, 0.1, 1], columns=list("abcde"))
    eta = X.a - 0.1 * X.b
    if loss == "squared":
        return X, eta + rng.standard_normal(n)
    if loss == "logistic":
        return X, np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * eta))
    if loss == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), np.ones(n)])
    return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])


def points(ax):
    """{name: value} of the points drawn."""
    names = [text.get_text() for text in ax.get_yticklabels()]
    at = np.asarray(ax.get_yticks(), dtype=float)
    found = ax.collections[-1].get_offsets()
    return {names[int(np.flatnonzero(at == y)[0])]: x for x, y in found}


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "cox", "ordinal"])
def test_coefficients_are_standardized_and_have_the_colors_of_their_signs(loss):
    X, y = drawn(loss)
    model = l0path.fit(X, y, loss=loss, max_k=2, certify=False).model(k=2)
    ax = model.plot()
    own = model.path.coef(k=2, standardized=True)[model.features]
    assert points(ax) == pytest.approx(own.to_dict())
    colors = ax.collections[-1].get_facecolors()
    from matplotlib.colors import to_rgba

    wanted = [style.POSITIVE if b > 0 else style.NEGATIVE for b in own]
    np.testing.assert_allclose(colors, [to_rgba(color) for color in wanted])
    top = ax.get_yticklabels()[int(np.argmin(ax.get_yticks()))].get_text()
    assert ax.get_ylim()[0] > ax.get_ylim()[1] and top == own.abs().idxmax()


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "cox", "ordinal"])
def test_other_rows_give_intervals_and_those_of_the_fit_do_not(loss):
    X, y = drawn(loss)
    model = l0path.fit(X[:60], y[:60], loss=loss, max_k=2, certify=False).model(k=2)
    assert len(model.plot().collections) == 1  # points alone
    ax = model.plot("coef", X[60:], y[60:], level=0.9)
    ends = model.conf_int(0.9, X[60:], y[60:]).loc[model.features]
    scale = model.path._meta.scale[model.support]
    segments = np.array(ax.collections[0].get_segments())[:, :, 0]
    np.testing.assert_allclose(segments, ends.to_numpy() * scale[:, None])
    assert "90 % intervals" in ax.get_xlabel()
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1  # the key hides none


def test_several_responses_and_classes_have_a_color_each():
    X, y = drawn("squared")
    several = l0path.fit(X, np.column_stack([y, X.c]), max_k=2).model(k=2)
    assert len(several.plot().get_legend().get_texts()) == 2
    with pytest.raises(ValueError, match="one response"):
        several.plot("coef", X, np.column_stack([y, X.c]))
    empty = l0path.fit(X, y, max_k=1).model(k=0).plot()
    assert not empty.get_yticklabels()


def test_what_does_not_go_together_is_refused():
    X, y = drawn("squared")
    model = l0path.fit(X, y, max_k=1).model(k=1)
    for call, word in (
        (lambda: model.plot("roc curve"), "kind='roc curve' is not known"),
        (lambda: model.plot("coef", risk=y), "risk= is for kind='survival'"),
        (lambda: model.plot("calibration", strata=y), "strata= is for kind='survival'"),
        (lambda: model.plot(offset=y), "offset go with X and y"),
        (lambda: model.plot("survival"), "loss='cox'"),
    ):
        with pytest.raises(ValueError, match=word):
            call()


def test_long_names_leave_room_for_the_picture():
    rng = np.random.default_rng(0)
    names = [f"{'a name of many words ' * 15}{j}" for j in range(12)]
    X = pd.DataFrame(rng.standard_normal((60, 12)), columns=names)
    path = l0path.fit(X, X[names[0]] + rng.standard_normal(60), max_k=4)
    for ax in (path.model(k=4).plot(), path.near_best(k=2, within=0.1).plot()):
        ax.figure.canvas.draw()  # matplotlib warns where no room is left
        texts = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
        assert max(map(len, texts)) <= style.LABEL_LENGTH
    with pytest.raises(
        TypeError, match=r"kind is the first argument .* as in plot\('coef', X, y\)"
    ):
        path.model(k=4).plot(X)
