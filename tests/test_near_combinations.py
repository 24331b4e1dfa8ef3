"""Columns that are almost linear combinations of others, which a Gram matrix cannot tell from true
ones: compared with least squares by orthogonal factorization on every subset.
"""

import warnings
from itertools import combinations

import numpy as np
import oracles
import pytest
import rational_least_squares
from claims.seeds import instance
from scipy.optimize import lsq_linear
from thinning import thinned

import l0path
from l0path.core.control import Clock
from l0path.engine.posing import resolved
from l0path.engine.request import request
from l0path.errors import ConvergenceWarning
from l0path.working_set import hinge, limits, newton
from l0path.working_set.model import make_model
from l0path.working_set.refits import NewtonRefits


def least(X, y, k, intercept):
    """(value, support) of the best k columns, each subset by a QR on centered, scaled columns."""
    Z, target = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    Z = Z / np.linalg.norm(Z, axis=0)
    best = (np.inf, ())
    for S in combinations(range(X.shape[1]), k):
        Q, _ = np.linalg.qr(Z[:, S])
        rest = target - Q @ (Q.T @ target)
        best = min(best, (0.5 * float(np.mean((rest - Q @ (Q.T @ rest)) ** 2)), S))
    return best


def far(seed, away, n=200):
    """Four columns far from the origin, y without an intercept to take that up."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X + away, X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=n)


def copies(seed, apart, n=200):
    """Two columns that differ by a little noise, which is what y is made of."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.normal(size=(3, n))
    X = np.column_stack([a, a + apart * e, c])
    return X, (X[:, 1] - X[:, 0]) / apart + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("away", [1e3, 1e5, 1e6])
def test_columns_far_from_the_origin(seed, away):
    X, y = far(seed, away)
    path = l0path.fit(X, y, fit_intercept=False)
    assert path.details.k.tolist() == [0, 1, 2, 3, 4]
    for s in path._solutions[1:]:
        value, support = least(X, y, s.k, False)
        assert s.objective == pytest.approx(value, rel=1e-6) and s.support.tolist() == list(support)


@pytest.mark.parametrize("loss", ["squared", "multinomial"])
def test_the_model_without_columns_is_global_beside_near_copies(loss):
    X, y = copies(3, 1e-7)
    y = np.column_stack([y, X[:, 2] - y]) if loss == "squared" else np.digitize(y, [-0.5, 0.5])
    for given in ({}, {"always_include": [2]}):
        table = l0path.fit(X, y, loss=loss, lambda2=1e-9, max_k=1, certify=False, **given).details
        assert table.optimality.tolist() == ["unverified" if given else "global", "unverified"]


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("apart", [1e-3, 1e-5, -1e-5, 1e-7])
def test_near_copies(seed, apart):
    X, y = copies(seed, apart)
    for sign in (1.0, -2.0):
        path = l0path.fit(X * [1.0, sign, 1.0], y)
        assert path.details.k.tolist() == [0, 1, 2, 3]
        for s in path._solutions[1:]:
            value, support = least(X, y, s.k, True)
            assert s.objective == pytest.approx(value, rel=1e-6)
            assert s.support.tolist() == list(support) or s.k == 1
        if abs(apart) < 1e-4:
            assert any("x0, x1" in note and "almost" in note for note in path.notes)
            assert not path.details.optimality.eq("refit_swap").any()


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
def test_near_sums(apart):
    """One column is the sum of two others but for a little noise, which is what y is made of."""
    rng = np.random.default_rng(8)
    a, b, c, e = rng.normal(size=(4, 100))
    X = np.column_stack([a, b, c, a + b + apart * e])
    y = e + 0.1 * rng.normal(size=100)
    path = l0path.fit(X, y)
    assert path.details.k.tolist() == [0, 1, 2, 3, 4]
    for k in (3, 4):
        assert path.model(k=k).objective == pytest.approx(least(X, y, k, True)[0], rel=1e-6)
    assert any("x0, x1, x3" in note for note in path.notes) == (apart < 1e-4)


