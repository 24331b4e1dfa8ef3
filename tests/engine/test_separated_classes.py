"""Columns that separate the classes, what ends there, and what is no separation."""

import warnings

import numpy as np
import oracles
import pytest
from asked import loss_with
from scipy.special import expit
from separated_infima import every_infimum
from small_data import N, X
from thinning import thinned

import l0path
from l0path.errors import SeparationWarning

SEPARATED = {
    "complete": (X[:, [0, 1]], np.where(X[:, 0] > 0, 1, -1)),
    "by two": (X[:, :2], np.where(X[:, 0] + X[:, 1] > 0, 1, -1)),
    "touching": (
        np.column_stack([np.r_[np.linspace(-2, 0, 20), np.linspace(0, 2, 20)], X[:, 1]]),
        np.repeat([-1, 1], 20),
    ),
    "one group": (
        np.column_stack([np.arange(N) < 8, X[:, 1]]),
        np.where(np.arange(N) < 8, 1, np.where(X[:, 3] > 0, 1, -1)),
    ),
}


@pytest.mark.parametrize("name", SEPARATED)
def test_a_separated_support_ends_the_path(name):
    """Flagged at its infimum, one warning, the remedy in the status; shrinkage or a box has an
    optimum.
    """
    A, y = SEPARATED[name]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        path = l0path.fit(A, y, loss="logistic")
    assert [w.category for w in seen] == [SeparationWarning]
    last = path.details.iloc[-1]
    assert last["status"] == "separated" and "separated" in last["flags"]
    assert "lambda2=1e-3" in path.status
    for s in path._solutions:
        assert oracles.separated(A[:, s.support], y) == ("separated" in s.flags)
    want = every_infimum("logistic", A, y.astype(float))
    for s in path._solutions:
        assert s.loss == pytest.approx(want[tuple(s.support)], abs=1e-8)
        assert s.loss == pytest.approx(
            min(value for S, value in want.items() if len(S) == s.k), abs=1e-8
        )
    assert path._end == ("separated" if last.loss < 1e-9 else "complete")
    assert l0path.fit(A, y, loss="logistic", lambda2=1e-3).details.k.max() == 2
    boxed = l0path.fit(A, y, loss="logistic", lower=-3, upper=3)
    assert boxed.details.k.max() == 2 and not boxed.details["flags"].str.contains("separated").any()


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge", "hinge"])
def test_hinges_fit_separated_classes_perfectly(loss):
    A, y = SEPARATED["complete"]
    path = l0path.fit(A, y, loss=loss, **({"algorithm": "exact"} if loss == "hinge" else {}))
    last = path.model(k=1)
    assert path.details.k.tolist() == [0, 1] and last.objective <= 1e-12
    assert last.details["status"] == "converged" and "separated" not in last.details["flags"]
    assert path.status == "complete: k = 0..1" and "perfect" in " ".join(path.notes)


def test_a_bound_in_the_way_of_separation_is_respected():
    x = np.repeat([-1.0, 1.0], 20)
    path = l0path.fit(np.column_stack([x, X[:, 0]]), x, loss="logistic", upper=[0.5, np.inf])
    assert (
        path.details.k.tolist() == [0, 1, 2]
        and path.coef(k=2)["x0"] == pytest.approx(0.5)
        and (path.details.status == "converged").all()
    )
    with pytest.warns(SeparationWarning):
        free = l0path.fit(np.column_stack([x, X[:, 0]]), x, loss="logistic", lower=[0, -np.inf])
    assert free.details.k.tolist() == [0, 1] and free.coef(k=1)["x0"] == pytest.approx(30, rel=1e-6)


def test_an_offset_that_predicts_the_classes_is_no_separation():
    y = np.where(np.random.default_rng(8).random(N) > 0.5, 1, -1)
    path = l0path.fit(X[:, :3], y, loss="logistic", offset=4.0 * y)
    for k, (value, support) in oracles.best_subsets(
        X[:, :3], y, 3, loss="logistic", offset=4.0 * y
    ).items():
        assert (
            path.model(k=k).objective == pytest.approx(value, rel=1e-9)
            and tuple(path.support(k=k)) == support
        )
    assert (path.details.status == "converged").all()


def test_heavy_tails_are_no_separation():
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.normal(size=80), [1e3, -1e3, 2e3]])
    y = np.where(rng.random(83) < expit(2 * x), 1, -1)
    assert not oracles.separated(x[:, None], y)
    path = l0path.fit(x[:, None], y, loss="logistic")
    assert (path.details.status == "converged").all() and np.abs(
        path.predict(x[:, None], k=1, type="link")
    ).max() > 1000
    assert path.model(k=1).objective == pytest.approx(
        oracles.restricted(x[:, None], y, [0], loss="logistic")[0], rel=1e-9
    )


@pytest.mark.parametrize(
    ("n", "scale", "intercept"), thinned(2, [16, 10_000], [1.0, 1e6, 1e-6], [True, False])
)
def test_separation_of_some_rows_is_found_in_any_unit_and_number_of_rows(n, scale, intercept):
    """One level of a factor has one class, or no counts, alone: the loss of its rows falls to 0 for
    ever, that of the others has its optimum.
    """
    level = np.arange(n) < 4
    y = np.where(level, 1, np.arange(n) % 2)
    with pytest.warns(SeparationWarning, match="separate the classes"):
        path = l0path.fit(
            scale * level[:, None], y, loss="logistic", fit_intercept=intercept, standardize=False
        )
    last = path.model(index=-1)
    assert last.k == 1 and last.details["status"] == "separated" and last.optimality == "global"
    assert last.objective == pytest.approx(np.log(2) * (n - 4) / n, rel=1e-10)
    with pytest.warns(SeparationWarning, match="rates"):
        counts = l0path.fit(
            scale * level[:, None],
            np.where(level, 0, 1 + np.arange(n) % 2),
            loss="poisson",
            fit_intercept=intercept,
            standardize=False,
        )
    assert counts.details.status.tolist() == ["converged", "separated"]


