"""`best_subset`, `certify(criterion=)` and `near_best` against the criteria of all subsets, which
are computed here from least squares on the rows.
"""

import math
from itertools import combinations

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.special import comb
from thinning import thinned

import l0path

CRITERIA = ("aic", "aicc", "bic", "ebic", "gic", "mbic", "cp")


def instance(kind, n=40, p=8):
    rng = np.random.default_rng(len(kind))
    X = rng.standard_normal((n, p)) + 0.8 * rng.standard_normal((n, 1))
    if kind == "copies":
        X[:, 5], X[:, 6] = X[:, 1], -2.0 * X[:, 2]
    elif kind == "sums":
        X[:, 7] = X[:, 0] + X[:, 3]
    elif kind == "constant":
        X[:, 4] = 3.0
    return X, X[:, 0] - X[:, 1] + 0.3 * X[:, 2] + 1.5 * rng.standard_normal(n)


def every_model(X, y, w=None, forced=(), intercept=True):
    """{set: (half the mean square of its residuals, its size)} of all sets with the forced columns;
    constant columns are in none.
    """
    n, p = X.shape
    w = np.full(n, 1 / n) if w is None else w / w.sum()
    free = [j for j in range(p) if j not in forced and np.ptp(X[:, j]) > 0]
    ones = np.ones((n, int(intercept)))
    out = {}
    for k in range(len(free) + 1):
        for chosen in combinations(free, k):
            T = sorted((*chosen, *forced))
            A, root = np.c_[ones, X[:, T]], np.sqrt(w)
            b = np.linalg.lstsq(root[:, None] * A, root * y, rcond=None)[0]
            out[tuple(T)] = 0.5 * float(w @ (y - A @ b) ** 2)
    return out


def criterion(name, half, size, n, p, held=0, intercept=1, sigma2=None):
    """The criterion of a model by its textbook formula."""
    d, s, q = size + held + intercept, size, p - held
    if name == "cp":
        return 2 * n * half / sigma2 - n + 2 * d
    minus2 = n * (math.log(2 * math.pi * 2 * half) + 1)
    bic = minus2 + d * math.log(n)
    return {
        "aic": minus2 + 2 * d,
        "aicc": minus2 + 2 * d + 2 * (d + 1) * (d + 2) / (n - d - 2),
        "bic": bic,
        "ebic": bic + 2 * math.log(comb(q, s)),
        "gic": minus2 + d * math.log(math.log(n)) * math.log(q),
        "mbic": bic + 2 * s * math.log(max(q / 4 - 1, 1)),
    }[name]


def scores(name, models, X, held=0, intercept=1):
    n, p = X.shape
    rank = np.linalg.matrix_rank(np.c_[np.ones((n, intercept)), X]) - intercept
    sigma2 = 2 * n * min(models.values()) / (n - rank - intercept)
    return {
        T: criterion(name, half, len(T) - held, n, p, held, intercept, sigma2)
        for T, half in models.items()
    }