def test_true_copies_are_none():
    """What rounding leaves between proportional columns is no difference."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 50))
    X = np.column_stack([a, a / 3.0, b, -0.1 * a])
    path = l0path.fit(X, a + b + 0.1 * rng.normal(size=50))
    assert path.details.k.max() == 2 and not any("almost" in note for note in path.notes)


def optimum(Z, y, loss, lambda2=0.0):
    """The least value of a squared or logistic loss on standardized columns, in coordinates in
    which these are orthonormal, where Newton's method does not see how near they are.
    """
    n, k = Z.shape
    if loss == "squared":
        A, target = np.vstack([Z / np.sqrt(n), np.sqrt(2 * lambda2) * np.eye(k)]), y - y.mean()
        U = np.linalg.svd(A, full_matrices=False)[0]
        target = np.append(target / np.sqrt(n), np.zeros(k))
        rest = target - U @ (U.T @ target)
        return 0.5 * float(rest @ rest)
    Q, R = np.linalg.qr(Z)
    D, P = np.column_stack([np.ones(n), Q * np.sqrt(n)]), np.zeros((k + 1, k + 1))
    P[1:, 1:] = 2 * lambda2 * np.linalg.pinv(R @ R.T / n) if lambda2 else 0.0
    t = np.zeros(k + 1)
    for _ in range(50):
        m = 1 / (1 + np.exp(y * (D @ t)))
        H = (D * (m * (1 - m))[:, None]).T @ D / n + P
        t += np.linalg.solve(H, D.T @ (y * m) / n - P @ t)
    return float(np.mean(np.logaddexp(0, -y * (D @ t))) + 0.5 * t @ P @ t)


def every(X, y, units, forced, loss, lambda2=0.0):
    """{sorted units: optimum} of all sets of units (lists of columns) that hold the forced ones."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    free = [u for u in range(len(units)) if u not in forced]
    out = {}
    for k in range(len(free) + 1):
        for chosen in combinations(free, k):
            S = sorted(j for u in (*forced, *chosen) for j in units[u])
            out[tuple(sorted((*forced, *chosen)))] = optimum(Z[:, S], y, loss, lambda2)
    return out


def check_claims(path, units, forced, values):
    """No row claims more than the optima of all sets of units tell."""
    assert path.details.k.tolist() == list(range(len(units) - len(forced) + 1))
    for s in path._solutions:
        chosen = {u for u, J in enumerate(units) if set(J) <= set(s.support.tolist())}
        assert s.objective == pytest.approx(values[tuple(sorted(chosen))], rel=3e-6)
        near = [v for S, v in values.items() if len(S) == len(chosen)]
        if s.optimality in ("refit_swap", "refit_swap_m"):
            near = [
                v for S, v in values.items() if len(S) == len(chosen) and len(chosen - set(S)) == 1
            ]
        if s.optimality != "unverified" and near:
            assert s.objective <= min(near) * (1 + 3e-6)
        if np.isfinite(s.lower_bound):
            best = min(v for S, v in values.items() if len(S) <= len(chosen))
            assert s.lower_bound <= best * (1 + 2e-6)


def response(X, apart, loss):
    rng = np.random.default_rng(12)
    signal = (X[:, 1] - X[:, 0]) / apart + 0.3 * X[:, 2] + 0.2 * rng.normal(size=len(X))
    if loss == "squared":
        return signal
    return np.where(rng.random(len(X)) < 1 / (1 + np.exp(-signal)), 1.0, -1.0)


CASES = {
    "forced": {"always_include": [0]},
    "ridge 1e-12": {"lambda2": 1e-12},
    "ridge 1e-10": {"lambda2": 1e-10},
    "ridge 1e-8": {"lambda2": 1e-8},
    "forced, ridge": {"always_include": [0], "lambda2": 1e-10},
    "groups": {"groups": [0, 1, 1, 2]},
    "groups, ridge": {"groups": [0, 1, 1, 2], "lambda2": 1e-10},
}


@pytest.mark.parametrize(
    ("apart", "loss", "case"), thinned(2, [1e-5, 1e-7], ["squared", "logistic"], CASES)
)
def test_near_copies_elsewhere(case, loss, apart):
    """Forced columns, faint ridges, groups and another loss: the same care."""
    rng = np.random.default_rng(2)
    X = np.column_stack([copies(1, apart, n=80)[0], rng.normal(size=80)])
    y, options = response(X, apart, loss), CASES[case]
    units = [[0], [1, 2], [3]] if "groups" in options else [[0], [1], [2], [3]]
    forced = options.get("always_include", [])
    values = every(X, y, units, forced, loss, options.get("lambda2", 0.0))
    path = l0path.fit(X, y, loss=loss, **options)
    check_claims(path, units, forced, values)


