"""Families of responses: every size against enumeration with slow definitions of their own
(`oracles.FAMILIES`), bounds against the same, and statsmodels' coefficients and likelihoods.
"""

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.special import expit

import l0path
from l0path.problem.families.counts import theta_of
from l0path.solvers import LocalSearch

FAMILIES = tuple(oracles.FAMILIES)
NUMBER = {"negative_binomial": "theta", "tweedie": "power", "quantile": "quantile"}
GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6, "quantile": 0.3}
LARGEST = 3


def arguments(d):
    """The keywords of `l0path.fit` for an instance of a family."""
    return oracles.fit_keywords(d)


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
        d = d | {"gamma": path.loss_record().width}
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


def compare(d, path, best):
    """(sizes compared, sizes above the enumerated optimum); none may be below it."""
    above = 0
    rows = [s for s in path.solutions if s.k in best and not s.separated]
    for s in rows:
        ahead = (s.objective - best[s.k]) / max(abs(best[s.k]), 1e-3)
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
    total, above = run(loss, 12, 1)
    assert total >= 30 and above == 0


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


def run_penalised(loss, count, seed):
    """(values of lambda0 compared, those above the enumerated optimum)."""
    total = above = 0
    for d in problems(loss, count, seed):
        grid = [4 * d["lambda0"], d["lambda0"]]
        path = l0path.fit(
            d["X"], d["y"], lambda0=grid, algorithm=LocalSearch(effort="high"), **arguments(d)
        )
        if any(s.separated for s in path.solutions):
            continue
        of_path = {"gamma": path.loss_record().width} if loss == "quantile" else {}
        same = oracles.restricted_keywords(d) | of_path
        for s in path.solutions:
            try:
                best, _ = oracles.best_penalised(
                    d["X"], d["y"], s.lambda0, penalty_factor=d["penalty_factor"],
                    forced=d["forced"], **same,
                )  # fmt: skip
            except RuntimeError:
                continue
            ahead = (s.objective - best) / max(abs(best), 1e-3)
            assert ahead > -1e-9, (loss, s.lambda0, s.objective, best)
            total, above = total + 1, above + (ahead > 1e-8)
    return total, above


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_groups_and_penalties_give_the_enumerated_optimum(loss):
    total, above = run_groups(loss, 5, 3)
    assert total >= 10 and above == 0
    total, above = run_penalised(loss, 5, 4)
    assert total >= 6 and above == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_many_groups_and_penalties(loss):
    for total, above in (run_groups(loss, 100, 5), run_penalised(loss, 100, 6)):
        assert total >= 120 and above <= 0.01 * total


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_a_hundred_instances(loss):
    total, above = run(loss, 110, 2)
    assert total >= 300 and above <= 0.01 * total


def drawn(loss, n=150, p=6, **changes):
    """X, y and the arguments of a fit of a family; the truth is in columns 1 and 4."""
    if loss == "binomial":
        rng = np.random.default_rng(3)
        X, trials = rng.normal(size=(n, p)), rng.integers(1, 7, n)
        return X, rng.binomial(trials, 1 / (1 + np.exp(X[:, 4] - X[:, 1]))) / trials, {"loss": loss}
    if loss == "quantile":
        data = l0path.simulate.linear(n, p, 2, random_state=3)
    else:
        data = getattr(l0path.simulate, loss)(n, p, 2, scale=0.6, random_state=3, **changes)
    number = {"negative_binomial": {}}.get(loss, {NUMBER.get(loss): GIVEN.get(loss)})
    return data.X, data.y, {"loss": loss, **{k: v for k, v in number.items() if k}}


def statsmodels_family(path):
    """The family of statsmodels' GLM at the numbers of the path."""
    import statsmodels.api as sm

    log = sm.families.links.Log()
    return {
        "gamma": lambda: sm.families.Gamma(log),
        "negative_binomial": lambda: sm.families.NegativeBinomial(log, alpha=1 / path.theta),
        "tweedie": lambda: sm.families.Tweedie(log, var_power=path.loss_record().power),
    }[path.loss]()


