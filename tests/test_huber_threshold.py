"""The default threshold of the Huber loss: that of `rlm`, whatever form the data come in."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy

import l0path

sm = lazy("statsmodels.api")


def sample(seed=0, n=120, p=10):
    """y with strong effects of columns 1, 4 and 6, and one error in ten far out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    error = rng.standard_normal(n) * np.where(rng.random(n) < 0.1, 8.0, 1.0)
    return X, 5.0 + X[:, [1, 4, 6]] @ [3.0, -3.0, 3.0] + error


X, Y = sample()


def threshold(X=X, y=Y, **arguments):
    return l0path.fit(X, y, **{"loss": "huber", "max_k": 1, **arguments}).loss.delta


def of_rlm(y, Z):
    """1.345 times the scale of statsmodels' Huber M-estimate (iterated MAD)."""
    fit = sm.RLM(y, sm.add_constant(Z), sm.robust.norms.HuberT()).fit(maxiter=500, tol=1e-12)
    return 1.345 * fit.scale


def test_stackloss_is_that_of_rlm():
    """MASS::rlm(stack.loss ~ Air.Flow + Water.Temp)."""
    data = sm.datasets.stackloss.load_pandas()
    path = l0path.fit(data.exog, data.endog, loss="huber")
    coef = path.coef(k=2)
    assert list(coef.index[1:]) == ["AIRFLOW", "WATERTEMP"]
    np.testing.assert_allclose(coef, [-49.880, 0.7951, 0.9220], rtol=1e-3)
    summary = path.model(k=2).summary()
    residual = data.endog - path.predict(data.exog, k=2)
    beyond = int((np.abs(residual) > path.loss.delta).sum())
    assert summary.header["beyond_delta"] == beyond == 3
    assert f"delta = {path.loss.delta:.4g}: 3 of 21 rows are beyond" in repr(summary)
    assert l0path.fit(data.exog, data.endog, max_k=1).loss == l0path.losses.Squared()


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_the_error_of_coefficients_is_close_to_that_of_the_best_threshold(count):
    error = {None: [], 1.345: []}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        A, beta = rng.standard_normal((100, 8)), np.zeros(8)
        beta[:3] = rng.choice([-3.0, 3.0], 3)
        y = A @ beta + rng.standard_normal(100) * np.where(rng.random(100) < 0.1, 8.0, 1.0)
        for delta, squares in error.items():
            path = l0path.fit(A, y, loss=l0path.losses.Huber(delta), k=3)
            squares.append(((path.coef(k=3, full=True).to_numpy()[1:] - beta) ** 2).sum())
    assert np.mean(error[None]) <= 1.2 * np.mean(error[1.345])


@pytest.mark.parametrize("form", ["array", "rows", "float32", "csc", "frame", "disk"])
def test_every_container_gives_the_threshold_of_rlm(form, tmp_path):
    A = X.copy()
    if form == "disk":
        np.save(tmp_path / "x.npy", np.asfortranarray(A))
        A = l0path.designs.blocks(tmp_path / "x.npy", memory_limit="10MB")
    elif form == "csc":
        A = sp.csc_array(A)
    elif form == "frame":
        A = pd.DataFrame(A).add_prefix("v")
    elif form == "rows":
        A = np.ascontiguousarray(A)
    elif form == "float32":
        A = A.astype(np.float32)
    expected = of_rlm(Y, X[:, [1, 4, 6]])
    assert threshold(A) == pytest.approx(expected, rel=1e-6)


def test_weights_offset_units_and_rows():
    w = np.random.default_rng(1).integers(0, 3, Y.size)
    twice = threshold(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert threshold(sample_weight=w) == pytest.approx(twice, rel=1e-9)
    shift = 4.0 * X[:, 1] - 2.0
    assert threshold(y=Y + shift, offset=shift) == pytest.approx(threshold(), rel=1e-9)
    assert threshold(y=1e-6 * Y) == pytest.approx(1e-6 * threshold(), rel=1e-8)
    order = np.random.default_rng(2).permutation(Y.size)
    assert threshold(X[order], Y[order]) == pytest.approx(threshold(), rel=1e-9)
    assert threshold(X[:, ::-1] * -2.0) == pytest.approx(threshold(), rel=1e-9)


def test_degenerate_columns_do_not_matter():
    more = np.column_stack([X, X[:, 1], -X[:, 4], 3 * X[:, 6], np.ones(Y.size), X[:, 0] + X[:, 1]])
    assert threshold(more) == pytest.approx(threshold(), rel=1e-6)


def test_forced_groups_boxes_and_shrinkage():
    forced = threshold(always_include=[0, 1])
    assert forced == pytest.approx(of_rlm(Y, X[:, [0, 1, 4, 6]]), rel=1e-6)
    assert threshold(groups=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]) == pytest.approx(threshold(), rel=1e-9)
    assert threshold(lower=0.0, lambda2=0.1) == threshold()
    assert threshold(exclude=[4]) > 1.5 * threshold()
    few = threshold(X[:9], Y[:9], algorithm=l0path.solvers.LocalSearch(max_iter=500))
    assert few == pytest.approx(of_rlm(Y[:9], np.empty((9, 0))), rel=1e-6)


def test_the_threshold_is_one_number_of_the_path_and_its_folds():
    path = l0path.fit(X, Y, loss="huber")
    assert (
        path.loss.delta == threshold() == l0path.fit(X, Y, loss="huber", lambda0="grid").loss.delta
    )
    again = l0path.fit(X, Y, loss=l0path.losses.Huber(path.loss.delta))
    np.testing.assert_array_equal(path.details.objective, again.details.objective)
    ids = np.arange(Y.size) % 3
    default = l0path.cv_fit(X, Y, loss="huber", cv=ids, max_k=4)
    given = l0path.cv_fit(X, Y, loss=l0path.losses.Huber(path.loss.delta), cv=ids, max_k=4)
    np.testing.assert_array_equal(default.folds, given.folds)


def test_where_more_than_half_of_the_residuals_are_zero():
    y = np.where(np.arange(Y.size) < 30, Y, 1.0)
    path = l0path.fit(X, y, loss="huber", max_k=2)
    (note,) = [note for note in path.notes if "floor" in note]
    expected = 0.01345 * np.abs(y - 1.0).mean()
    assert (
        path.loss.delta == pytest.approx(expected, rel=1e-12) and f"{path.loss.delta:.4g}" in note
    )
    assert (path.details.status == "converged").all()
    assert l0path.fit(X, np.ones(Y.size), loss="huber", max_k=1).loss.delta == 1.0
    exact = l0path.fit(X, X @ np.arange(10.0), loss="huber", max_k=10)
    assert exact.loss.delta > 0 and exact.details.loss.iloc[-1] < 1e-12
    limited = l0path.fit(X, Y, loss="huber", time_limit=1e-9)
    assert limited.loss.delta > 0
