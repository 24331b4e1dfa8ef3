"""Families of responses: every size against enumeration with slow definitions of their own
(`oracles.FAMILIES`), bounds against the same, and statsmodels' coefficients and likelihoods.
"""

import numpy as np
import oracles
import pytest
from family_samples import FAMILIES, GIVEN, arguments, drawn
from recomputed import objective_of
from scipy.special import expit

import l0path
from l0path.solvers import LocalSearch

LARGEST = 3


def degenerate(X, rng):
    """Make the last column of X a copy, the opposite, a multiple, a constant or a combination."""
    a, b = X[:, 0].copy(), X[:, 1].copy()
    kinds = (a, -a, 3.0 * a, np.full(len(X), 2.0), a + b, 1.0 - b)
    X[:, -1] = kinds[rng.integers(len(kinds))]


def problems(loss, count, seed):
    """Instances with degenerate columns among them."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        d = oracles.instance(loss, rng, (4, 6))
        d["delta"] = GIVEN.get(loss, d["delta"])
        if i % 3 == 1:
            degenerate(d["X"], rng)
        # where columns send means to zero nothing has a minimum, and enumeration no answer
        if loss in ("negative_binomial", "tweedie") and not d["lambda1"] and i % 2:
            d["lambda2"] = max(d["lambda2"], 1e-3)
        yield d


def enumerated(d, path, groups=None):
    """{k: least objective} by the oracle; the width of a quantile is that of the path."""
    if d["loss"] == "quantile":
        d = d | {"gamma": path._loss_record().width}
    same = oracles.restricted_keywords(d)
    free = [j for j in range(d["X"].shape[1]) if j not in d["forced"]]
    if groups is None:
        return {
            k: found[0]
            for k, found in oracles.best_subsets(
                d["X"], d["y"], min(LARGEST, len(free)), forced=d["forced"], **same
            ).items()
        }
    best = {}
    labels = sorted(set(groups))
    for bits in range(1 << len(labels)):
        chosen = [g for i, g in enumerate(labels) if bits >> i & 1]
        support = [j for j, g in enumerate(groups) if g in chosen]
        value = oracles.restricted(d["X"], d["y"], support, **same)[0]
        best[len(chosen)] = min(best.get(len(chosen), np.inf), value)
    return best


def of_the_search(d, path, s):
    """The objective by which the support of a row was searched: that of the smoothed loss for
    quantiles, whose rows have the coefficients of least check loss.
    """
    if d["loss"] != "quantile":
        return s.objective
    same, width = oracles.restricted_keywords(d), path._loss_record().width
    value, _, _ = oracles.restricted(d["X"], d["y"], s.support, **same | {"gamma": width})
    beta = np.zeros(d["X"].shape[1])
    beta[s.support] = s.beta
    given = {name: v for name, v in same.items() if name not in ("gamma", "delta")}
    lacks = oracles.check_residual(
        d["X"], d["y"], s.support, beta, s.intercept, quantile=d["delta"], **given
    )
    assert lacks < 1e-8 and s.status == "converged", (s.k, lacks)
    more = {} if np.isnan(s.lambda0) else {"lambda0": s.lambda0}
    at = oracles.objective(
        d["X"], d["y"], beta, s.intercept, **oracles.objective_keywords(d) | {"gamma": 1e-15}
        | {"lambda0": 0.0} | more,
    )  # fmt: skip
    assert s.objective == pytest.approx(at, rel=1e-10)
    paid = s.objective - s.loss - s.shrinkage
    assert s.loss + s.shrinkage <= value + 1e-12 and value <= s.objective - paid + 0.25 * width
    return value + paid


def compare(d, path, best):
    """(sizes compared, sizes above the enumerated optimum); none may be below it."""
    above = 0
    rows = [s for s in path._solutions if s.k in best and not s.separated]
    for s in rows:
        ahead = (of_the_search(d, path, s) - best[s.k]) / max(abs(best[s.k]), 1e-3)
        assert ahead > -1e-9, (d["loss"], s.k, s.objective, best[s.k])
        above += ahead > 1e-8
        assert not s.lower_bound > best[s.k] + 1e-9 * max(abs(best[s.k]), 1.0)
    return len(rows), above


def run(loss, count, seed):
    """(sizes, sizes above) of `count` instances at effort "high"."""
    total = above = 0
    for d in problems(loss, count, seed):
        try:
            path = l0path.fit(
                d["X"], d["y"], max_k=LARGEST, algorithm=LocalSearch(effort="high"),
                certify=bool(d["lambda2"]), **arguments(d),
            )  # fmt: skip
            best = enumerated(d, path)
        except RuntimeError:  # the oracle: no minimum
            continue
        one, two = compare(d, path, best)
        total, above = total + one, above + two
    return total, above


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_every_size_is_the_enumerated_one(loss):
    total, above = run(loss, 6, 1)
    assert total >= 15 and above == 0


def run_groups(loss, count, seed):
    """(numbers of groups compared, those above the enumerated optimum)."""
    total = above = 0
    for d in problems(loss, count, seed):
        p = d["X"].shape[1]
        groups = [j // 2 for j in range(p)]
        d |= {"forced": [], "penalty_factor": np.ones(p)}
        words = arguments(d)
        del words["penalty_factor"]
        path = l0path.fit(
            d["X"], d["y"], max_k=p, groups=groups, algorithm=LocalSearch(effort="high"),
            certify=bool(d["lambda2"]), **words,
        )  # fmt: skip
        try:
            best = enumerated(d, path, groups)
        except RuntimeError:
            continue
        one, two = compare(d, path, best)
        total, above = total + one, above + two
    return total, above


def run_penalized(loss, count, seed):
    """(values of lambda0 compared, those above the enumerated optimum)."""
    total = above = 0
    for d in problems(loss, count, seed):
        grid = [4 * d["lambda0"], d["lambda0"]]
        path = l0path.fit(
            d["X"], d["y"], lambda0=grid, algorithm=LocalSearch(effort="high"), **arguments(d)
        )
        if any(s.separated for s in path._solutions):
            continue
        of_path = {"gamma": path._loss_record().width} if loss == "quantile" else {}
        same = oracles.restricted_keywords(d) | of_path
        for s in path._solutions:
            try:
                best, _ = oracles.best_penalized(
                    d["X"], d["y"], s.lambda0, penalty_factor=d["penalty_factor"],
                    forced=d["forced"], **same,
                )  # fmt: skip
            except RuntimeError:
                continue
            ahead = (of_the_search(d, path, s) - best) / max(abs(best), 1e-3)
            assert ahead > -1e-9, (loss, s.lambda0, s.objective, best)
            total, above = total + 1, above + (ahead > 1e-8)
    return total, above


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_groups_and_penalties_give_the_enumerated_optimum(loss):
    total, above = run_groups(loss, 3, 3)
    assert total >= 6 and above == 0
    total, above = run_penalized(loss, 3, 4)
    assert total >= 4 and above == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_many_groups_and_penalties(loss):
    for total, above in (run_groups(loss, 100, 5), run_penalized(loss, 100, 6)):
        assert total >= 120 and above <= 0.01 * total


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_a_hundred_instances(loss):
    total, above = run(loss, 110, 2)
    assert total >= 300 and above <= 0.01 * total


def statsmodels_family(path):
    """The family of statsmodels' GLM at the numbers of the path."""
    import statsmodels.api as sm

    log = sm.families.links.Log()
    return {
        "gamma": lambda: sm.families.Gamma(log),
        "negative_binomial": lambda: sm.families.NegativeBinomial(log, alpha=1 / path.loss.theta),
        "tweedie": lambda: sm.families.Tweedie(log, var_power=path._loss_record().power),
    }[path.loss.name]()