@pytest.mark.parametrize("loss", ["gamma", "negative_binomial", "tweedie"])
def test_coefficients_and_deviance_are_those_of_statsmodels(loss):
    import statsmodels.api as sm

    X, y, more = drawn(loss)
    rng = np.random.default_rng(0)
    weights, offset = rng.integers(1, 4, y.size).astype(float), 0.3 * rng.normal(size=y.size)
    path = l0path.fit(X, y, max_k=2, sample_weight=weights, offset=offset, **more)
    s = path.solutions[2]
    found = sm.GLM(
        y, sm.add_constant(X[:, s.support]), statsmodels_family(path), offset=offset,
        freq_weights=weights,
    ).fit(tol=1e-14, maxiter=500)  # fmt: skip
    np.testing.assert_allclose(np.append(s.intercept, s.beta), found.params, rtol=1e-6, atol=1e-7)
    scored = path.score(X, y, k=2, sample_weight=weights, offset=offset)
    deviance = scored["deviance"] if "deviance" in scored else scored
    np.testing.assert_allclose(deviance, found.deviance / weights.sum(), rtol=1e-8)


@pytest.mark.parametrize("seed", [2, 4, 12, 22, 28, 35])
def test_theta_is_not_where_the_score_is_rounding(seed):
    from scipy import stats

    rng = np.random.default_rng(seed)
    mean = np.exp(0.6 * rng.normal(size=100))
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + mean)).astype(float)
    log_theta = np.linspace(-3.0, 6.0, 901)[:, None]
    theta = np.exp(log_theta)
    likelihood = stats.nbinom.logpmf(y, theta, theta / (theta + mean)).sum(axis=1)
    best = float(log_theta[likelihood.argmax(), 0])
    assert np.log(theta_of(y, mean, np.full(100, 0.01))) == pytest.approx(best, abs=0.01)


def test_theta_is_that_of_maximum_likelihood_on_the_pilots_support():
    from scipy import optimize, stats

    X, y, more = drawn("negative_binomial", n=400)
    path = l0path.fit(X, y, max_k=3, **more)
    k = next(k for k in (2, 3) if set(path.support(k=k)) >= {1, 4} or k == 3)
    mean = path.predict(X, k=k)
    best = optimize.minimize_scalar(
        lambda t: -stats.nbinom.logpmf(y, np.exp(t), 1 / (1 + mean / np.exp(t))).sum(),
        bounds=(-3, 5), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    assert path.theta == pytest.approx(np.exp(best.x), rel=1e-4)
    assert "theta" in str(path.refit(k=2).model.exog_names) or path.refit(k=2).params.size == 4
    few = l0path.fit(X, np.random.default_rng(0).binomial(20, 0.5, 400), max_k=1, **more)
    assert few.theta == 1e8 and any("Poisson" in note for note in few.notes)


@pytest.mark.parametrize("loss", FAMILIES)
def test_files_and_new_rows(loss, tmp_path):
    X, y, more = drawn(loss)
    path = l0path.fit(X, y, max_k=2, **more)
    path.save(tmp_path / "path.npz")
    back = l0path.load(tmp_path / "path.npz")
    assert back.loss_record() == path.loss_record() and back.theta == path.theta
    assert back.objective(k=2, X=X, y=y) == pytest.approx(path.objective(k=2), rel=1e-12)
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
        ours = path.score(X, y, k=1, sample_weight=weights)["deviance"]
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "bad", "words"),
    [
        ("gamma", 0.0, "loss='tweedie' takes zeros"),
        ("gamma", -1.0, "positive numbers"),
        ("negative_binomial", -1.0, "counts >= 0"),
        ("tweedie", -0.5, "numbers >= 0"),
    ],
)
def test_a_response_that_the_family_has_not_is_refused(loss, bad, words):
    X, y, more = drawn(loss)
    y[3] = bad
    with pytest.raises(ValueError, match=words):
        l0path.fit(X, y, max_k=1, **more)


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [
        ("negative_binomial", "theta", 0.0),
        ("tweedie", "power", 1.0),
        ("tweedie", "power", 2.5),
        ("quantile", "quantile", 1.0),
        ("quantile", "quantile", np.nan),
    ],
)
def test_numbers_out_of_range_are_refused(loss, name, value):
    X, y, _ = drawn(loss)
    with pytest.raises(ValueError, match=f"{name}="):
        l0path.fit(X, y, loss=loss, max_k=1, **{name: value})


