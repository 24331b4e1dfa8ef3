"""Predictions of paths: linear predictors, classes, names of columns, offsets."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from path_samples import FRAME, NAMES, X, Y, Z, data, framed_path, support_path
from scipy.special import expit

import l0path

# -- predictions


def test_predictions_are_the_linear_predictor():
    new = data(1, 7)[0]
    for k in range(7):
        coef = support_path().coef(k=k, full=True).to_numpy()
        for form in (
            new,
            np.asfortranarray(new),
            sp.csr_array(new),
            new.tolist(),
            pd.DataFrame(new),
        ):
            np.testing.assert_allclose(
                support_path().predict(form, k=k), coef[0] + new @ coef[1:], rtol=1e-12
            )
        np.testing.assert_array_equal(
            support_path().model(k=k).predict(new), support_path().predict(new, k=k)
        )
    assert (
        support_path().predict(new).shape == (7, 7)
        and (support_path().predict(new)[:, 3] == support_path().predict(new, k=3)).all()
    )
    np.testing.assert_allclose(
        support_path().predict(new.astype(np.float32), k=3),
        support_path().predict(new, k=3),
        rtol=1e-5,
    )
    assert support_path().predict(new[:1], k=3).shape == (1,)


def test_frames_are_taken_by_name():
    for form in (FRAME, FRAME[NAMES[::-1]], FRAME.assign(extra=1.0, text="a")):
        out = framed_path().predict(form, k=2)
        assert (
            isinstance(out, pd.Series) and out.index.equals(FRAME.index) and out.name == "outcome"
        )
        np.testing.assert_allclose(out, framed_path().predict(X, k=2), rtol=1e-13)
    assert isinstance(framed_path().predict(X, k=2), np.ndarray)
    bare = framed_path().predict(FRAME.iloc[:3])
    assert (
        bare.shape == (3, 5)
        and bare.index.tolist() == ["r0", "r1", "r2"]
        and bare.columns.tolist() == list(range(5))
    )
    one, two = framed_path().model(k=2).features
    with pytest.raises(
        ValueError, match=f"lacks 2 of the columns that the model uses: {one}, {two}"
    ):
        framed_path().predict(FRAME.drop(columns=[one, two]), k=2)
    with pytest.raises(ValueError, match="X has 5 columns, the fit had 6"):
        framed_path().predict(X[:, :5], k=1)
    numbered = l0path.fit(pd.DataFrame(X, columns=range(6)), Y, max_k=2)
    np.testing.assert_allclose(
        numbered.predict(pd.DataFrame(X[:, ::-1], columns=range(5, -1, -1)), k=2),
        numbered.predict(X, k=2),
    )


def test_frames_of_the_fit_names_are_matched_even_if_the_fit_took_an_array():
    path = l0path.fit(X, Y, feature_names=NAMES, max_k=2)
    for form in (FRAME, FRAME[NAMES[::-1]], FRAME.assign(extra=1.0)):
        np.testing.assert_allclose(path.predict(form, k=2), path.predict(X, k=2), rtol=1e-13)
    np.testing.assert_allclose(path.predict(pd.DataFrame(X), k=2), path.predict(X, k=2), rtol=1e-13)


def test_repeated_names_are_numbered_and_taken_by_position():
    frame = pd.DataFrame(X, columns=["a", "a", "b", "a", "b", "c"])
    path = l0path.fit(frame, Y, max_k=3)
    assert path.names == ["a", "a.1", "b", "a.2", "b.1", "c"] and any(
        "repeated column names" in note for note in path.notes
    )
    np.testing.assert_array_equal(path.predict(frame, k=3).to_numpy(), path.predict(X, k=3))


def test_types_of_prediction():
    eta = framed_path().predict(X, k=2, type="link")
    mean = framed_path().predict(X, k=2)
    np.testing.assert_allclose(mean, expit(eta), rtol=1e-13)
    np.testing.assert_array_equal(mean, framed_path().predict(X, k=2, type="response"))
    assert (framed_path().predict(X, k=2, type="class") == np.where(eta > 0, "yes", "no")).all()
    assert framed_path().predict(X, type="class").shape == (50, 5)
    with pytest.raises(ValueError, match="type='prob'"):
        framed_path().predict(X, k=2, type="prob")
    with pytest.raises(ValueError, match="type='class' needs a classification loss"):
        support_path().predict(X, k=2, type="class")
    hinge = l0path.fit(X, Z, loss="squared_hinge", max_k=2)
    np.testing.assert_array_equal(hinge.predict(X, k=2), hinge.predict(X, k=2, type="link"))
    with pytest.raises(ValueError, match=r"needs a loss with a mean.*type='link' or 'class'"):
        hinge.predict(X, k=2, type="response")
    counts = l0path.fit(X, np.random.default_rng(0).poisson(3, 50), loss="poisson", max_k=1)
    np.testing.assert_allclose(counts.predict(X, k=1), np.exp(counts.predict(X, k=1, type="link")))
    assert np.isfinite(framed_path().predict(1e6 * X, k=2)).all()


LABELS = [
    np.array(["no", "yes"]),
    np.array([False, True]),
    np.array([0, 1], dtype=np.int8),
    np.array([-1.5, 2.0], dtype=np.float32),
    pd.Categorical(["b", "a"], categories=["b", "a"]),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_predicted_classes_have_the_labels_of_the_fit(labels, tmp_path):
    y = labels[(Z == "yes").astype(int)]
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    path.save(tmp_path / "labels")
    back = l0path.load(tmp_path / "labels")
    assert path.classes == tuple(labels) == back.classes and list(map(type, back.classes)) == list(
        map(type, path.classes)
    )
    for p in (path, back):
        predicted = p.predict(X, k=2, type="class")
        assert (
            set(np.unique(predicted)) == set(labels) and (predicted == np.asarray(y)).mean() > 0.7
        )


def test_a_row_without_a_predictor_has_no_class():
    path = l0path.fit(X, Z, loss="logistic", lambda2=0.1, max_k=2)
    rows = X[:4].copy()
    rows[2, path.support(k=2)[0]] = np.nan
    rows[3, np.setdiff1d(range(6), path.support(k=2))] = np.nan  # not in the model
    assert np.isnan(path.predict(rows, k=2)).tolist() == [False, False, True, False]
    with pytest.raises(ValueError, match=r"NaN .*1 rows, the first at position 2"):
        path.predict(rows, k=2, type="class")
    assert (
        path.predict(rows[[0, 1, 3]], k=2, type="class")
        == path.predict(X[[0, 1, 3]], k=2, type="class")
    ).all()


@pytest.mark.parametrize("loss", ["squared", "multinomial", "ordinal"])
def test_rows_with_missing_or_infinite_entries_have_no_prediction_and_no_warning(loss):
    y = Y if loss == "squared" else np.arange(len(Y)) % 3
    path = l0path.fit(X, y, loss=loss, max_k=2, lambda2=0.01, certify=False)
    new = X[:4].copy()
    new[1], new[2] = np.nan, np.inf
    for one in (path.predict(new, k=2), path.predict(new)):
        assert np.isnan(one[1]).any() and np.isfinite(one[[0, 3]]).all()
    np.testing.assert_allclose(path.predict(new, k=2)[0], path.predict(X[:1], k=2)[0])


def test_offset_in_predictions():
    o = np.linspace(-1, 1, 50)
    path = l0path.fit(X, Y, offset=o, max_k=2)
    with pytest.raises(ValueError, match="the fit had an offset: pass offset="):
        path.predict(X, k=2)
    np.testing.assert_allclose(
        path.predict(X, k=2, offset=o) - path.predict(X, k=2, offset=0), o, atol=1e-13
    )
    np.testing.assert_allclose(path.model(k=2).predict(X, offset=o), path.predict(X, k=2, offset=o))
    assert path.model(k=2).loss == pytest.approx(
        ((Y - path.predict(X, k=2, offset=o)) ** 2).mean() / 2, rel=1e-12
    )
    assert path.model(k=0).intercept == pytest.approx((Y - o).mean())
    for wrong in (o[:5], "a", np.full(50, np.nan)):
        with pytest.raises((ValueError, TypeError), match="offset"):
            path.predict(X, k=2, offset=wrong)