@pytest.mark.parametrize("apart", [1e-5, 1e-6, 1e-7])
def test_near_copies_within_bounds(apart):
    """Bounds that some coefficients meet: compared with active sets on the columns."""
    X = copies(1, apart, n=80)[0]
    y, bound = response(X, apart, "squared"), 0.6 / apart
    path = l0path.fit(X, y, lower=-bound, upper=bound)
    Z, target = X - X.mean(axis=0), y - y.mean()
    for s in path._solutions[1:]:
        found = {
            S: lsq_linear(Z[:, S], target, (-bound, bound), method="bvls", tol=1e-14).cost / 80
            for S in combinations(range(3), s.k)
        }
        assert s.objective == pytest.approx(found[tuple(s.support)], rel=1e-6)
        assert s.objective <= min(found.values()) * (1 + 1e-6)


@pytest.mark.parametrize("apart", [1e-5, 1e-7])
@pytest.mark.parametrize("forced", [[], [0]])
def test_certificates_of_near_sums(apart, forced):
    rng = np.random.default_rng(1)
    a, b, c, d, e = rng.normal(size=(5, 80))
    X = np.column_stack([a, b, c, a + b + apart * e, d])
    y = e + 0.3 * c + 0.2 * rng.normal(size=80)
    values = every(X, y, [[j] for j in range(5)], forced, "squared")
    for path in (
        l0path.fit(X, y, always_include=forced),
        l0path.fit(X, y, always_include=forced, algorithm="exact"),
    ):
        check_claims(path, [[j] for j in range(5)], forced, values)
        for k in range(1, 6 - len(forced)):
            best = min(v for S, v in values.items() if len(S) <= k + len(forced))
            found = path.certify(k=k)
            assert not found.lower_bound > best * (1 + 2e-6)  # it may be NaN
            assert not found.proven or found.incumbent <= best * (1 + 3e-6)


