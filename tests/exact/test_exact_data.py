"""Exact solving on real data, against enumeration by normal equations whose leaders are fitted
again by QR, and on many small random problems, where no bound may lie above the enumerated optimum.
"""

import itertools
import math
import warnings

import numpy as np
import oracles
import pandas as pd
import pytest

import l0path
from l0path.datasets import load_diabetes, load_growth, load_hitters, load_wdbc
from l0path.errors import ConvergenceWarning, SeparationWarning
from l0path.solvers import BranchAndBound

REL = 1e-9  # by which rounding may part two values of an optimum
LEADERS = 30  # supports of least value by normal equations that are fitted again by QR
BLOCK = 50_000  # supports at a time
SEARCHED = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")


def standardized(X, y, w):
    """(Z (n, p), c (n,)) with sum w Z = 0, sum w Z^2 = 1, sum w c = 0; w sums to one."""
    Z = X - w @ X
    return Z / np.sqrt(w @ Z**2), y - w @ y


def by_qr(Z, c, w, lambda2, support):
    """sum w (c - Z_S b)^2 / 2 + lambda2 ||b||^2 at its minimum, by QR of the rows sqrt(w) Z and
    sqrt(2 lambda2) I.
    """
    k = len(support)
    A = np.vstack([np.sqrt(w)[:, None] * Z[:, support], math.sqrt(2 * lambda2) * np.eye(k)])
    r = np.concatenate([np.sqrt(w) * c, np.zeros(k)])
    Q, _ = np.linalg.qr(A)
    return 0.5 * float(((r - Q @ (Q.T @ r)) ** 2).sum())


def best_by_enumeration(X, y, k, lambda2=0.0, weights=None, leaders=LEADERS):
    """[(value, support)] of the best supports of k columns, ascending, intercept and standardized
    columns: all supports by normal equations, the `leaders` first of these by QR.
    """
    w = np.full(len(y), 1.0 / len(y)) if weights is None else weights / weights.sum()
    Z, c = standardized(X, y, w)
    G, q = Z.T @ (w[:, None] * Z) + 2 * lambda2 * np.eye(X.shape[1]), Z.T @ (w * c)
    every, best = itertools.combinations(range(X.shape[1]), k), []
    while block := list(itertools.islice(every, BLOCK)):
        S = np.array(block)
        taken = q[S]
        gain = (
            taken * np.linalg.solve(G[S[:, :, None], S[:, None, :]], taken[:, :, None])[:, :, 0]
        ).sum(axis=1)
        first = np.argsort(-gain)[:leaders]
        best = sorted(best + [(-gain[i], block[i]) for i in first])[:leaders]
    return sorted((by_qr(Z, c, w, lambda2, list(support)), support) for _, support in best)


def check_size(path, k, best, n_best=5):
    """The certificate of a size, with its best models, against enumeration."""
    c = path.certify(k=k, n_best=n_best, time_limit=120)
    assert (
        c.lower_bound <= best[0][0] * (1 + REL)
        and c.proven
        and c.incumbent == pytest.approx(best[0][0], rel=REL)
    )
    np.testing.assert_allclose(
        [m.objective for m in c.best], [value for value, _ in best[:n_best]], rtol=1e-8
    )
    if best[1][0] > best[0][0] * (1 + 1e-6):
        assert tuple(c.model.support) == best[0][1]
        support = np.array(best[0][1])
        assert np.isin(c.fixed_in, support).all() and not np.isin(c.fixed_out, support).any()


def prostate(shared):
    """(X, y, train) as pandas objects."""
    file = shared / "data" / "prostate" / "prostate.csv"
    if not file.is_file():
        pytest.skip("no prostate data beside the project")
    table = pd.read_csv(file)
    return table.drop(columns=["lpsa", "train"]).astype(float), table.lpsa, table.train == 1


@pytest.mark.parametrize("lambda2", [0.0, 0.02])
def test_prostate_every_size(shared, lambda2):
    X, y = (part.to_numpy() for part in prostate(shared)[:2])
    path = l0path.fit(X, y, lambda2=lambda2, algorithm="exact")
    assert set(path.details.optimality) == {"global"}
    for k in range(1, 8):
        best = best_by_enumeration(X, y, k, lambda2, leaders=80)
        assert path.details.objective[k] == pytest.approx(best[0][0], rel=REL)
        check_size(path, k, best)