def test_a_tweedie_loss_of_power_2_is_the_gamma_loss():
    X, y, _ = drawn("gamma")
    two = l0path.fit(X, y, loss="tweedie", power=2, max_k=2)
    one = l0path.fit(X, y, loss="gamma", max_k=2)
    np.testing.assert_allclose(two.table.objective, one.table.objective, rtol=1e-12)
    with pytest.raises(ValueError, match="power"):
        l0path.fit(X, np.where(y > 1, y, 0), loss="tweedie", power=2, max_k=1)


@pytest.mark.parametrize("loss", ["gamma", "quantile"])
def test_cross_validation_and_estimators(loss):
    X, y, more = drawn(loss)
    cv = l0path.cv_fit(X, y, cv=3, max_k=3, random_state=0, **more)
    assert set(cv.model("min").support) >= {1, 4}
    found = l0path.L0Regressor(k=2, **more).fit(X, y)
    np.testing.assert_allclose(found.predict(X), cv.path.predict(X, k=2), rtol=1e-9)


def test_a_quantile_leaves_its_share_below():
    X, y, more = drawn("quantile", n=400)
    path = l0path.fit(X, y, max_k=2, **more)
    assert abs(np.mean(y < path.predict(X, k=2)) - GIVEN["quantile"]) < 0.03
    results = path.refit(k=2)  # not smoothed
    assert results.q == GIVEN["quantile"]
    np.testing.assert_allclose(results.params.iloc[1:], path.solutions[2].beta, atol=0.2)


def counted():
    """X, two columns of counts (rows without trials among them), offset."""
    rng = np.random.default_rng(0)
    X, trials, offset = rng.normal(size=(90, 6)), rng.integers(0, 9, 90), 0.2 * rng.normal(size=90)
    won = rng.binomial(trials, expit(X[:, 1] - X[:, 4]))
    return X, np.column_stack([won, trials - won]), offset


def test_counts_of_successes_are_a_row_for_each_trial():
    X, Y, offset = counted()
    trials = Y.sum(axis=1)
    path = l0path.fit(X, Y, loss="binomial", max_k=3, offset=offset)
    twice = l0path.fit(
        np.vstack([X, X]), np.repeat([1, 0], 90), loss="logistic", max_k=3,
        offset=np.append(offset, offset), sample_weight=Y.T.ravel(),
    )  # fmt: skip
    np.testing.assert_allclose(path.table.objective, twice.table.objective, rtol=1e-10)
    share = np.where(trials > 0, Y[:, 0] / np.maximum(trials, 1), 0.5)
    same = l0path.fit(X, share, loss="binomial", sample_weight=trials, max_k=3, offset=offset)
    assert same.table.objective.tolist() == path.table.objective.tolist()
    assert path.meta.n_eff == (trials > 0).sum()


def test_binomial_likelihoods_and_refits_are_those_of_statsmodels(tmp_path):
    import statsmodels.api as sm

    X, Y, offset = counted()
    seen = Y.sum(axis=1) > 0
    path = l0path.fit(X, Y, loss="binomial", max_k=2, offset=offset)
    A = sm.add_constant(X[seen][:, path.support(k=2)])
    found = sm.GLM(Y[seen], A, family=sm.families.Binomial(), offset=offset[seen]).fit(tol=1e-13)
    row = path.score_table().iloc[2]
    assert row.loglik == pytest.approx(found.llf, rel=1e-10)
    assert row.bic == pytest.approx(3 * np.log(seen.sum()) - 2 * found.llf)
    for again in (path.refit(k=2), path.refit(k=2, X=X, y=Y, offset=offset)):
        np.testing.assert_allclose(again.params, found.params, rtol=1e-6)
        np.testing.assert_allclose(again.bse, found.bse, rtol=1e-6)
        assert again.llf == pytest.approx(found.llf, rel=1e-10)
        assert again.aic == pytest.approx(row.aic, rel=1e-10)
    weights = np.where(X[:, 1] > 0, 1.5, 0.5)  # beside the trials
    twice = l0path.fit(X, Y, loss="binomial", max_k=1, sample_weight=weights)
    assert twice.refit(k=1).llf == pytest.approx(twice.score_table().loglik[1], rel=1e-10)
    deviance = path.score(X, Y, k=2, offset=offset)["deviance"]
    assert deviance == pytest.approx(found.deviance / Y.sum(), rel=1e-9)
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz").score_table().equals(path.score_table())