@pytest.mark.parametrize("apart", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("algorithm", ["cd", "CDPSI", "pg", "apg+", "htp"])
def test_other_algorithms_do_not_end_at_near_copies(algorithm, apart):
    """Sizes go on to the last column, whose model is fitted from the rows."""
    X, y = copies(3, apart)
    path = l0path.fit(X, y, algorithm=algorithm)
    assert path.details.k.tolist() == [0, 1, 2, 3]
    assert path.model(k=3).objective == pytest.approx(least(X, y, 3, True)[0], rel=1e-6)
    for s in path._solutions[1:]:
        own = least(X[:, s.support], y, s.support.size, True)[0]
        assert s.objective == pytest.approx(own, rel=1e-6)
        assert s.optimality not in ("refit_swap", "refit_swap_m", "swap", "cd")


def test_near_copies_on_a_lambda0_grid_claim_no_exchange():
    X, y = copies(4, 1e-6)
    path = l0path.fit(X, y, lambda0="grid", penalty_factor=[1.0, 1.0, 2.0])
    assert set(path.details.optimality) <= {"unverified", "global"}
    assert any("x0, x1" in note and "almost" in note for note in path.notes)
    for s in path._solutions:
        own = least(X[:, s.support], y, s.support.size, True)[0] if s.k else np.var(y) / 2
        assert s.loss == pytest.approx(own, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["swap", "cd"])
@pytest.mark.parametrize("apart", [3e-13, 1e-12])
def test_beyond_a_condition_of_1e12_nothing_is_claimed(apart, algorithm):
    """Sizes go on, and models are fitted as well as can be; a note names the columns."""
    X, y = copies(5, apart)
    path = l0path.fit(X, y, algorithm=algorithm)
    assert path.details.k.tolist() == [0, 1, 2, 3]
    assert set(path.details.optimality[2:]) == {"unverified"}  # one column alone has no other
    assert any("x0, x1" in note and "1e-12" in note for note in path.notes)
    assert path.model(k=3).objective < 0.5 * path.model(k=1).objective


@pytest.mark.parametrize("p", [12, 240])
def test_groups_of_columns_far_from_the_origin(p):
    """All pairs of columns are near copies there, however many these are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, p)) + 1e5
    y = X[:, :4] @ [1.0, -1.0, 1.0, -1.0] + rng.normal(size=40)
    groups = [list(range(j, j + 4)) for j in range(0, p, 4)]
    path = l0path.fit(X, y, groups=groups, fit_intercept=False, max_k=2)

    def least(support):
        Q = np.linalg.svd(X[:, support], full_matrices=False)[0]
        rest = y - Q @ (Q.T @ y)
        return 0.5 * float(rest @ rest) / 40

    for model in path:
        if model.k:
            assert model.objective == pytest.approx(least(model.support), rel=1e-6)
    assert path.model(k=1).optimality == "global"
    assert path.model(k=1).objective == pytest.approx(min(map(least, groups)), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_near_pairs_are_found_however_the_working_columns_grow(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 260))
    for first, second in ((3, 250), (240, 255), (10, 20), (150, 230)):
        X[:, second] = -2.0 * X[:, first] + 1e-6 * rng.normal(size=40)
    y = np.where(rng.random(40) < 0.5, 1, 0) if loss == "logistic" else rng.normal(size=40)
    problem = resolved(request(X, y, loss=loss, max_k=2), Clock())[1]
    at_once, stepwise = make_model(problem, 100), make_model(problem, 100)
    at_once.grow(np.arange(260))
    found = at_once.find_near()
    for end in (205, 206, 245, 260):
        stepwise.grow(np.arange(end))
        stepwise.find_near()
    assert found == (loss == "squared") and stepwise.find_near() == found
    if found:
        assert at_once.near.tolist() == [3, 10, 20, 150, 230, 240, 250, 255]
        assert stepwise.near.tolist() == at_once.near.tolist()


@pytest.mark.parametrize("exact", [False, True])
def test_rounding_of_a_row_far_out_proves_no_rank(exact):
    """Squares and products about 1e5, one row a hundred times as far out: beside it the others look
    as if they were combinations, which they are not. What is one in every row is.
    """
    d = instance(227456, "hierarchies")
    X, y = d.record["X"].copy(), d.record["y"]
    if exact:
        X[:, 3], X[:, 5] = X[:, 0] - 2.0 * X[:, 1], X[:, 0] + X[:, 2]
    for size in ({"k": 6}, {"max_k": 4}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = l0path.fit(X, y, certify=False, groups=np.arange(6), **size)
        c = path.certify(index=len(path.details) - 1)
        assert c.proven == exact
        assert exact or c.lower_bound == 0.0


def test_columns_in_every_model_may_be_almost_equal():
    rng = np.random.default_rng(21)
    X, apart = rng.standard_normal((141, 6)), rng.standard_normal(141)
    X[:, 1] = X[:, 0] + 2.2e-6 * apart
    y = 10.0 * apart + 0.1 * X[:, 4] + 0.05 * rng.standard_normal(141)
    path = l0path.fit(X, y, always_include=[0, 1])
    assert path.details.k.max() == 4
    other = X.copy()
    other[:, 1] = apart  # which spans the same
    same = l0path.fit(other, y, always_include=[0, 1])
    np.testing.assert_allclose(path.details.objective, same.details.objective, rtol=1e-6)
    for row in path.details.itertuples():
        if row.optimality == "global":
            assert row.lower_bound <= same.details.objective[row.k] * (1.0 + 1e-8)


def one_far_row(seed, n=30, p=5, responses=1, far=10.0, origin=1e5):
    """(X, y): columns around `origin` whose first row is `far` times as large, so that each is
    nearly equal to the others; y follows what the first one adds.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + origin
    X[0] *= far
    Y = (X[:, :responses] - origin) + rng.standard_normal((n, responses))
    Y[0] = 0.0
    return X, Y[:, 0] if responses == 1 else Y


@pytest.mark.parametrize(
    ("standardize", "far", "responses"), thinned(2, [True, False], [1.5, 10.0], [1, 2])
)
def test_lists_of_models_of_columns_with_one_far_row_are_complete(responses, far, standardize):
    """Normal equations of such columns are not solved, and their fits are made from the rows."""
    for seed in (1007, 1048, 1107):
        X, Y = one_far_row(seed, responses=responses, far=far)
        path = l0path.fit(X, Y, standardize=standardize)
        for k in (1, 2, 3):
            true = rational_least_squares.values(X, Y, k)
            best = min(true.values())
            wanted = sorted(S for S, value in true.items() if value <= 1.1 * best)
            found = path.near_best(k=k, within=0.1)
            assert found.complete
            assert sorted(tuple(m.support.tolist()) for m in found.models) == wanted
            for model in found.models:
                assert model.objective == pytest.approx(true[tuple(model.support)], rel=1e-7)
            if path.model(k=k).optimality == "global":
                assert path.model(k=k).objective == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("standardize", [True, False])
def test_criteria_compare_models_of_columns_with_one_far_row(standardize):
    for seed in (1048, 1107):
        X, y = one_far_row(seed)
        true = {k: min(rational_least_squares.values(X, y, k).values()) for k in range(6)}
        bic = {k: 30 * np.log(v) + np.log(30) * k for k, v in true.items()}
        path = l0path.fit(X, y, standardize=standardize, certify=False)
        by_search = path.certify(criterion="bic")
        best = l0path.best_subset(X, y, criterion="bic", standardize=standardize)
        for found in (by_search, best):
            k = found.model.k
            assert found.proven
            assert k == min(bic, key=bic.get)
            assert found.model.objective == pytest.approx(true[k], rel=1e-7)


def test_units_do_not_decide_what_is_a_combination():
    """Columns far from the origin that are not standardized: two of them differ by 1e-8 of their
    length, which rounding does not make.
    """
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((25, 4))
    X = noise + np.array([0.0, 1e5, 0.0, 1e5])
    X[0] *= 1e4
    y = noise[:, 1] - noise[:, 3] + 0.3 * rng.standard_normal(25)
    y[0] = 0.0
    for standardize in (True, False):
        path = l0path.fit(X, y, max_k=4, standardize=standardize)
        true = rational_least_squares.values(X, y, 2)
        assert path.model(k=2).objective == pytest.approx(min(true.values()), rel=1e-7)
        assert path.support(k=2).tolist() == list(min(true, key=true.get))


def test_products_far_from_the_origin_keep_their_coefficients():
    rng = np.random.default_rng(20)
    X = 3e4 + rng.normal(size=(12, 2))
    X[6] *= 2.0
    y = rng.poisson(2.0, 12).astype(float)
    design = l0path.designs.polynomial(X, names=["a", "b"])
    rows = l0path.fit(design, y, loss="poisson", heredity="strong", max_k=5)._solutions
    assert [s.k for s in rows] == list(range(6))
    assert (np.diff([s.objective for s in rows]) <= 1e-12).all()  # each model is within the next
    assert rows[-1].optimality == "global" and np.count_nonzero(rows[-1].beta) == 5


def test_newton_steps_of_a_cox_model_see_what_couples_rows():
    from l0path.working_set.least_squares import from_rows

    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 3)) + 3e4
    X[4] *= 10.0
    y = np.column_stack([rng.exponential(size=30), rng.random(30) < 0.7])
    asked = request(X, y, loss="cox", lower=np.array([-np.inf, 0.0, -np.inf]), max_k=3)
    problem = resolved(asked, Clock())[1]
    Z = np.ascontiguousarray(problem.X.columns(np.arange(3)).T)
    same = dict(bounds=(problem.lower, problem.upper), start=(np.zeros(3), 0.0))
    few = from_rows(problem, Z, 0.0, 0.0, max_iter=60, **same)
    more = from_rows(problem, Z, 0.0, 0.0, max_iter=4000, **same)
    assert few[3] and few[2] == pytest.approx(more[2], rel=1e-12)