def test_prostate_best_subset_of_two_is_the_published_one(shared):
    """Table 3.3 of Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning:
    lcavol and lweight on the 67 training rows; their columns are standardized over all 97 rows.
    """
    X, y, train = prostate(shared)
    X = (X - X.mean()) / X.std(ddof=1)
    c = l0path.fit(X[train], y[train]).certify(k=2)
    assert c.proven and c.model.features == ["lcavol", "lweight"]
    np.testing.assert_allclose(c.model.coef, [2.477, 0.740, 0.316], atol=5e-4)


@pytest.mark.parametrize("lambda2", [0.0, 0.05])
def test_diabetes_every_size(lambda2):
    data = load_diabetes()
    X, y = data.X.to_numpy(), data.y.to_numpy(float)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for weights in (None, w):
        path = l0path.fit(X, y, lambda2=lambda2, sample_weight=weights)
        for k in range(1, 9):
            check_size(path, k, best_by_enumeration(X, y, k, lambda2, weights))


@pytest.mark.parametrize("lambda2", [0.0, 0.01])
def test_hitters_to_eight_columns(lambda2):
    data = load_hitters()
    X, y = data.X.to_numpy(), data.y.to_numpy(float)
    path = l0path.fit(X, y, lambda2=lambda2, max_k=8)
    for k in range(1, 9):
        check_size(path, k, best_by_enumeration(X, y, k, lambda2))


@pytest.mark.parametrize("lambda2", [0.0, 0.02])
def test_growth_all_columns_to_four(lambda2):
    data = load_growth()
    X, y = data.X.to_numpy(), data.y.to_numpy(float)
    path = l0path.fit(X, y, lambda2=lambda2, max_k=4)
    for k in range(1, 5):
        check_size(path, k, best_by_enumeration(X, y, k, lambda2))


@pytest.mark.parametrize("lambda2", [0.0, 0.02])
def test_growth_twenty_columns_to_eight(lambda2):
    data = load_growth()
    X, y = data.X.to_numpy()[:, ::2][:, :20], data.y.to_numpy(float)
    path = l0path.fit(X, y, lambda2=lambda2, max_k=8)
    for k in range(5, 9):
        check_size(path, k, best_by_enumeration(X, y, k, lambda2))


def test_prices_agree_with_sizes():
    """The best model at a price is the best of all sizes at that price: enumerated on the ten
    columns of diabetes.
    """
    data = load_diabetes()
    X, y = data.X.to_numpy(), data.y.to_numpy(float)
    best = [0.5 * float(y.var())] + [best_by_enumeration(X, y, k, 0.02)[0][0] for k in range(1, 11)]
    prices = np.geomspace(200.0, 0.5, 12)
    path = l0path.fit(X, y, lambda2=0.02, lambda0=list(prices), algorithm="exact", max_k=10)
    assert set(path.details.optimality) == {"global"} and len(path) == prices.size
    for row in path.details.itertuples():
        values = [value + row.lambda0 * k for k, value in enumerate(best)]
        assert row.objective == pytest.approx(min(values), rel=REL) and row.lower_bound <= min(
            values
        ) * (1 + REL)