@pytest.mark.parametrize(
    "loss", ["logistic", "poisson", "squared_hinge", "smoothed_hinge", "huber"]
)
def test_columns_of_very_different_units_need_no_standardization(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    eta = 0.3 + X @ [1, -1, 0.5]
    y = (
        np.where(eta + rng.logistic(size=200) > 0, 1.0, -1.0)
        if loss in oracles.CLASSES
        else rng.poisson(np.exp(0.4 * eta)) * 1.0
        if loss == "poisson"
        else eta + rng.standard_t(2, size=200)
    )
    value, beta, intercept = oracles.restricted(X, y, range(3), loss=loss, standardize=False)
    units = np.array([1e5, 1e-5, 1.0])
    model = l0path.fit(X * units, y, loss=loss_with(loss, delta=1.345), standardize=False).model(
        k=3
    )
    assert model.details["converged"] and model.objective == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(model.coef.to_numpy()[1:] * units, beta, rtol=1e-7)
    assert model.intercept == pytest.approx(intercept, abs=1e-7)


def test_curvature_that_rounding_hides_is_no_separation():
    """Ten genes and shuffled labels: the optimum is far out, where hardly a row is curved, but it
    is one.
    """
    data = l0path.datasets.load_srbct()
    rng = np.random.default_rng(5)
    y = [rng.permutation(np.where(data.y == "EWS", 1, -1)) for _ in range(9)][-1]
    A = data.X.to_numpy()[:, [207, 728, 836, 1112, 1137, 1271, 1375, 2111, 2180, 2239]]
    assert not oracles.separated(A, y)
    path = l0path.fit(A, y, loss="logistic", always_include=range(10), max_k=0)
    model = path.model(index=0)
    eta = model.predict(A, type="link")
    slopes = y / (1.0 + np.exp(y * eta))
    assert (
        "separated" not in model.details["flags"]
        and model.loss < 0.021
        and np.abs(np.column_stack([np.ones(len(y)), A / A.std(axis=0)]).T @ slopes).max() < 1e-6
    )


@pytest.mark.parametrize(
    ("n", "p", "k", "seed"), [(80, 400, 4, 3), (100, 300, 6, 3), (100, 300, 6, 4), (120, 600, 8, 0)]
)
def test_separated_supports_come_before_others(n, p, k, seed):
    """A support whose loss falls to zero is the best of its size, however large the loss where its
    coefficients stop.
    """
    s = l0path.simulate.logistic(
        n, p, k, scale=1000, random_state=seed, correlation="constant", rho=0.3
    )
    with pytest.warns(SeparationWarning):
        path = l0path.fit(s.X, s.y, loss="logistic", max_k=n // 3)
    found = path.details[path.details.status == "converged"]
    assert (
        (np.diff(found.loss) < 0).all()
        and len(found) == len(path) - 1
        and path.status.startswith(f"ended at k = {len(path) - 1}")
    )
    assert oracles.separated(
        s.X[:, path.support(index=-1)], np.where(s.y == path.classes[1], 1, -1)
    )


def test_equal_forced_columns_are_no_separation():
    path = l0path.fit(
        np.column_stack([X, X[:, 0]]),
        np.where(X[:, 3] + np.sin(9 * X[:, 1]) > 0, 1, -1),
        loss="logistic",
        always_include=[0, 5],
        max_k=3,
    )
    assert (path.details.status == "converged").all()


@pytest.mark.parametrize(
    ("loss", "seed"),
    [("logistic", 350), ("poisson", 70), ("tweedie", 33), ("negative_binomial", 89)],
)
def test_a_separated_column_found_last_leaves_the_larger_sizes(loss, seed):
    """Rare dummies with an offset: that one column alone is separated is found when all single
    columns are compared, after larger sizes were fitted.
    """
    X, y, options = rare_dummies(loss, seed)
    options = {"loss": loss, **options}
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, max_k=X.shape[1], certify=False, **options)
    one = path.model(k=1)
    assert one.details["status"] == "separated"
    alone = {"always_include": one.support.tolist()}
    with pytest.warns(SeparationWarning):
        again = l0path.fit(X, y, max_k=0, **(options | alone))
    assert again.model(k=0).details["status"] == "separated"
    assert path.details.k.tolist() == list(range(len(path))) and path._end == "complete"
    assert (np.diff(path.details.loss) <= 1e-10).all()


def rare_dummies(loss, seed):
    """(X, y, options) of seeds at which sizes that a separation had removed were asked for."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(15, 40)), int(rng.integers(4, 8))
    X = (rng.random((n, p)) < rng.choice([0.05, 0.1, 0.2, 0.5], p)) * 1.0
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    options = {}
    if loss == "logistic":
        if rng.random() < 0.6:
            options["offset"] = rng.standard_normal(n) * 0.5
        if rng.random() < 0.6:
            options["always_include"] = [int(rng.integers(p))]
        return X, y, options
    options["offset"] = rng.standard_normal(n) * 0.5
    if rng.random() < 0.3:
        options["always_include"] = [int(rng.integers(p))]
    if loss == "negative_binomial":
        options["loss"] = l0path.losses.NegativeBinomial(theta=1.5)
    y = np.random.default_rng(seed + 1).poisson(1, n) * y
    y[1] += 1
    return X, y, options