@pytest.mark.parametrize(
    "support", [[0, 1, 2, 4, 5, 7, 8], [0, 1, 2, 3, 4, 5, 8], [0, 1, 2, 4, 5, 6, 8], [1, 2, 5, 8]]
)
def test_newton_steps_go_past_a_row_far_out_that_has_no_part_in_the_optimum(support):
    """One row is 6e7 beyond its margin at the optimum of a squared hinge. Damped steps hold it
    where it is, and so does its curvature, if rounding puts it next to its kink: both promise
    nothing .00006 and .05 above the optimum.
    """
    from l0path.working_set.least_squares import from_rows

    r, J = instance(255263, "hierarchies").record, np.array(support)
    asked = request(
        r["X"], r["y"], loss="squared_hinge", lower=0.0, sample_weight=r["weights"], max_k=9
    )
    problem = resolved(asked, Clock())[1]
    Z, box = (
        np.ascontiguousarray(problem.X.columns(J).T),
        (np.zeros(J.size), np.full(J.size, 1e300)),
    )
    found = from_rows(
        problem, Z, 0.0, 0.0, bounds=box, start=(np.zeros(J.size), 0.0), max_iter=1000
    )
    assert found[3]
    assert found[2] == pytest.approx(0.033075075, rel=1e-7)


