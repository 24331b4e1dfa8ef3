"""Rows of weight 0 are no rows, masked entries are no data, and a tolerance is small: what would
make a claim mean something else is left out or refused.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from asked import loss_with
from thinning import thinned

import l0path
from l0path import solvers

LOSSES = ("squared", "logistic", "poisson", "huber", "squared_hinge", "smoothed_hinge")


def an_instance(loss, seed=0, n=40, p=5):
    """X and a response that fits the loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 4] = X[:, 3] if seed % 2 else X[:, 4]
    eta = X[:, 0] + 0.5 * rng.normal(size=n)
    if loss in ("squared", "huber"):
        return X, eta
    return X, rng.poisson(np.exp(eta)) if loss == "poisson" else np.where(eta > 0, 1, -1)


def with_a_wild_row(X, y, wild):
    """The same rows and one of weight 0 whose columns are `wild`."""
    w = np.ones(len(y) + 1)
    w[3] = 0.0
    return np.insert(X, 3, wild, axis=0), np.insert(y, 3, y[3]), w


@pytest.mark.parametrize(
    ("loss", "wild", "kind"), thinned(2, LOSSES, (800.0, 1e200), (np.asarray, sp.csc_matrix))
)
def test_a_row_of_weight_0_is_no_row(loss, wild, kind):
    X, y = an_instance(loss)
    X0, y0, w = with_a_wild_row(X, y, wild)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # X beta of that row overflows
        got = l0path.fit(kind(X0), y0, loss=loss, sample_weight=w, max_k=3)
        grid = l0path.fit(kind(X0), y0, loss=loss, sample_weight=w, lambda0=[0.1, 0.01])
    want = l0path.fit(kind(X), y, loss=loss, max_k=3)
    np.testing.assert_allclose(got.details.objective, want.details.objective, rtol=1e-9)
    if loss in ("squared", "logistic", "poisson"):
        assert got.select("bic") == want.select("bic")
    assert [s.support.tolist() for s in got._solutions] == [
        s.support.tolist() for s in want._solutions
    ]
    expected = l0path.fit(kind(X), y, loss=loss, lambda0=[0.1, 0.01])
    np.testing.assert_allclose(grid.details.objective, expected.details.objective, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_held_out_row_changes_no_model_and_one_of_weight_0_no_score(loss):
    X, y = an_instance(loss, seed=1)
    folds = [(np.arange(1, 40), np.array([0])), (np.arange(30), np.arange(30, 40))]
    wild = X.copy()
    wild[0] = 800.0
    # the threshold of Huber's loss is not from the data
    given = {"loss": loss_with(loss, delta=0.5), "lambda0": [0.1, 0.01, 0.001]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cv = l0path.cv_fit(wild, y, cv=folds, lambda2=0, **given)
    alone = l0path.fit(wild[1:], y[1:], **given)
    for held, s in zip(cv._fits[0], alone._solutions, strict=True):
        np.testing.assert_array_equal(held.support, s.support)
        assert held.objective == pytest.approx(s.objective, rel=1e-9)
    path = l0path.fit(X, y, loss=loss, max_k=2)
    X0, y0, w = with_a_wild_row(X, y, 800.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        scores = path.model(k=2).score(X0, y0, sample_weight=w)
    np.testing.assert_allclose(scores, path.model(k=2).score(X, y), rtol=1e-12)


MASKED = {
    "y": lambda a: {"y": a},
    "sample_weight": lambda a: {"sample_weight": a},
    "offset": lambda a: {"offset": a},
    "lower": lambda a: {"lower": -a[:3]},
    "upper": lambda a: {"upper": a[:3]},
    "penalty_factor": lambda a: {"penalty_factor": a[:3]},
    "lambda0": lambda a: {"lambda0": a[:3]},
    "lambda2": lambda a: {"lambda2": a[:3]},
    "always_include": lambda a: {"always_include": np.ma.masked_array([0, 1], [True, False])},
    "groups": lambda a: {"groups": np.ma.masked_array([0, 1, 1], [True, False, False])},
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_entries_are_refused_with_the_remedy(name):
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(20, 3)), np.ma.masked_array(rng.uniform(1, 2, 20), np.arange(20) < 2)
    given = {"y": rng.normal(size=20), **MASKED[name](a)}
    with pytest.raises(ValueError, match=rf"{name} is a masked array with \d masked .*filled"):
        l0path.fit(X, **given)


def test_masked_entries_are_refused_by_predictions_folds_and_estimators():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    hidden = np.ma.masked_array(np.arange(20) % 4, np.arange(20) < 2)
    path = l0path.fit(X, y, offset=np.zeros(20))
    with pytest.raises(ValueError, match="offset is a masked array with 2 masked"):
        path.predict(X, offset=hidden, k=1)
    with pytest.raises(ValueError, match="cv is a masked array with 2 masked"):
        l0path.cv_fit(X, y, cv=hidden)
    with pytest.raises(ValueError, match="groups_cv is a masked array with 2 masked"):
        l0path.cv_fit(X, y, cv=3, groups_cv=hidden)
    with pytest.raises(ValueError, match="sample_weight is a masked array with 2 masked"):
        l0path.estimators.L0Regressor().fit(X, y, sample_weight=hidden)
    whole = np.ma.masked_array(y, np.zeros(20, dtype=bool))  # nothing is hidden
    assert l0path.fit(X, whole).details.equals(l0path.fit(X, y).details)


@pytest.mark.parametrize("tol", [1.0001e-4, 1.1, np.inf, np.nan, 0.0, -1e-8, "small", None])
def test_a_loose_tolerance_is_refused(tol):
    X, y = an_instance("squared")
    with pytest.raises(ValueError, match="tol="):
        l0path.fit(X, y, algorithm=l0path.solvers.LocalSearch(tol=tol))
    for record in ("LocalSearch", "CoordinateDescent", "ProjectedGradient", "DualIHT"):
        with pytest.raises(ValueError, match="tol="):
            getattr(solvers, record)(tol=tol)
    with pytest.raises(ValueError, match="tol="):
        solvers.PrimalDual(tol=tol)


@pytest.mark.parametrize(
    ("loss", "size"), [(loss, 1e308) for loss in LOSSES] + [("poisson", 800.0), ("huber", -1e101)]
)
def test_an_offset_that_no_loss_can_be_computed_for_is_named(loss, size):
    X, y = an_instance(loss)
    offset = np.zeros(40)
    offset[3] = size
    with pytest.raises(ValueError, match="offset has values up to"):
        l0path.fit(X, y, loss=loss, offset=offset)
    w = np.ones(40)
    w[3] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        path = l0path.fit(X, y, loss=loss, offset=offset, sample_weight=w, max_k=1)
    want = l0path.fit(np.delete(X, 3, 0), np.delete(y, 3), loss=loss, max_k=1)
    np.testing.assert_allclose(path.details.objective, want.details.objective, rtol=1e-9)


def test_a_large_offset_of_a_poisson_model_is_taken_up_by_the_intercept():
    X, y = an_instance("poisson")
    shifted = l0path.fit(X, y, loss="poisson", offset=np.full(40, 600.0), max_k=2)
    plain = l0path.fit(X, y, loss="poisson", max_k=2)
    assert (shifted.details.status == "converged").all()
    for s, t in zip(shifted._solutions, plain._solutions, strict=True):
        assert s.intercept == pytest.approx(t.intercept - 600.0, abs=1e-6)


def test_a_lambda0_path_with_uneven_factors_and_bounds_has_no_bare_key_error():
    done = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n, p = int(rng.choice([8, 20, 60])), int(rng.integers(2, 7))
        X = rng.normal(size=(n, p))
        y = np.where(X @ rng.normal(size=p) + rng.logistic(size=n) > 0, 1, -1)
        if abs(y.sum()) == n:
            continue
        factor = rng.uniform(0.2, 3, p)
        for loss in ("smoothed_hinge", l0path.losses.Huber(0.3)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # separated or flat instances
                path = l0path.fit(X, y, loss=loss, lower=0.0, penalty_factor=factor, lambda0="grid")
            done += len(path)
    assert done > 100


def test_a_model_that_did_not_converge_bounds_nothing():
    X, y = an_instance("huber")
    w = np.random.default_rng(1).uniform(0.1, 2.0, 40)
    with pytest.warns(l0path.errors.ConvergenceWarning):
        path = l0path.fit(
            X,
            y,
            loss=l0path.losses.Huber(0.1),
            sample_weight=w,
            algorithm=l0path.solvers.LocalSearch(max_iter=1),
            max_k=1,
        )
    model = path._solutions[1]
    assert model.status == "not_converged" and np.isnan(model.lower_bound)
    assert model.optimality != "global"


def test_nesterov_steps_of_counts_that_overflow_give_no_warning():
    rng = np.random.default_rng(287)
    n, p, s = int(rng.choice([8, 15])), int(rng.integers(2, 5)), rng.choice([1.5, 2.5])
    X = np.exp(rng.normal(size=(n, p)) * s)
    y = rng.poisson(np.exp(rng.normal(size=n) * 2 + 1)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        path = l0path.fit(X, y, loss="poisson", algorithm="pg_ll", max_k=2)
    assert np.isfinite(path.details.objective).all()
