"""Equal, opposite and proportional columns: left out only where no optimum changes, and columns
like any others elsewhere. Everything is compared with all subsets (`oracles`).
"""

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from asked import asked
from thinning import thinned

import l0path

N = 40
LOSSES = ("squared", "logistic", "poisson", "huber", "squared_hinge", "smoothed_hinge")


def data(loss="squared", seed=0, twin=1.0):
    """X (N, 5): a, b, twin * a, c, a again; a response that a and b explain in part."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, N))
    X = np.column_stack([a, b, twin * a, c, a])
    eta = a + 0.4 * b
    if loss in ("squared", "huber"):
        return X, eta + 0.3 * rng.normal(size=N)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.7 * eta)).astype(float)
    return X, np.where(eta + 1.5 * rng.logistic(size=N) > 0, 1.0, -1.0)


def words(options):
    """The options of `l0path.fit` in the words of the oracles."""
    names = {"always_include": "forced", "exclude": "excluded", "sample_weight": "weights"}
    names["fit_intercept"] = "intercept"
    return {names.get(key, key): value for key, value in options.items()}


def check_sizes(X, y, options, shape=None, sizes=None):
    """Every size is reached, its model is the best of all, and what is claimed of it is true."""
    path = l0path.fit(X if shape is None else shape(X), y, certify=True, max_k=5, **asked(options))
    best = oracles.best_subsets(X, y, 5, **words(options))
    wanted = sorted(best) if sizes is None else range(sizes + 1)
    assert path.details.k.tolist() == list(wanted), path.notes
    for s in path._solutions:
        value = best[s.k][0]
        assert s.objective == pytest.approx(value, rel=2e-6), (s.k, s.support, best[s.k])
        assert not s.lower_bound > value * (1 + 1e-6) + 1e-12
        assert s.optimality != "unverified"
    return path


PLAIN = {
    "nothing": {},
    "lambda1": {"lambda1": 0.05},
    "the earlier is excluded": {"exclude": [0]},
    "two are excluded": {"exclude": [0, 2]},
    "the later is forced": {"always_include": [4]},
    "weights": {"sample_weight": np.arange(1.0, N + 1)},
    "no intercept": {"fit_intercept": False},
    "units as they are": {"standardize": False, "lambda1": 0.02},
}


@pytest.mark.parametrize("name", PLAIN)
def test_copies_are_left_out_where_they_change_no_optimum(name):
    X, y = data()
    options = PLAIN[name]
    forced, out = options.get("always_include", []), options.get("exclude", [])
    path = check_sizes(X, y, options, sizes=3 - len(forced))
    copies = [j for j in (0, 2, 4) if j not in out and j not in forced]
    kept = forced[0] if forced else copies[0]
    spare = [j for j in copies if j != kept]
    assert not any(j in s.support for s in path._solutions for j in spare)
    told = [note for note in path.notes if "left out" in note]
    assert len(told) == bool(spare)
    assert all(f"x{j} (equal to x{kept})" in told[0] for j in spare)


RIDGE_AND_BOXES = {
    "ridge": {"lambda2": 0.2},
    "ridge and lambda1": {"lambda1": 0.02, "lambda2": 0.1},
    "ridge, the earlier excluded": {"lambda2": 0.2, "exclude": [0]},
    "ridge, the later forced": {"lambda2": 0.2, "always_include": [2]},
    "a bound on the earlier": {"upper": [0.0, np.inf, np.inf, np.inf, np.inf]},
    "boxes": {"lower": -0.3, "upper": 0.4},
    "a box and lambda1": {"lower": -0.3, "upper": 0.4, "lambda1": 0.02},
}


@pytest.mark.parametrize(("twin", "name"), thinned(2, [1.0, -1.0, 3.0], RIDGE_AND_BOXES))
def test_elsewhere_copies_are_columns_like_any_others(name, twin):
    X, y = data(twin=twin)
    options = RIDGE_AND_BOXES[name]
    # x2 and x4 have no bound, so the later one is left out where they are equal
    spare = twin == 1.0 and isinstance(options.get("upper"), list)
    check_sizes(X, y, options, sizes=4 if spare else None)


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_copies_share_a_ridge_under_every_loss(loss):
    X, y = data(loss)
    path = check_sizes(X, y, {"loss": loss, "lambda2": 0.05, "delta": 1.345})
    assert any("x0 = x2 = x4" in note for note in path.notes)


@pytest.mark.parametrize("shape", [np.float32, sp.csc_array, sp.csr_array, np.asfortranarray])
def test_copies_in_every_form_of_x(shape):
    X, y = data()
    X = X.astype(np.float32).astype(float)
    make = (lambda A: A.astype(np.float32)) if shape is np.float32 else shape
    check_sizes(X, y, {"lambda2": 0.2}, make)
    check_sizes(X, y, {}, make, sizes=3)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
@pytest.mark.parametrize("lambda2", [0.0, 0.1])
def test_the_cheapest_copy_stays(order, lambda2):
    X, y = data()
    X, factor = X[:, order], np.array([10.0, 1.0, 1.0, 1.0, 5.0])[order]
    values = [0.15, 0.05, 0.01]
    path = l0path.fit(X, y, penalty_factor=factor, lambda0=values, lambda2=lambda2, certify=True)
    for s, lambda0 in zip(path._solutions, values, strict=True):
        value, support = oracles.best_penalized(
            X, y, lambda0, penalty_factor=factor, lambda2=lambda2
        )
        assert s.support.tolist() == list(support)
        assert s.objective == pytest.approx(value, rel=1e-9)
        assert not s.lower_bound > value * (1 + 1e-6)


def test_slices_with_and_without_a_ridge():
    X, y = data()
    path = l0path.fit(X, y, lambda2=[0.2, 0.0], max_k=5)
    for s in path._solutions:
        best = oracles.best_subsets(X, y, s.k, lambda2=s.lambda2)[s.k][0]
        assert s.objective == pytest.approx(best, rel=1e-7)
    assert path.slice(0).details.k.max() == 5 and path.slice(1).details.k.max() >= 3


def test_exact_and_certify_see_copies_under_a_ridge():
    X, y = data()
    best = oracles.best_subsets(X, y, 5, lambda2=0.5)
    exact = l0path.fit(X, y, lambda2=0.5, algorithm="exact", max_k=5)
    assert exact.details.optimality.eq("global").all() and exact.details.k.max() == 5
    np.testing.assert_allclose(exact.details.objective, [best[k][0] for k in range(6)], rtol=1e-6)
    certificate = l0path.fit(X, y, lambda2=0.5).certify(k=2)
    assert certificate.proven and certificate.incumbent == pytest.approx(best[2][0], rel=1e-6)
    assert not np.isin(certificate.fixed_out, best[2][1]).any()


def test_copies_stand_in_for_the_column_that_stayed():
    X, y = data()
    path = l0path.fit(X, y)
    assert path.support(k=2).tolist() == [0, 1]
    near = path.model(k=2).alternatives(n=2)
    assert near.dropped.tolist() == ["x0", "x0"] and near.added.tolist() == ["x2", "x4"]
    np.testing.assert_allclose(near.relative, 0.0, atol=1e-9)
    assert path.model(k=2).summary().table.best_exchange["x0"] in ("x2", "x4")
    ranked = path.certify(k=2, n_best=4)
    assert {tuple(model.support) for model in ranked.best[:3]} == {(0, 1), (1, 2), (1, 4)}
    assert ranked.proven and any("each can stand in" in a for a in path.certify(k=2).assumptions)


def test_an_assumed_box_counts_each_copy():
    """Two copies within |b| <= M reach 2 M, so a bound for models in the box is one of both."""
    X, y = data()
    path = l0path.fit(X, y)
    box = 1.05 * float(np.abs(path._solutions[1].beta[0]) * X[:, 0].std())
    found = path.certify(k=2, box=box)
    low, high = -box / X.std(axis=0), box / X.std(axis=0)
    best = oracles.best_subsets(X, y, 2, lower=low, upper=high)[2][0]
    assert found.lower_bound <= best * (1 + 1e-6)


def test_a_loaded_path_knows_its_copies(tmp_path):
    X, y = data()
    path = l0path.fit(X, y)
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert loaded.model(k=2).alternatives(n=2, X=X, y=y).equals(path.model(k=2).alternatives(n=2))
    certificate = loaded.certify(k=2, X=X, y=y)
    assert certificate.proven and certificate.assumptions == path.certify(k=2).assumptions


@pytest.mark.parametrize("lambda2", [0.0, 0.2])
def test_folds_treat_copies_as_the_path_does(lambda2):
    X, y = data()
    fold = np.arange(N) % 4
    cv = l0path.cv_fit(X, y, cv=fold, lambda2=lambda2, max_k=5)
    assert cv.details.k.max() == (5 if lambda2 else 3)
    here = fold != 0
    own = l0path.fit(X[here], y[here], lambda2=lambda2, max_k=5)
    errors = [
        np.mean((y[~here] - np.asarray(own.predict(X[~here], k=k))) ** 2) for k in cv.details.k
    ]
    np.testing.assert_allclose(cv.folds.iloc[:, 0], errors, rtol=1e-6)


def test_groups_keep_their_copies():
    X, y = data()
    path = l0path.fit(X, y, groups=["g", "g", "h", "h", "i"], max_k=3)
    whole = {"g": [0, 1], "h": [2, 3], "i": [4]}
    for k, size in ((1, [["g"], ["h"], ["i"]]), (2, [["g", "h"], ["g", "i"], ["h", "i"]])):
        columns = [[j for g in few for j in whole[g]] for few in size]
        values = [oracles.restricted(X, y, J)[0] for J in columns]
        assert path.model(k=k).objective == pytest.approx(min(values), rel=1e-7)