@pytest.mark.parametrize("k", [1, 2])
def test_newton_steps_do_not_halt_beside_a_row_that_is_far_out(k):
    from l0path.working_set.least_squares import from_rows

    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, k))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    X[3], y[3] = -1e6 * np.linspace(1.0, 0.1, k), 0.0  # its mean, and its loss, are next to 0
    asked = request(X, y, loss="poisson", lambda1=0.01, standardize=False, max_k=k)
    problem = resolved(asked, Clock())[1]
    Z, box = np.ascontiguousarray(problem.X.columns(np.arange(k)).T), (problem.lower, problem.upper)
    start = np.zeros(k), 0.0
    found = from_rows(problem, Z, 0.01, 0.0, bounds=box, start=start, max_iter=60)
    rest = np.arange(40) != 3
    own, beta, b0 = oracles.restricted(
        X[rest], y[rest], range(k), loss="poisson", lambda1=0.01 * 40 / 39, standardize=False
    )
    assert X[3] @ beta + b0 < -1e5
    assert found[3] and found[2] == pytest.approx(own * 39 / 40, rel=1e-10)
    path = l0path.fit(X, y, loss="poisson", lambda1=0.01, standardize=False)
    assert path[k].objective == pytest.approx(own * 39 / 40, rel=1e-10)
    assert path[k].details["status"] == "converged"


def test_a_loss_that_is_beyond_all_numbers_is_called_so():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(30, 3)), rng.poisson(1.0, 30).astype(float)
    X[3, 0], y[3] = -1e6, 2.0  # its mean is at most exp(-1e5)
    given = {"lower": [0.1, -1.0, -1.0], "upper": [0.6, 1.0, 1.0], "always_include": [0]}
    with pytest.warns(ConvergenceWarning):
        path = l0path.fit(X, y, loss=l0path.losses.Tweedie(power=1.2), **given)
    assert path[0].objective == np.inf and path[0].details["status"] == "not_converged"
    assert any("beyond all numbers" in note for note in path.notes)
    assert not any("perfect" in note for note in path.notes)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("loss", "apart"),
    thinned(
        2,
        ("poisson", "logistic", "ordinal", "multinomial", "cox"),
        (1e-2, 1e-5, 1e-8, 1e-9, 1e-10),
    ),
)
def test_separation_along_the_difference_of_close_columns_is_seen_or_nothing_is_claimed(
    loss, apart
):
    rng = np.random.default_rng(2)
    x, level = rng.standard_normal(40), np.zeros(40)
    level[:8] = 1.0  # its rows have one class, no event, or no count
    classes = np.digitize(rng.logistic(size=40) + 0.5 * x, [-0.8, 0.8])
    classes[:8] = 2
    y = {
        "poisson": np.where(level > 0, 0, rng.poisson(2.0, 40)),
        "logistic": (classes > 0).astype(int),
        "cox": np.column_stack([rng.exponential(size=40), (rng.random(40) < 0.7) & (level == 0)]),
    }.get(loss, classes)
    infimum = l0path.fit(np.column_stack([x, level]), y, loss=loss)._solutions[-1].objective
    found = l0path.fit(np.column_stack([x, x + apart * level]), y, loss=loss)._solutions[-1]
    if found.optimality == "global":
        assert found.objective == pytest.approx(infimum, rel=1e-6)
    else:
        assert apart < 1e-4


def test_a_loss_is_not_lost_where_large_numbers_cancel_in_the_predictor():
    """A square of a column far from the origin, and a row further out that has no weight."""
    rng = np.random.default_rng(0)
    x = 2e5 + rng.normal(size=40)
    x[0] = 2e7
    X = np.column_stack([x, x**2, rng.normal(size=40)])
    y = (x - 2e5) ** 2 + X[:, 2] + rng.normal(size=40)
    weights = np.append(0.0, np.ones(39))
    for algorithm in ("swap", "exact"):
        path = l0path.fit(X, y, sample_weight=weights, algorithm=algorithm)
        for k in (1, 2, 3):
            values = rational_least_squares.values(X[1:], y[1:], k)
            assert path.model(k=k).objective == pytest.approx(min(values.values()), rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_steps_do_not_halt_beside_a_far_row_whose_loss_is_zero(loss):
    """Were it to keep a little curvature, the others would move by 1e-4 of their way a step."""
    from l0path.working_set.least_squares import from_rows

    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 2 * rng.logistic(size=40) > 0, 1.0, -1.0)
    X[3], y[3] = 1e6 * np.array([1.0, 0.1]), 1.0
    asked = request(X, y, loss=loss, lambda2=0.01, standardize=False, max_k=2)
    problem = resolved(asked, Clock())[1]
    Z, free = np.ascontiguousarray(problem.X.columns(np.arange(2)).T), np.full(2, np.inf)
    start = np.zeros(2), 0.0
    found = from_rows(problem, Z, 0.0, 0.01, bounds=(-free, free), start=start, max_iter=60)
    rest = np.arange(40) != 3
    own, beta, b0 = oracles.restricted(
        X[rest], y[rest], range(2), loss=loss, lambda2=0.01 * 40 / 39, standardize=False, gamma=0.25
    )
    assert X[3] @ beta + b0 > 1e4
    assert found[3] and found[2] == pytest.approx(own * 39 / 40, rel=1e-10)