@pytest.mark.parametrize(
    ("name", "kind"), thinned(2, CRITERIA, ("plain", "copies", "sums", "constant"))
)
def test_the_best_models_by_a_criterion_are_those_of_enumeration(name, kind):
    X, y = instance(kind)
    table = scores(name, every_model(X, y), X)
    for n_best in (1, 12):
        found = l0path.best_subset(X, y, criterion=name, n_best=n_best)
        least = sorted(table.values())[:n_best]
        mine = [table[tuple(model.support.tolist())] for model in found.best]
        assert found.proven and found.status == "optimal"
        assert mine == pytest.approx(least, abs=1e-7)
        assert len({tuple(model.support.tolist()) for model in found.best}) == n_best
        assert found.incumbent == pytest.approx(least[0], abs=1e-7)
        # the bound of the search itself, on what it left out and what it met
        assert least[0] - 1e-9 * abs(least[0]) <= found.lower_bound <= least[0] + 1e-9
        assert found.unique == (n_best > 1 and least[1] > least[0] + 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_larger_model_with_a_dependent_column_may_have_the_smallest_ebic(seed):
    """There are fewer sets of nearly all columns: ebic falls with columns that add nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 7))
    X[:, 6] = X[:, 0] + (seed % 2) * X[:, 1]
    y = X @ rng.choice([-1.5, -1.0, 1.0, 1.5], 7) + rng.standard_normal(20)
    table = scores("ebic", every_model(X, y), X)
    path = l0path.fit(X, y)
    for n_best in (1, 4):
        found = path.certify(criterion="ebic", n_best=n_best)
        mine = [table[tuple(model.support.tolist())] for model in found.best]
        assert found.proven and found.gap <= 1e-9 * abs(found.incumbent)
        assert mine == pytest.approx(sorted(table.values())[:n_best], abs=1e-7)
    near = path.near_best(criterion="ebic", within=3.0)
    least = min(table.values())
    assert near.complete and {tuple(model.support.tolist()) for model in near} == {
        T for T, value in table.items() if value <= least + 3.0
    }


def test_forced_columns_weights_and_no_intercept():
    X, y = instance("plain")
    w = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    models = every_model(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    long = np.repeat(X, w.astype(int), axis=0)
    found = l0path.best_subset(X, y, n_best=5, freq_weight=w)
    least = sorted(scores("bic", models, long).values())[:5]
    values = found.best[0].path.score_table().bic.to_numpy()
    np.testing.assert_allclose(values, least, atol=1e-7)
    models = every_model(X, y, forced=(3, 6), intercept=False)
    table = scores("ebic", models, X, held=2, intercept=0)
    options = {"always_include": [3, 6], "fit_intercept": False}
    found = l0path.fit(X, y, **options).certify(criterion="ebic", n_best=5)
    mine = [table[tuple(model.support.tolist())] for model in found.best]
    assert mine == pytest.approx(sorted(table.values())[:5], abs=1e-7)


@pytest.mark.parametrize("kind", ["plain", "copies", "sums", "constant"])
@pytest.mark.parametrize(("k", "within"), [(1, 0.3), (3, 0.05), (4, 0.5), (6, 0.02)])
def test_all_models_of_a_size_are_those_of_enumeration(kind, k, within):
    X, y = instance(kind)
    table = {T: half for T, half in every_model(X, y).items() if len(T) == k}
    best = min(table.values())
    found = l0path.fit(X, y).near_best(k, within=within)
    wanted = {T for T, half in table.items() if half <= (1 + within) * best * (1 + 1e-9)}
    assert found.complete
    assert {tuple(model.support.tolist()) for model in found} == wanted
    assert (np.diff(found.scores) >= -1e-12).all()
    assert found.scores[0] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_best_model_of_a_size_that_the_path_does_not_have(loss):
    X, y = instance("sums")
    X, y = X[:, [0, 1, 3, 7]], y if loss == "squared" else y > 0
    path = l0path.fit(X, y, loss=loss, max_k=2)
    sets, values = list(combinations(range(4), 3)), {}
    for T in sets:
        values[T] = l0path.fit(X[:, T], y, loss=loss).details.objective.min()
    found = path.near_best(3, within=0)
    mine = {tuple(model.support.tolist()) for model in found}
    assert mine == {T for T in sets if values[T] <= min(values.values()) * (1 + 1e-9)}
    assert found.complete and found.scores[0] == pytest.approx(min(values.values()), rel=1e-7)
    [model] = path.near_best(4, within=0)  # one column is the sum of two others
    assert model.support.tolist() == [0, 1, 2, 3]
    assert model.objective == pytest.approx(min(values.values()), rel=1e-7)


@pytest.mark.parametrize("name", ["aic", "bic", "cp"])
def test_all_models_near_the_best_criterion_are_those_of_enumeration(name):
    X, y = instance("copies")
    table = scores(name, every_model(X, y), X)
    found = l0path.fit(X, y).near_best(criterion=name, within=3.0)
    wanted = {T for T, value in table.items() if value <= min(table.values()) + 3.0}
    assert found.complete and len(wanted) > 5
    assert {tuple(model.support.tolist()) for model in found} == wanted


def test_a_ridge_counts_in_the_objective_of_a_size_and_is_refused_by_criteria():
    X, y = instance("plain")
    path = l0path.fit(X, y, lambda2=0.1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    v, table = y - y.mean(), {}
    for T in combinations(range(8), 3):
        A = Z[:, T]
        b = np.linalg.solve(A.T @ A / 40 + 0.2 * np.eye(3), A.T @ v / 40)
        table[T] = float(np.mean((v - A @ b) ** 2)) / 2 + 0.1 * float(b @ b)
    wanted = {T for T, value in table.items() if value <= 1.05 * min(table.values())}
    found = path.near_best(3, within=0.05)
    assert {tuple(model.support.tolist()) for model in found} == wanted
    with pytest.raises(ValueError, match="lambda2"):
        path.certify(criterion="bic")


def test_what_a_set_of_models_says():
    X, y = instance("plain")
    found = l0path.fit(X, y).near_best(criterion="bic", within=4.0)
    sets = [set(model.support.tolist()) for model in found]
    names = found.models[0].path.names
    assert len(found) == len(found.table) > 3
    for name, share in found.frequencies.items():
        assert share == pytest.approx(np.mean([names.index(name) in one for one in sets]))
    bic = found.scores
    weight = np.exp(-0.5 * (bic - bic.min()))
    np.testing.assert_allclose(found.weights(), weight / weight.sum(), rtol=1e-6)
    given = found.weights(np.arange(len(found)))
    np.testing.assert_allclose(given, np.arange(len(found)) / np.arange(len(found)).sum())
    each = np.array([model.predict(X) for model in found])
    average = found.predict(X)
    np.testing.assert_allclose(average["mean"], found.weights() @ each)
    spread = np.sqrt(found.weights() @ (each - found.weights() @ each) ** 2)
    np.testing.assert_allclose(average["spread"], spread, atol=1e-12)
    coef = found.coef["mean"]
    line = coef.iloc[0] + X[:, [names.index(j) for j in coef.index[1:]]] @ coef.to_numpy()[1:]
    np.testing.assert_allclose(line, average["mean"])
    # minimal sets that meet every model, by the definition
    meets = [
        set(T)
        for size in range(1, 5)
        for T in combinations(range(8), size)
        if all(one & set(T) for one in sets)
    ]
    minimal = [T for T in meets if not any(other < T for other in meets)]
    assert {frozenset(T) for T in map(frozenset, minimal)} == {
        frozenset(names.index(j) for j in one) for one in found.substitutes
    }
    for name, row in found.importance.iterrows():
        j, worth = names.index(name), []
        models = every_model(X, y)
        for one in sets:
            T = tuple(sorted(one))
            left = tuple(sorted(one - {j}))
            worth.append((models[left] - models[T]) / min(models[tuple(sorted(s))] for s in sets))
        assert row.low == pytest.approx(min(worth), abs=1e-9)
        assert row.high == pytest.approx(max(worth), abs=1e-9)


def minus_twice_loglik(loss, X, y, T):
    """-2 loglik of the model of the columns T, by definition; for gamma with the best shape, for
    Tweedie's loss (by statsmodels) with the best dispersion.
    """
    signs = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    more = {"delta": 1.5} if loss == "tweedie" else {}
    _, beta, beta0 = oracles.restricted(X, signs, T, loss=loss, **more)
    eta = beta0 + X @ beta
    if loss == "tweedie":
        from statsmodels.genmod import families

        family = families.Tweedie(families.links.Log(), var_power=1.5)
        return optimize.minimize_scalar(
            lambda s: -2 * family.loglike(y, np.exp(eta), scale=np.exp(s)),
            bounds=(-5, 3), method="bounded", options={"xatol": 1e-10},
        ).fun  # fmt: skip
    if loss == "logistic":
        return 2 * np.logaddexp(0, -signs * eta).sum()
    if loss == "poisson":
        return -2 * stats.poisson.logpmf(y, np.exp(eta)).sum()
    by_shape = optimize.minimize_scalar(
        lambda nu: -2 * stats.gamma.logpdf(y, nu, scale=np.exp(eta) / nu).sum(),
        bounds=(1e-2, 1e3), method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    return by_shape.fun


@pytest.mark.parametrize(
    ("loss", "unit"),
    [
        ("logistic", 1.0),
        ("poisson", 1.0),
        ("poisson", 20.0),  # losses are below 0
        ("gamma", 1.0),
        ("gamma", 1e-3),
        ("tweedie", 1.0),
    ],
)
def test_other_likelihoods_are_compared_by_criteria_and_sizes(loss, unit):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 5)) + 0.5 * rng.standard_normal((60, 1))
    X[:, 4] = X[:, 0] + X[:, 1]
    mean = unit * np.exp(0.5 * X[:, 0] - 0.4 * X[:, 2])
    y = {
        "logistic": (rng.random(60) < mean / (1 + mean)).astype(int),
        "poisson": rng.poisson(mean),
        "gamma": rng.gamma(2.0, mean / 2.0),
        "tweedie": rng.gamma(2.0, mean) * rng.integers(0, 2, 60),
    }[loss]
    scaled = loss in ("gamma", "tweedie")
    table = {
        T: minus_twice_loglik(loss, X, y, T) for k in range(6) for T in combinations(range(5), k)
    }
    d = {T: len(T) + 1 + scaled for T in table}
    for name, each in (("aic", 2.0), ("bic", math.log(60))):
        values = {T: table[T] + each * d[T] for T in table}
        found = l0path.best_subset(X, y, loss=loss, criterion=name, n_best=6)
        assert found.proven and found.gap <= 1e-9 * abs(found.incumbent)
        mine = [values[tuple(model.support.tolist())] for model in found.best]
        assert mine == pytest.approx(sorted(values.values())[:6], abs=1e-6)
        assert found.incumbent == pytest.approx(min(values.values()), abs=1e-6)
        near = l0path.fit(X, y, loss=loss).near_best(criterion=name, within=2.5)
        assert near.complete and {tuple(model.support.tolist()) for model in near} == {
            T for T, value in values.items() if value <= min(values.values()) + 2.5
        }
    if not scaled:  # the deviance is -2 loglik less a constant
        least = 0.0
        if loss == "poisson":
            least = -2 * stats.poisson.logpmf(y, np.maximum(y, 1e-300)).sum()
        deviance = {T: value - least for T, value in table.items() if len(T) == 2}
        near = l0path.fit(X, y, loss=loss).near_best(2, within=0.05)
        assert near.complete and {tuple(model.support.tolist()) for model in near} == {
            T for T, value in deviance.items() if value <= 1.05 * min(deviance.values())
        }


@pytest.mark.parametrize("loss", ["quantile", "gamma", "tweedie"])
def test_more_models_are_asked_for_than_there_are(loss):
    X, y = instance("plain")
    y = y if loss == "quantile" else np.exp(0.3 * y)
    found = l0path.best_subset(X[:, :2], y, loss=loss, n_best=20)
    assert found.proven and len(found.best) == 4
    assert math.isfinite(found.lower_bound)


def test_criteria_of_other_losses_are_refused_where_they_mean_nothing():
    X, y = instance("plain")
    two = (y > 0).astype(int)
    with pytest.raises(ValueError, match="criterion='cp' is for a squared loss"):
        l0path.best_subset(X, two, loss="logistic", criterion="cp")
    with pytest.raises(ValueError, match="no log-likelihood"):
        l0path.best_subset(X, y, loss="huber")
    with pytest.raises(ValueError, match="lambda2=0"):
        l0path.fit(X, two, loss="logistic", lambda2=0.1).near_best(criterion="bic")
    apart = (X[:, 0] + X[:, 1] > 0).astype(int)
    with pytest.warns(l0path.errors.SeparationWarning):
        path = l0path.fit(X, apart, loss="logistic")
    assert not path.near_best(2).complete  # two columns have no finite optimum


def test_a_set_that_is_not_complete_says_so():
    X, y = instance("plain")
    found = l0path.fit(X, y).near_best(4, within=10.0, max_models=5)
    assert not found.complete and len(found) == 5 and "not complete" in repr(found)
    with pytest.raises(ValueError, match="all models were found: there are more than max_models=5"):
        found.substitutes  # noqa: B018


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
def test_columns_that_separate_the_classes_are_named():
    X, _ = instance("plain")
    y = (X[:, 3] > 0).astype(int)
    best = l0path.best_subset(X, y, loss="logistic", n_best=2)
    said = "separate the classes (such as x3)"
    assert best.status == "gap_not_closed" and said in best.assumptions[-1] and said in repr(best)
    found = l0path.fit(X, y, loss="logistic").near_best(1, within=0.5)
    assert not found.complete and said in found.reason and said in repr(found)
    with pytest.raises(ValueError, match="leave such features out with exclude="):
        found.substitutes  # noqa: B018
    assert l0path.best_subset(X, y, loss="logistic", exclude=["x3"]).proven
    counts = np.where(X[:, 3] > 0.5, 0, np.arange(40) % 3 + 1)
    low = np.c_[X[:, :3], X[:, 3] > 0.5]
    found = l0path.fit(low, counts, loss="poisson").near_best(1, within=0.5)
    assert "send the rates of some rows to zero (such as x3)" in found.reason


def test_terms_of_several_columns_that_keep_a_hierarchy_are_compared():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.standard_normal(60), "g": rng.choice(["u", "v", "w"], 60)})
    data["y"] = data.a + rng.standard_normal(60)
    found, values = l0path.fit("y ~ a*g", data).near_best(criterion="aic", within=1e6), {}
    for terms in ("a", "g", "a + g", "a*g"):
        alone = l0path.fit(f"y ~ {terms}", data, groups=False)
        values[terms] = alone.score_table().aic.iloc[-1]
        values[""] = alone.score_table().aic.iloc[0]
    assert found.complete and sorted(found.scores) == pytest.approx(sorted(values.values()))
    best = l0path.best_subset("y ~ a*g", data, criterion="aic")
    assert best.proven and best.incumbent == pytest.approx(min(values.values()))
    assert l0path.best_subset("y ~ a*g", data, groups=False, criterion="BIC").criterion == "bic"


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        ({}, {"k": 3, "criterion": "bic"}, "both k= and criterion="),
        ({}, {}, "neither k= nor criterion="),
        ({}, {"criterion": "mdl"}, "is not known; choose one of"),
        ({}, {"k": 99}, "a whole number from 0 to 8"),
        ({}, {"k": 2, "within": -1.0}, "within=-1.0"),
        ({}, {"k": 2, "max_models": 0}, "max_models=0"),
        ({"lambda1": 0.01}, {"k": 2}, "lambda1=0.01 shrinks .*; fit with lambda1=0"),
        ({"lower": 0.0}, {"k": 2}, "bounds on coefficients"),
        ({"lambda0": "grid"}, {"k": 2}, "fit without lambda0="),
        ({"loss": "huber", "lambda2": 0.1}, {"criterion": "bic"}, "lambda2=0"),
    ],
)
def test_what_is_not_served_says_why(options, more, said):
    X, y = instance("plain")
    with pytest.raises(ValueError, match=said):
        l0path.fit(X, y, **options).near_best(**more)


def test_a_time_limit_leaves_the_best_models_met_and_a_bound():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 60)) + rng.standard_normal((120, 1))
    y = X @ rng.choice([-1.0, 1.0], 60) + 5.0 * rng.standard_normal(120)
    path = l0path.fit(X, y, certify=False)
    found = path.certify(criterion="aic", time_limit=1e-3)
    assert found.status == "time_limit" and not found.proven and "time limit" in repr(found)
    assert found.lower_bound < found.incumbent <= path.score_table().aic.min() + 1e-9
    assert found.gap == pytest.approx(found.incumbent - found.lower_bound)
    assert not path.near_best(20, within=0.5, time_limit=1e-3).complete


def test_a_criterion_takes_no_selector():
    X, y = instance("plain")
    path = l0path.fit(X, y)
    for more in ({"k": 3}, {"box": 2.0}, {"node_limit": 5}):
        with pytest.raises(ValueError, match=f"{next(iter(more))}= has no meaning"):
            path.certify(criterion="bic", **more)
    with pytest.raises(ValueError, match="is not known"):
        path.certify(criterion="mdl")
    with pytest.raises(ValueError, match="n_best=0"):
        l0path.best_subset(X, y, n_best=0)


def test_models_that_fit_perfectly_are_equally_good():
    X = np.random.default_rng(2).normal(size=(50, 3))
    assert len(l0path.fit(X, 2.0 * X[:, 0]).near_best(k=1)) == 1
    for n in (20, 100):
        path = l0path.fit(np.random.default_rng(0).normal(size=(n, 3)), np.ones(n))
        every = path.near_best(k=1, within=0.5)
        assert every.complete and len(every) == 3


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
def test_where_no_model_has_a_finite_optimum_that_is_said():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y, held = (X[:, 0] > 0) * 1, [0]
    with pytest.raises(ValueError, match=r"no model .* has a finite optimum .*: features separate"):
        l0path.best_subset(X, y, loss="logistic", always_include=held)
    path = l0path.fit(X, y, loss="logistic", always_include=held)
    for asked in ({"k": 1}, {"criterion": "bic"}):
        with pytest.raises(
            ValueError, match=r"leave features out with exclude=, or fit with a ridge"
        ):
            path.near_best(**asked)


def test_what_is_not_compared_is_told_with_the_numbers_at_hand_and_a_remedy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 210))
    times = np.column_stack([rng.exponential(np.exp(-X[:, 3])), rng.random(50) < 0.7])
    events = int(times[:, 1].sum())
    cox = l0path.fit(X, times, loss="cox", lambda2=1e-2, max_k=1)
    with pytest.raises(ValueError, match=f"210 features and {events} events: leave .* exclude="):
        cox.near_best(k=1, within=0.01)
    classes = l0path.fit(
        X, X[:, 3] + rng.logistic(size=50) > 0, loss="logistic", lambda2=1e-2, max_k=1
    )
    with pytest.raises(ValueError, match=r"210 features and 50 rows") as told:
        classes.near_best(criterion="bic", within=1)
    assert "fit with lambda2=0. All models" in str(told.value)
    assert "near_best(k=), lambda2 > 0" in str(told.value)
    assert classes.near_best(k=1, within=0.01).complete  # as it says
    with pytest.raises(ValueError, match=r"at most 200 features, .* here are 210 features"):
        l0path.best_subset(X, X[:, 3] + rng.standard_normal(50), criterion="bic")


def test_values_of_nearly_perfect_models_are_those_of_their_rows():
    """Gram matrices left 4 digits of a residual sum of squares that is 1e-12 of y'y, and lists were
    complete with a least value that no model has.
    """
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 6))
    y = 1e6 * X[:, 0] + 0.3 * X[:, 2] + rng.standard_normal(40)
    path = l0path.fit(X, y)
    for k in (2, 3, 4):
        good = path.near_best(k=k, within=0.3)
        assert good.complete
        np.testing.assert_allclose(good.scores, [m.objective for m in good.models], rtol=1e-7)
        assert good.scores[0] == pytest.approx(path.model(k=k).objective, rel=1e-7)
        assert path.certify(k=k, n_best=3).proven