@pytest.mark.parametrize("loss", ["gamma", "negative_binomial", "tweedie"])
def test_coefficients_and_deviance_are_those_of_statsmodels(loss):
    import statsmodels.api as sm

    X, y, more = drawn(loss)
    rng = np.random.default_rng(0)
    weights, offset = rng.integers(1, 4, y.size).astype(float), 0.3 * rng.normal(size=y.size)
    path = l0path.fit(X, y, max_k=2, sample_weight=weights, offset=offset, **more)
    s = path._solutions[2]
    found = sm.GLM(
        y, sm.add_constant(X[:, s.support]), statsmodels_family(path), offset=offset,
        freq_weights=weights,
    ).fit(tol=1e-14, maxiter=500)  # fmt: skip
    np.testing.assert_allclose(np.append(s.intercept, s.beta), found.params, rtol=1e-6, atol=1e-7)
    scored = path.model(k=2).score(X, y, sample_weight=weights, offset=offset)
    deviance = scored["deviance"] if "deviance" in scored else scored
    np.testing.assert_allclose(deviance, found.deviance / weights.sum(), rtol=1e-8)


@pytest.mark.parametrize("loss", FAMILIES)
def test_files_and_new_rows(loss, tmp_path):
    X, y, more = drawn(loss)
    path = l0path.fit(X, y, max_k=2, **more)
    path.save(tmp_path / "path.npz")
    back = l0path.load(tmp_path / "path.npz")
    assert back._loss_record() == path._loss_record() and back.loss == path.loss
    assert objective_of(back, k=2, X=X, y=y) == pytest.approx(objective_of(path, k=2), rel=1e-12)
    eta = path.predict(X, k=2, type="link")
    mean = {"quantile": lambda eta: eta, "binomial": expit}.get(loss, np.exp)(eta)
    np.testing.assert_allclose(back.predict(X, k=2), mean, rtol=1e-12)