def test_steps_from_predictors_that_have_no_curvature_end():
    from l0path.working_set.least_squares import from_rows

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = np.digitize(X[:, 0] + rng.logistic(size=30), [-0.7, 0.7])
    problem = resolved(request(1e5 * X, y, loss="ordinal", standardize=False), Clock())[1]
    Z, free = problem.X.columns(np.arange(1)).T, np.array([np.inf])
    found = [
        from_rows(
            problem, Z, 0.01, 0.0, bounds=(-free, free), start=(np.array([b]), 0.0), max_iter=200
        )
        for b in (0.0, 0.1, -0.1, 100.0)
    ]
    assert all(optimal for *_, optimal in found)
    assert [value for _, _, value, _ in found] == pytest.approx([found[0][2]] * 4, rel=1e-9)


def spectra(n=80, p=30):
    """Columns of smooth curves, with a little noise, and a predictor of three of them."""
    rng, at = np.random.default_rng(1), np.linspace(0.0, 1.0, p)
    peaks = np.exp(-0.5 * ((at - np.linspace(-0.2, 1.2, 12)[:, None]) / 0.12) ** 2)
    X = rng.gamma(2.0, 1.0, (n, 12)) @ peaks + 1e-6 * rng.normal(size=(n, p))
    eta = X[:, [p // 6, p // 2, p - p // 3]] @ [3.0, -6.0, 3.0]
    return X, eta / eta.std(), rng


def test_refits_of_spectra_know_from_the_first_on_that_columns_are_nearly_dependent(monkeypatch):
    """Supports of the squared loss were refitted before: 1000 Newton steps each."""
    X, eta, rng = spectra()
    known, descended = [], NewtonRefits._descended

    def seen(self, support, *given):
        known.append(support.size < 2 or self.near is not None)
        return descended(self, support, *given)

    monkeypatch.setattr(NewtonRefits, "_descended", seen)
    l0path.fit(X, np.exp(eta) * rng.gamma(5.0, 0.2, 80), loss="gamma", max_k=12)
    assert len(known) > 100 and all(known)


def test_optima_of_nearly_dependent_columns_are_told_without_linear_programs(monkeypatch):
    """Under Weibull's loss every refit was followed by one, for the Hessian of such columns shows
    no optimum.
    """
    X, eta, rng = spectra()
    y = np.column_stack([np.exp(-eta) * rng.weibull(4.0, 80), rng.random(80) < 0.7])
    asked, face_of = [], limits.face_of
    monkeypatch.setattr(limits, "face_of", lambda of: asked.append(of) or face_of(of))
    path = l0path.fit(X, y, loss="weibull", max_k=8)
    assert not asked and path.status.startswith("complete")


def test_smoothed_optima_of_nearly_dependent_columns_are_reached(monkeypatch):
    """Steps on the columns themselves did not arrive: 200 of them for most models of a path of
    quantiles, two fifths of its time.
    """
    X, eta, rng = spectra()
    ends, refit = [], hinge.refit_in_turn

    def seen(*given):
        found = refit(*given)
        ends.append(found[1])
        return found

    monkeypatch.setattr(hinge, "refit_in_turn", seen)
    path = l0path.fit(X, eta + 0.1 * rng.normal(size=80), loss="quantile", max_k=20)
    assert len(ends) > 20 and ends.count(newton.CONVERGED) >= 0.9 * len(ends), ends
    assert path.status.startswith("complete")
