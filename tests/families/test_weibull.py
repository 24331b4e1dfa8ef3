"""Weibull survival with a free shape, loss="weibull": enumeration with another solver, derivatives,
invariances, R's survreg, separation, results, and what is refused.
"""

import shutil
import subprocess
import warnings
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.optimize import linprog, minimize

import l0path
from l0path.errors import SeparationWarning
from l0path.problem import verbs
from l0path.problem.coupled.weibull import best_shape, weibull_of

HIGH = l0path.solvers.LocalSearch(effort="high")


def drawn(seed, n=60, p=5, shape=1.6, censored=2.0):
    """X (n, p), times (n,) with ties, events (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    eta = X[:, 0] - 0.7 * X[:, 1]
    time = (rng.exponential(size=n) * np.exp(1.0 - eta)) ** (1.0 / shape)
    end = rng.exponential(censored * np.median(time), size=n)
    event = (time <= end).astype(float)
    return X, np.ceil(20 * np.minimum(time, end)) / 20, event


def negative_log(A, time, event, w, offset, x):
    """(minus the mean log-likelihood, gradient) in x = (intercept, coefficients, log shape)."""
    z, shape = np.log(time), np.exp(x[-1])
    a = A @ x[:-1] + offset + shape * z
    e = np.exp(np.minimum(a, 300.0))
    value = w @ (e - event * (a + x[-1] - z))
    slope = w * (e - event)
    return value, np.append(A.T @ slope, slope @ (shape * z) - w @ event)


def optimum(X, time, event, support, *, weights=None, offset=None, lambda1=0.0, lambda2=0.0,
            low=-np.inf, high=np.inf):  # fmt: skip
    """The least objective on a support, by L-BFGS-B and trust regions, with standardized columns;
    a coefficient is the difference of two parts.
    """
    w = np.ones(len(X)) if weights is None else weights
    w, offset, Z = w / w.sum(), np.zeros(len(X)) if offset is None else offset, X[:, list(support)]
    Z = Z - w @ Z
    scale = np.sqrt(w @ Z**2)
    Z, k = Z / np.where(scale > 1e-9, scale, 1.0), Z.shape[1]
    A = np.column_stack([np.ones(len(X)), Z, -Z])

    def value(x):
        F, g = negative_log(A, time, event, w, offset, x)
        b = x[1 : k + 1] - x[k + 1 : -1]
        F += lambda1 * x[1:-1].sum() + lambda2 * b @ b
        g[1:-1] += lambda1 + 2 * lambda2 * np.concatenate([b, -b])
        return F, g

    box = [(None, None), *((0, h) for h in scale * high), *((0, h) for h in -scale * low)]
    box = [(a, None if b is None or not np.isfinite(b) else b) for a, b in box] + [(-5, 8)]
    start = np.zeros(2 * k + 2)
    start[0] = np.log(event.mean() / time.mean())
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
    for _ in range(5):
        start = minimize(value, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x
    return value(start)[0]


def check_every_size(seed, p, max_k):
    X, time, event = drawn(seed, p=p)
    rng, same, given, forced = np.random.default_rng(1000 + seed), {}, {}, ()
    if seed % 2:
        same["weights"] = rng.integers(1, 4, len(X)).astype(float)
        given["freq_weight" if seed % 4 == 1 else "sample_weight"] = same["weights"]
    if seed % 3 == 1:
        same["offset"] = given["offset"] = 0.5 * rng.standard_normal(len(X))
    if seed % 3 == 2:
        forced = given["always_include"] = (1,)
    if seed % 5 == 1:
        same["lambda2"] = given["lambda2"] = 0.02
    if seed % 5 == 2:
        same["low"], same["high"] = given["lower"], given["upper"] = -0.3, 0.4
    if seed % 5 == 3:
        same["lambda1"] = given["lambda1"] = 0.01
    if seed % 6 == 0:  # a copy, and a constant
        X[:, -1], X[:, -2] = 2.0 * X[:, 0], 3.0
    table = scipy.sparse.csc_array(X) if seed % 4 == 2 else X
    y = np.column_stack([time, event])
    path = l0path.fit(table, y, loss="weibull", max_k=max_k, algorithm=HIGH, **given)
    assert len(path) > 1
    free = [j for j in range(p) if j not in forced and np.ptp(X[:, j])]
    for s in path._solutions:
        supports = [sorted({*S, *forced}) for S in combinations(free, s.k)]
        best = min(optimum(X, time, event, S, **same) for S in supports)
        assert s.status == "converged" and s.objective == pytest.approx(best, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_every_size_is_the_enumerated_best(seed):
    check_every_size(seed, p=5, max_k=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 70))
def test_every_size_is_the_enumerated_best_of_more_columns(seed):
    check_every_size(seed, p=8, max_k=3)


# -------------------- derivatives


def of_rows(seed):
    X, time, event = drawn(seed, n=25)
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 2.0, 25)
    return weibull_of(time, event), event, rng.standard_normal(25), w / w.sum(), X, time


def best_value(eta, time, event, w):
    """The least value over the intercept and the shape, by a general solver."""
    found = minimize(
        lambda x: negative_log(np.ones((eta.size, 1)), time, event, w, eta, x),
        [0.0, 0.0],
        jac=True,
        method="BFGS",
        options={"gtol": 1e-12},
    )
    return found.fun, found.x


@pytest.mark.parametrize("seed", range(6))
def test_value_constant_and_shape_are_the_best_ones(seed):
    loss, event, eta, w, _, time = of_rows(seed)
    value, (level, log_shape) = best_value(eta, time, event, w)
    assert verbs.mean_loss(loss, event, eta, w) == pytest.approx(value, abs=1e-12)
    best = best_shape(loss, event, eta, w)
    assert (best.level, best.shape) == pytest.approx((level, np.exp(log_shape)), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_are_differences(seed):
    loss, event, eta, w, _, _ = of_rows(seed)
    n, h = eta.size, 1e-5
    slopes, v, P = np.empty(n), np.empty(n), np.empty((n, 2))
    verbs.derivatives(loss, event, eta, w, slopes, v)
    P = verbs.coupled_columns(loss, event, eta, w, np.eye(n))
    there, H = np.empty((2, n)), np.empty((n, n))
    for i in range(n):
        for side, one in zip((h, -h), there, strict=True):
            verbs.derivatives(loss, event, eta + side * np.eye(n)[i], w, one, np.empty(n))
        H[i] = (there[0] - there[1]) / (2 * h)
    values = [
        (
            verbs.mean_loss(loss, event, eta + h * e, w)
            - verbs.mean_loss(loss, event, eta - h * e, w)
        )
        / (2 * h)
        for e in np.eye(n)
    ]
    np.testing.assert_allclose(slopes, values, atol=1e-9)
    np.testing.assert_allclose(np.diag(v) - P @ P.T, H, atol=1e-8)
    assert abs(slopes.sum()) < 1e-14
    assert np.linalg.eigvalsh(np.diag(v) - P @ P.T).min() > -1e-15


@pytest.mark.parametrize("seed", range(20))
def test_bounds_lie_below_the_optimum_they_are_about(seed):
    loss, event, eta, w, X, time = of_rows(seed)
    n, Z = eta.size, X[:, :2] - w @ X[:, :2]
    slopes, v = np.empty(n), np.empty(n)
    value = verbs.derivatives(loss, event, eta, w, slopes, v)
    P = verbs.coupled_columns(loss, event, eta, w, np.ascontiguousarray(Z.T))
    step = np.linalg.solve((Z.T * v) @ Z - P @ P.T, -Z.T @ slopes)
    bound = verbs.dual_bound(loss, event, w, verbs.Tangent(eta, slopes, v), eta + Z @ step)
    A = np.column_stack([np.ones(n), Z])
    found = minimize(
        lambda x: negative_log(A, time, event, w, eta, x), np.zeros(4), jac=True, method="BFGS",
        options={"gtol": 1e-11},
    )  # fmt: skip
    assert bound <= found.fun - value + 1e-12
    if np.abs(Z @ step).max() < 0.5:
        assert bound > -np.inf


@pytest.mark.parametrize("far", [1e-8, 1e-3, 1.0, 30.0, 1e3])
def test_shapes_are_found_from_far_predictors(far):
    rng = np.random.default_rng(3)
    _, time, event = drawn(0, n=200)
    loss, w = weibull_of(time, event), np.full(200, 1 / 200)
    for eta in (far * rng.standard_normal(200), -far * np.log(time), far * np.log(time)):
        best = best_shape(loss, event, eta, w)
        z, a = np.log(time), best.level + best.shape * np.log(time) + eta
        e = np.exp(a)
        size = (e + event) @ np.abs(z) + event.sum() / best.shape
        assert abs((e - event) @ z - event.sum() / best.shape) <= 1e-8 * size
        assert abs((e - event).sum()) <= 1e-8 * event.sum()


# -------------------- invariances


def test_the_unit_of_time_changes_the_intercept_and_the_jacobian_only():
    X, time, event = drawn(2)
    path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", max_k=3)
    for unit in (1e-290, 1e-5, 365.25, 1e290):
        other = l0path.fit(X, np.column_stack([unit * time, event]), loss="weibull", max_k=3)
        for a, b in zip(path._solutions, other._solutions, strict=True):
            assert a.support.tolist() == b.support.tolist()
            np.testing.assert_allclose(a.beta, b.beta, rtol=1e-6)
            shape = a.baseline.shape
            assert b.baseline.shape == pytest.approx(shape, rel=1e-6)
            assert b.intercept == pytest.approx(a.intercept - shape * np.log(unit), rel=1e-6)
            assert b.loss == pytest.approx(a.loss + event.mean() * np.log(unit), abs=1e-9)


def test_orders_and_scales_of_columns_and_duplicated_rows_change_nothing():
    X, time, event = drawn(3)
    y = np.column_stack([time, event])
    path = l0path.fit(X, y, loss="weibull", max_k=3)
    order, scale = np.random.default_rng(0).permutation(5), 10.0 ** np.arange(-2, 3)
    other = l0path.fit((1e3 + X * scale)[:, order], y, loss="weibull", max_k=3)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    twice = l0path.fit(np.repeat(X, counts, 0), np.repeat(y, counts, 0), loss="weibull", max_k=3)
    counted = l0path.fit(X, y, loss="weibull", max_k=3, freq_weight=counts)
    for k in range(4):
        assert sorted(order[other.support(k=k)]) == path.support(k=k).tolist()
        assert other._solutions[k].loss == pytest.approx(path._solutions[k].loss, rel=1e-9)
        np.testing.assert_allclose(counted.coef(k=k), twice.coef(k=k), rtol=1e-6)
    a, b = counted.score_table(), twice.score_table()
    np.testing.assert_allclose(a[["loglik", "aic", "bic"]], b[["loglik", "aic", "bic"]], rtol=1e-9)


def test_every_form_of_the_response_is_the_same():
    X, time, event = drawn(4)
    table = pd.DataFrame({"time": time, "event": event == 1})
    record = np.zeros(60, dtype=[("event", bool), ("time", float)])
    record["event"], record["time"] = event == 1, time
    frame = pd.DataFrame(X, columns=list("abcde")).assign(months=time, died=event)
    paths = [
        l0path.fit(X, y, loss="weibull", max_k=2)
        for y in (np.column_stack([time, event]), table, table[["event", "time"]], record)
    ]
    paths.append(l0path.fit("Surv(months, died) ~ .", frame, loss="weibull", max_k=2))
    for other in paths[1:]:
        np.testing.assert_array_equal(other.coef(k=2), paths[0].coef(k=2))


# -------------------- R's survreg

# survival::ovarian: futime, fustat, age, rx
OVARIAN = """
59 1 72.3315 1  115 1 74.4932 1  156 1 66.4658 1  421 0 53.3644 2  431 1 50.3397 1
448 0 56.4301 1  464 1 56.937 2  475 1 59.8548 2  477 0 64.1753 1  563 1 55.1781 2
638 1 56.7562 1  744 0 50.1096 2  769 0 59.6301 2  770 0 57.0521 2  803 0 39.2712 1
855 0 43.1233 1  1040 0 38.8932 1  1106 0 44.6 1  1129 0 53.9068 2  1206 0 44.2055 2
1227 0 59.589 2  268 1 74.5041 1  329 1 43.137 1  353 1 63.2192 2  365 1 64.4247 2
377 0 58.3096 2
"""
# f <- survreg(Surv(futime, fustat) ~ age + rx, ovarian); coef(f), f$scale, sqrt(diag(vcov(f))),
# sqrt(diag(vcov(update(f, robust = TRUE)))), logLik(f), AIC(f), BIC(f),
# predict(f, data.frame(age = c(50, 70), rx = 1), type = "quantile", p = 0.5)
COEF, SCALE = [10.4626152774258, -0.0790953695697, 0.5672755583550], 0.55063983947
ERRORS = [1.4427049956482, 0.0197871761701, 0.3403255738391, 0.2352249321241]
ROBUST = [1.429730703805, 0.019246604453, 0.382786820732, 0.152964421449]
LOGLIK, AIC, BIC = -88.761710101, 185.523420202, 190.555806354
MEDIANS = [966.137092210, 198.620972977]
READS_R = """
library(survival); d <- read.csv("{file}"); options(digits = 15)
f <- {call}
cat(coef(f), f$scale, logLik(f), AIC(f), BIC(f), sqrt(diag(vcov(f))))
"""


def accelerated(refit):
    """(coefficients, scale, standard errors) of a refit in the parameters of survreg: -b / kappa,
    1 / kappa, and log(1 / kappa).
    """
    b, log_shape = refit.params.to_numpy()[:-1], refit.params.iloc[-1]
    J = -np.eye(b.size + 1) * np.exp(-log_shape)
    J[:-1, -1], J[-1, -1] = b * np.exp(-log_shape), -1.0
    errors = np.sqrt(np.diag(J @ np.asarray(refit.cov_params()) @ J.T))
    return -b * np.exp(-log_shape), np.exp(-log_shape), errors


def ovarian():
    rows = np.array(OVARIAN.split(), dtype=float).reshape(-1, 4)
    return pd.DataFrame(rows, columns=["time", "died", "age", "rx"])


def test_models_and_refits_are_those_of_survreg():
    path = l0path.fit("Surv(time, died) ~ age + rx", ovarian(), loss="weibull")
    model = path.model(k=2)
    shape = model.details["shape"]
    assert shape == pytest.approx(1 / SCALE, rel=1e-6)
    np.testing.assert_allclose(-model.coef / shape, COEF, rtol=1e-5)
    table = path.score_table().loc[2]
    assert table[["loglik", "aic", "bic"]].tolist() == pytest.approx([LOGLIK, AIC, BIC], abs=1e-7)
    refit = model.refit()
    for one, errors in ((refit, ERRORS), (model.refit(cov_type="robust"), ROBUST)):
        found = accelerated(one)
        np.testing.assert_allclose(found[0], COEF, rtol=1e-7)
        assert found[1] == pytest.approx(SCALE, rel=1e-7)
        np.testing.assert_allclose(found[2], errors, rtol=1e-6)
    assert [refit.llf, refit.aic, refit.bic] == pytest.approx([LOGLIK, AIC, BIC], abs=1e-7)
    new = pd.DataFrame({"age": [50.0, 70.0], "rx": 1.0})
    for row, median in enumerate(MEDIANS):
        assert model.survival(new, times=[median]).iloc[row, 0] == pytest.approx(0.5, abs=1e-6)
    assert "log(shape)" in str(refit.summary()) and "(Intercept)" in str(refit.summary())
    assert refit.estimates(exponentiate=True).index.tolist() == ["(Intercept)", "age", "rx"]
    held_out = model.refit(ovarian().iloc[:20])
    assert held_out.nobs == 20 and np.isfinite(held_out.bse).all()


@cache
def has_survival():
    """Whether R and its package survival are here."""
    if shutil.which("Rscript") is None:
        return False
    return not subprocess.run(["Rscript", "-e", "library(survival)"], check=False).returncode


@pytest.mark.parametrize("how", ["plain", "robust", "cluster", "counts"])
def test_refits_are_those_of_survreg_here(how, tmp_path):
    if not has_survival():
        pytest.skip("R has no package survival")
    X, time, event = drawn(12, n=150)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=list("abcde")).assign(time=time, died=event)
    table["w"], table["g"] = rng.integers(1, 4, 150), rng.integers(0, 30, 150)
    table.to_csv(tmp_path / "d.csv", index=False)
    formula, more = "Surv(time, died) ~ a + b + c", ""
    given, asked = {}, {"cov_type": how}
    if how == "cluster":
        formula, asked["cov_kwds"] = formula + " + cluster(g)", {"groups": "g"}
    elif how == "robust":
        more = ", robust = TRUE"
    else:
        asked = {}
    if how == "counts":
        more, given["freq_weight"] = ", weights = w", "w"
    call = f"survreg({formula}, d{more})"
    script = READS_R.format(file=tmp_path / "d.csv", call=call)
    out = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)
    values = np.array(out.stdout.split(), dtype=float)
    path = l0path.fit(formula.replace(" + cluster(g)", ""), table, loss="weibull", **given)
    refit = path.model(k=3).refit(**asked)
    found = accelerated(refit)
    np.testing.assert_allclose(found[0], values[:4], rtol=1e-5)
    assert found[1] == pytest.approx(values[4], rel=1e-5)
    assert path.score_table()["loglik"][3] == pytest.approx(values[5], rel=1e-8)
    assert path.score_table()["aic"][3] == pytest.approx(values[6], rel=1e-8)
    np.testing.assert_allclose(found[2], values[8:], rtol=1e-5)


# -------------------- no optimum


def test_a_group_without_events_separates_and_leaves_the_infimum():
    X, time, event = drawn(1, p=4)
    X[:, 2] = 0.0
    X[np.flatnonzero(event == 0)[:6], 2] = 1.0
    with pytest.warns(SeparationWarning, match="send the hazards of some rows to zero by x2"):
        path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", algorithm=HIGH)
    rest = X[:, 2] == 0
    for k, others in ((2, [[0], [1], [3]]), (3, [[0, 1], [0, 3], [1, 3]])):
        best = [optimum(X[rest], time[rest], event[rest], S) * rest.mean() for S in others]
        s = path._solutions[k]
        assert s.status == "separated" and 2 in s.support
        assert s.loss == pytest.approx(min(best), abs=1e-9)
    assert path._solutions[1].status == "converged"
    with pytest.raises(ValueError, match=r"has no maximum.*of x2 is infinite"):
        path.model(k=2).refit()
    assert path.score_table().loc[2:, "aic"].isna().all()


def test_short_censored_times_separate_too():
    X, time, event = drawn(7, n=80, p=3)
    some = np.flatnonzero(event == 0)[:5]
    for short in (1e-3, 1e-6, 1e-12):
        X[:, 1], time[some] = 0.0, short
        X[some, 1] = 1.0
        with pytest.warns(SeparationWarning):
            path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", always_include=[1])
        assert all(s.status == "separated" for s in path._solutions)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-3])
def test_a_shape_without_end_is_never_called_an_optimum(noise):
    X, time, event = drawn(5, n=30, p=4)
    rng = np.random.default_rng(0)
    X = np.column_stack([np.log(time) * (1.0 + noise * rng.standard_normal(30)), X])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", max_k=3)
    for s in path._solutions[1:]:
        if noise <= 1e-12:
            assert s.status == "separated" and "not_converged" in s.flags
            assert s.optimality == "unverified" and np.isnan(s.lower_bound)
        else:
            assert s.status == "converged" and s.baseline.shape > 100
            assert s.loss <= optimum(X, time, event, s.support) + 1e-9
    if not noise:
        assert "so that their shape has no end" in path.status
        with pytest.raises(ValueError, match="the shape grows without end"):
            path.model(k=1).refit()


def falls_for_ever(A, z, died):
    """Whether a direction sends hazards of censored rows to 0, or the shape to infinity: kappa z +
    b0 + x'b does not change for events and rises for no other row.
    """
    M = np.column_stack([A, np.ones(z.size), z])
    cost = M[~died].sum(axis=0)
    cost[-1] -= 1.0
    sides = {"A_ub": M[~died], "b_ub": np.zeros((~died).sum())}
    sides |= {"A_eq": M[died], "b_eq": np.zeros(died.sum())}
    box = [(-1e6, 1e6)] * (A.shape[1] + 1) + [(0, 1e6)]
    return linprog(cost, bounds=box, **sides).fun < -1e-3


@pytest.mark.parametrize("seed", range(30))
def test_few_events_for_many_columns_are_flagged(seed):
    rng = np.random.default_rng(seed)
    X, event, time = rng.standard_normal((14, 4)), np.zeros(14), rng.exponential(size=14)
    event[rng.permutation(14)[:4]] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", max_k=4)
    for s in path._solutions:
        apart = falls_for_ever(X[:, s.support], np.log(time), event > 0)
        assert (s.status == "separated") == apart


def test_a_ridge_keeps_what_separates():
    X, time, event = drawn(5, n=30, p=4)
    X = np.column_stack([np.log(time), X])
    path = l0path.fit(
        X, np.column_stack([time, event]), loss="weibull", max_k=3, lambda2=1e-2, certify=True
    )
    for s in path._solutions:
        assert s.status == "converged"
        assert s.objective == pytest.approx(
            min(optimum(X, time, event, S, lambda2=1e-2) for S in combinations(range(5), s.k)),
            rel=1e-7,
        )
        assert s.lower_bound <= s.objective + 1e-12


def test_groups_values_of_lambda0_and_proofs_are_as_enumerated():
    X, time, event = drawn(13, p=6)
    y = np.column_stack([time, event])
    sets = [[0, 1], [2], [3, 4], [5]]
    given = {"loss": "weibull", "algorithm": HIGH}
    path = l0path.fit(X, y, groups=sets, **given)
    best = {
        k: min(
            optimum(X, time, event, sorted({j for g in chosen for j in sets[g]}))
            for chosen in combinations(range(4), k)
        )
        for k in range(5)
    }
    for s in path._solutions:
        assert s.objective == pytest.approx(best[s.k], rel=1e-8)
    proof = path.certify(k=2)
    assert proof.proven and proof.lower_bound <= best[2] * (1 + 1e-9)
    single = l0path.fit(X, y, **given)
    for k in range(4):
        least = min(optimum(X, time, event, S) for S in combinations(range(6), k))
        proof = single.certify(k=k)
        assert proof.proven and proof.incumbent == pytest.approx(least, rel=1e-8)
    penalized = l0path.fit(X, y, lambda0=[0.1, 0.01], **given)
    least = [min(optimum(X, time, event, S) for S in combinations(range(6), k)) for k in range(7)]
    for s in penalized._solutions:
        known = min(value + s.lambda0 * k for k, value in enumerate(least))
        assert s.objective == pytest.approx(known, rel=1e-8)
    exact = l0path.fit(X, y, loss="weibull", algorithm="exact", max_k=3)
    assert (exact.table.optimality == "global").all()


# -------------------- what is refused


def refused(match, y, X=None, **given):
    X = np.random.default_rng(0).standard_normal((len(y), 3)) if X is None else X
    with pytest.raises(ValueError, match=match):
        l0path.fit(X, y, loss="weibull", **given)


def test_bad_responses_are_refused_in_words():
    _, time, event = drawn(0)
    y = np.column_stack([time, event])
    refused("no event", np.column_stack([time, 0 * event]))
    refused("at the last time", np.column_stack([np.full(60, 2.0), event]))
    refused(
        "1 time of 0, the first at position 7",
        np.column_stack([time * (np.arange(60) != 7), event]),
    )
    refused("negative time", np.column_stack([time - 1.0, event]))
    refused("no finite numbers", np.column_stack([np.where(time > 1, np.inf, time), event]))
    refused("events are 0 or 1", np.column_stack([time, 2 * event]))
    refused("loss='weibull' needs times and events", time)
    refused("times of entry", np.column_stack([0 * time, time, event]))
    refused("strata= is for loss='cox'", y, strata=np.arange(60) % 2)
    refused("always free", y, fit_intercept=False)
    refused("class_weight", y, class_weight="balanced")
    refused("pos_label", y, pos_label=1)
    refused("no event", y, sample_weight=(event == 0).astype(float))
    refused("takes losses that are sums over rows", y, algorithm="cd", lambda0="grid")
    frame = pd.DataFrame({"a": time + event, "t": time, "d": event})
    with pytest.raises(ValueError, match="always free"):
        l0path.fit("Surv(t, d) ~ a - 1", frame, loss="weibull")


def test_new_rows_are_checked_as_those_of_the_fit():
    X, time, event = drawn(0)
    path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", max_k=2)
    model = path.model(k=2)
    with pytest.raises(ValueError, match="time of 0"):
        model.score(X[:2], np.array([[0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="no strata"):
        model.survival(X[:2], strata=[0, 1])
    one = model.score(X[:1], np.column_stack([time, event])[:1])
    assert np.isfinite(one["deviance"]) or event[0] == 0


# -------------------- results


def test_survival_curves_are_the_formula():
    X, time, event = drawn(6)
    model = l0path.fit(X, np.column_stack([time, event]), loss="weibull").model(k=3)
    at = np.array([0.0, 0.3, 1.0, 50.0])
    eta = model.intercept + X[:, model.support] @ model._solution.beta
    hazard = np.exp(eta)[:, None] * at ** model.details["shape"]
    np.testing.assert_allclose(model.survival(X, times=at), np.exp(-hazard), atol=1e-14)
    np.testing.assert_allclose(
        model.survival(X, times=at, type="cumulative_hazard"), hazard, rtol=1e-12
    )
    assert model.survival(X[:2]).columns.tolist() == np.unique(time[event > 0]).tolist()
    np.testing.assert_allclose(model.path.predict(X, k=3), eta, rtol=1e-12)


def test_files_and_pickles_keep_intercepts_and_shapes(tmp_path):
    import pickle

    X, time, event = drawn(6)
    path = l0path.fit(X, np.column_stack([time, event]), loss="weibull", lambda2=0.01, max_k=3)
    path.save(tmp_path / "a.npz")
    path.save(tmp_path / "b.npz", data=True)
    expected = path.model(k=2).survival(X[:3])
    for other in (
        l0path.load(tmp_path / "a.npz"),
        l0path.load(tmp_path / "b.npz"),
        pickle.loads(pickle.dumps(path)),
    ):
        assert other.coef(k=2).equals(path.coef(k=2))
        assert other.details["shape"].equals(path.details["shape"])
        assert other.model(k=2).survival(X[:3]).equals(expected)
    with_data = l0path.load(tmp_path / "b.npz")
    assert with_data.model(k=2).refit().params.equals(path.model(k=2).refit().params)
    assert l0path.load(tmp_path / "a.npz").model(k=2).refit(X, np.column_stack([time, event]))


def test_scores_of_a_model_and_of_folds():
    X, time, event = drawn(8, n=120)
    y = np.column_stack([time, event])
    path = l0path.fit(X, y, loss="weibull", max_k=3)
    scores = path.model(k=2).score(X, y)
    assert -0.5 * 120 * scores["deviance"] == pytest.approx(path.score_table()["loglik"][2])
    cox = l0path.fit(X, y, loss="cox", max_k=3).model(k=2)
    assert scores["concordance"] == pytest.approx(cox.score(X, y)["concordance"], abs=0.01)
    parts = np.array_split(np.random.default_rng(0).permutation(120), 4)
    folds = [(np.setdiff1d(np.arange(120), part), np.sort(part)) for part in parts]
    cv = l0path.cv_fit(X, y, loss="weibull", max_k=3, cv=folds, lambda2=0)
    for fold, (train, test) in enumerate(folds):
        one = l0path.fit(X[train], y[train], loss="weibull", max_k=3).model(k=2)
        deviance = one.score(X[test], y[test])["deviance"]
        assert cv.folds.iloc[2, fold] == pytest.approx(deviance, rel=1e-6)
    metrics = cv.metrics()
    assert {"deviance", "concordance", "concordance_uno", "integrated_brier"} <= {*metrics.columns}
    assert (metrics["concordance"][1:] > 0.6).all()
    chosen = l0path.cv_fit(X, y, loss="weibull", max_k=3, cv=4, random_state=1)
    assert chosen.model().details["shape"] > 0 and chosen.model()._solution.intercept < 10
    nested = l0path.nested_cv(
        X, y, loss="weibull", max_k=2, outer=2, cv=2, lambda2=0, random_state=1
    )
    assert np.isfinite(nested.mean)


def test_mixtures_have_the_best_intercept_and_shape():
    X, time, event = drawn(9, n=80)
    y = np.column_stack([time, event])
    cv = l0path.cv_fit(X, y, loss="weibull", max_k=2, cv=3, lambda2=[0.05], relax=[0.5],
                       random_state=0)  # fmt: skip
    s = next(s for s in cv._path._solutions if s.relax == 0.5 and s.k == 2)
    eta, w = X[:, s.support] @ s.beta, np.full(80, 1 / 80)
    _, (level, log_shape) = best_value(eta, time, event, w)
    assert (s.intercept, s.baseline.shape) == pytest.approx((level, np.exp(log_shape)), rel=1e-5)


def test_estimators_take_the_loss():
    X, time, event = drawn(10, n=80)
    y = np.zeros(80, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event > 0, time
    one = l0path.L0Survival(k=2, loss="weibull").fit(X, y)
    path = l0path.fit(X, y, loss="weibull", max_k=2)
    np.testing.assert_allclose(one.coef_[path.support(k=2)], path.coef(k=2)[1:], rtol=1e-6)
    np.testing.assert_allclose(one.predict(X), path.predict(X, k=2), rtol=1e-5)
    curve = one.predict_survival_function(X[:1])[0](1.0)
    assert curve <= 1.0 and one.score(X, y) > 0.6
    assert l0path.L0SurvivalCV(max_k=2, cv=3, loss="weibull").fit(X, y).k_ <= 2


def test_splits_of_rows_test_the_features():
    X, time, event = drawn(11, n=160)
    y = np.column_stack([time, event])
    for given in ({}, {"sample_weight": np.linspace(0.5, 1.5, 160)}):
        found = l0path.split_inference(
            X, y, loss="weibull", max_k=2, n_splits=5, random_state=1, **given
        )
        assert (found.p_value.iloc[:2] < 0.05).all()


def test_a_large_shape_is_found_and_not_flagged():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    time = np.exp(3.0 * X[:, 0] + rng.gumbel(size=200) * -1e-3)
    y = np.column_stack([time, rng.random(200) < 0.8])
    path = l0path.fit(X, y, loss="weibull", max_k=2)
    assert path.model(k=1).features == ["x0"] and path._solutions[1].status == "converged"
    assert path.model(k=1).details["shape"] == pytest.approx(1e3, rel=0.3)
    beta = path.coef(k=1)["x0"]
    assert -beta / path.model(k=1).details["shape"] == pytest.approx(3.0, rel=1e-3)


def test_criteria_compare_all_sets():
    """They were refused: a loss without a least value was taken to be fitted perfectly."""
    X, time, event = drawn(12, n=80)
    X, y = X[:, :4], np.column_stack([time, event])
    path = l0path.fit(X, y, loss="weibull")
    found = l0path.best_subset(X, y, loss="weibull", criterion="bic")
    every = [S for k in range(5) for S in combinations(range(4), k)]
    out = [np.setdiff1d(range(4), S) for S in every]
    paths = [l0path.fit(X, y, loss="weibull", exclude=S.tolist()) for S in out]
    bic = [one.score_table().bic.iloc[-1] for one in paths]
    assert found.proven and tuple(found.model.support) == every[int(np.argmin(bic))]
    near = path.near_best(criterion="bic", within=4)
    assert near.complete and len(near.models) == np.sum(np.array(bic) <= min(bic) + 4)