def test_deviances_are_those_of_scikit_learn():
    from sklearn.metrics import mean_pinball_loss, mean_tweedie_deviance

    rng = np.random.default_rng(1)
    for loss in ("gamma", "tweedie", "quantile"):
        X, y, more = drawn(loss)
        path = l0path.fit(X, y, max_k=1, **more)
        weights, mean = rng.uniform(0.5, 2, y.size), path.predict(X, k=1)
        theirs = (
            2 * mean_pinball_loss(y, mean, alpha=0.3, sample_weight=weights)
            if loss == "quantile"
            else mean_tweedie_deviance(
                y, mean, power=2 if loss == "gamma" else 1.6, sample_weight=weights
            )
        )
        ours = path.model(k=1).score(X, y, sample_weight=weights)["deviance"]
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_a_tweedie_loss_of_power_2_is_the_gamma_loss():
    X, y, _ = drawn("gamma")
    two = l0path.fit(X, y, loss=l0path.losses.Tweedie(power=2), max_k=2)
    one = l0path.fit(X, y, loss="gamma", max_k=2)
    np.testing.assert_allclose(two.table.objective, one.table.objective, rtol=1e-12)
    with pytest.raises(ValueError, match="power"):
        l0path.fit(X, np.where(y > 1, y, 0), loss=l0path.losses.Tweedie(power=2), max_k=1)


@pytest.mark.parametrize("loss", ["gamma", "quantile"])
def test_cross_validation_and_estimators(loss):
    X, y, more = drawn(loss)
    cv = l0path.cv_fit(X, y, cv=3, max_k=3, random_state=0, **{"lambda2": 0, **more})
    assert set(cv.model("min").support) >= {1, 4}
    found = l0path.L0Regressor(k=2, **more).fit(X, y)
    np.testing.assert_allclose(found.predict(X), cv.predict(X, k=2), rtol=1e-9)


def test_a_quantile_leaves_its_share_below():
    X, y, more = drawn("quantile", n=400)
    path = l0path.fit(X, y, max_k=2, **more)
    assert abs(np.mean(y < path.predict(X, k=2)) - GIVEN["quantile"]) < 0.03
    results = path.model(k=2).refit()  # not smoothed
    assert results.q == GIVEN["quantile"]
    np.testing.assert_allclose(results.params.iloc[1:], path._solutions[2].beta, atol=0.2)


@pytest.mark.parametrize("power", [1.2, 1.5, 1.9, 2.0])
def test_the_fenchel_gap_of_a_tweedie_loss_is_not_below_its_definition(power):
    """l*(r) + l(eta) - r eta, l* the sup over a fine grid; it is finite near the slope, else no
    exchange would be refuted by a bound.
    """
    from l0path.problem.families.amounts import Tweedie
    from l0path.problem.verbs import fenchel_gap

    record, a, b = Tweedie(power), power - 1.0, 2.0 - power
    grid = np.linspace(-30.0, 30.0, 120001)

    def loss(y, t):
        return y * np.exp(-a * t) / a + (np.expm1(b * t) / b if b else t)

    rng = np.random.default_rng(0)
    for _ in range(30):
        y = float(rng.gamma(1.0)) if b == 0.0 or rng.random() < 0.7 else 0.0
        eta = 1.5 * float(rng.normal())
        at = float(np.exp(b * eta) - y * np.exp(-a * eta))
        for step in (0.0, 1e-3, -1e-3, 0.05, -0.05, 0.4, -0.4, 3.0):
            r = at + step
            outside = r < 0.0 if y == 0.0 else b == 0.0 and r > 1.0
            gap = fenchel_gap(record, y, eta, at, r)
            if outside:
                assert gap == np.inf
                continue
            truth = (r * grid - loss(y, grid)).max() + loss(y, eta) - r * eta
            assert gap >= truth - 1e-9 * (1.0 + abs(truth))
            assert gap <= truth + 1e-4 or abs(step) > 1e-3
            assert gap < np.inf or abs(step) > 0.05