def test_shares_that_are_all_0_or_1_stay_shares():
    X, Y, _ = counted()
    trials = Y.sum(axis=1) + 1.0
    y = (X[:, 1] + 0.3 * X[:, 0] > 0).astype(float)
    path = l0path.fit(X, y, loss="binomial", sample_weight=trials, max_k=1)
    columns = l0path.fit(X, np.c_[y * trials, (1 - y) * trials], loss="binomial", max_k=1)
    assert path.loss == "binomial" and path.score_table().equals(columns.score_table())
    cv = l0path.cv_fit(X, y, loss="binomial", sample_weight=trials, max_k=1, cv=2, random_state=0)
    assert cv.path.loss == "binomial"
    with pytest.raises(ValueError, match="y is 0 in every row"):
        l0path.fit(X, 0.0 * y, loss="binomial", sample_weight=trials, max_k=1)
    for classes, weights in ((y, None), (y.astype(int), trials)):
        path = l0path.fit(X, classes, loss="binomial", sample_weight=weights, max_k=1)
        assert path.loss == "logistic"


def test_extreme_offsets_and_equal_counts_have_a_theta():
    X, Y, _ = counted()
    y, offset = Y[:, 0], np.zeros(len(Y))
    offset[3] = 500.0  # the mean squared is not finite
    path = l0path.fit(X, y, loss="negative_binomial", offset=offset, max_k=1)
    assert path.theta > 0 and path.table.converged.all()
    path = l0path.fit(X, np.ones(len(Y)), loss="negative_binomial", max_k=1)
    assert path.table.optimality.tolist() == ["global"]


def test_many_fractions_are_not_classes():
    X, *_ = counted()
    for loss in ("multinomial", "ordinal"):
        with pytest.raises(ValueError, match="90 different numbers, some of which are not whole"):
            l0path.fit(X, X[:, 0], loss=loss)
    halves = np.arange(90) % 7 / 2
    assert len(l0path.fit(X, halves, loss="ordinal", max_k=1, certify=False).classes) == 7


def test_counts_of_a_formula_are_scored_and_refitted_from_its_table():
    X, Y, _ = counted()
    data = pd.DataFrame({"a": X[:, 1], "b": X[:, 4], "yes": Y[:, 0], "no": Y[:, 1]})
    path = l0path.fit("yes + no ~ a + b", data, loss="binomial", max_k=1)
    assert path.refit(k=1, X=data).llf == pytest.approx(path.refit(k=1).llf, rel=1e-12)
    assert path.score(data, k=1).equals(path.score(data, Y, k=1))


def test_binomial_folds_and_names():
    X, Y, _ = counted()
    cv = l0path.cv_fit(X, Y, loss="binomial", max_k=3, cv=3, random_state=0)
    assert set(cv.model("min").support) >= {1, 4}
    classes = np.where(X[:, 0] + 0.5 * X[:, 3] > 0, "b", "a")
    path = l0path.fit(X, classes, loss="binomial", max_k=1, lambda2=0.1)  # glmnet's name
    assert path.loss == "logistic" and path.classes == ("a", "b")
    with pytest.raises(ValueError, match="loss='binomial'"):
        l0path.fit(X, Y, loss="logistic", max_k=1)
    with pytest.raises(ValueError, match="negative"):
        l0path.fit(X, -Y, loss="binomial", max_k=1)
    with pytest.raises(ValueError, match="no finite intercept"):
        l0path.fit(X, np.column_stack([np.ones(90), np.zeros(90)]), loss="binomial", max_k=1)


def test_a_column_that_fills_shares_is_named():
    X, Y, _ = counted()
    X[:, 0] = 0.0
    X[:3, 0] = 1.0
    Y[:3] = [[5, 0], [4, 0], [6, 0]]
    with pytest.warns(l0path.errors.SeparationWarning, match="x0"):
        path = l0path.fit(X, Y, loss="binomial", max_k=1, always_include=["x0"])
    assert path.solutions[0].separated


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
    for _ in range(60):
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