def by_newton(Z, y, loss, lambda2):
    """mean loss + lambda2 ||b||^2 at its minimum over intercept and b, by Newton steps that are
    halved until they descend. Z (n, k) of mean 0 and variance 1, y -1 or 1.
    """
    A = np.column_stack([np.ones(len(y)), Z])
    ridge = np.append(0.0, np.full(Z.shape[1], lambda2))

    def parts(t):
        m = y * (A @ t)
        if loss == "logistic":
            q = 1 / (1 + np.exp(m))
            return np.logaddexp(0, -m).mean() + ridge @ t**2, -y * q, q * (1 - q)
        return (
            (np.maximum(0, 1 - m) ** 2).mean() + ridge @ t**2,
            -2 * y * np.maximum(0, 1 - m),
            2.0 * (m < 1),
        )

    t = np.zeros(A.shape[1])
    for _ in range(100):
        value, slope, curvature = parts(t)
        step = np.linalg.solve(
            A.T @ (curvature[:, None] * A) / len(y) + np.diag(2 * ridge),
            A.T @ slope / len(y) + 2 * ridge * t,
        )
        if np.abs(step).max() < 1e-10:
            return value
        while parts(t - step)[0] > value and np.abs(step).max() > 1e-12:
            step /= 2
        t = t - step
    raise RuntimeError(f"no convergence: last step {np.abs(step).max():.1e}")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_tumour_means_to_four_columns(loss):
    """The ten means of the breast tumours, with a ridge."""
    data = load_wdbc()
    X, y = data.X.to_numpy()[:, :10], np.where(data.y.to_numpy() == 1, 1.0, -1.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    path = l0path.fit(X, y, loss=loss, lambda2=0.01, max_k=4, algorithm="exact")
    assert set(path.details.optimality) == {"global"}
    for k in range(1, 5):
        best = min(
            (by_newton(Z[:, S], y, loss, 0.01), S) for S in itertools.combinations(range(10), k)
        )
        assert path.details.objective[k] == pytest.approx(
            best[0], rel=REL
        ) and path.details.lower_bound[k] <= best[0] * (1 + REL)
        assert tuple(path.support(k=k)) == best[1]


def values_of(table, forced, price=None, most=None):
    """{support: objective} of enumerated supports, at a price per column (p,), or of at most `most`
    unforced columns.
    """
    if price is not None:
        return {S: value + price[list(S)].sum() for S, (value, _) in table.items()}
    return {S: value for S, (value, _) in table.items() if len(S) <= most + len(forced)}


def check_bound(c, values, betas, gap):
    """A certificate, however far its search went, against all supports."""
    best = min(values.values())
    slack = REL * max(abs(best), 1e-12)
    assert c.incumbent >= best - slack
    if math.isfinite(c.gap):
        assert c.lower_bound <= best + slack
    for S, value in values.items():
        if value <= best + slack:
            nonzero = np.abs(betas[S][1]) > 1e-9
            assert nonzero[c.fixed_in].all() and not nonzero[c.fixed_out].any()
    if c.proven:
        assert c.gap <= gap and c.incumbent - best <= gap * abs(c.incumbent) + slack
    return int(c.nodes > 0), int(c.proven), int(math.isfinite(c.gap))


@pytest.mark.parametrize(
    ("count", "columns"),
    [
        (15, (4, 5)),
        pytest.param(100, (4, 5), marks=pytest.mark.slow),
        pytest.param(500, (5, 7), marks=pytest.mark.slow),
    ],
)
def test_no_bound_lies_above_the_enumerated_optimum(count, columns):
    """Every loss, sizes and prices, weights, offsets, boxes, forced columns, factors; searches that
    end at once, soon or with a proof.
    """
    searched = proven = bounded = 0
    for number, d in enumerate(
        oracles.instances(count, seed=1000 + count, losses=SEARCHED, columns=columns)
    ):
        rng = np.random.default_rng(number)
        table = oracles.every_support(
            d["X"], d["y"], forced=d["forced"], **oracles.restricted_keywords(d)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            how = oracles.fit_keywords(d) | {
                "algorithm": BranchAndBound(node_limit=2) if number % 3 == 0 else "swap"
            }
            sizes = l0path.fit(d["X"], d["y"], **how)
            price = l0path.fit(d["X"], d["y"], lambda0=[d["lambda0"]], **how)
        s = int(rng.integers(1, max(len(sizes) - 1, 2)))
        limits = {
            "node_limit": [1, 3, None][number % 3],
            "gap": float(rng.choice([1e-6, 0.01, 0.2])),
        }
        jobs = [(price, 0, values_of(table, d["forced"], price=d["lambda0"] * d["penalty_factor"]))]
        if s < len(sizes):
            jobs.append((sizes, s, values_of(table, d["forced"], most=sizes._solutions[s].k)))
        for path, index, values in jobs:
            if path._solutions[index].status == "converged":
                a, b, f = check_bound(
                    path.certify(index=index, time_limit=60, **limits), values, table, limits["gap"]
                )
                searched, proven, bounded = searched + a, proven + b, bounded + f
    assert (
        searched > count / 4 and proven > count / 3 and bounded > count
    )  # so that the checks above were about something
