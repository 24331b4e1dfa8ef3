"""Knockoffs for several responses, several and ordered classes, and survival times: what counts as
the importance of a column, what must not matter, and what is refused before X is read.
"""

import numpy as np
import pytest
from thinning import thinned
from unread import RESPONSES, Unreadable
from unread import drawn as few_rows

import l0path
from l0path.inference.knockoffs import threshold_of

KINDS = {
    "several": {},
    "multinomial": {"loss": "multinomial", "lambda2": 0.01},
    "ordinal": {"loss": "ordinal", "lambda2": 0.01},
    "cox": {"loss": "cox", "lambda2": 0.01},
}


def drawn(kind, n=90, p=5, true=2, seed=7, rho=0.0):
    """(X (n, p) of normal columns, of which the first ones matter, y)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    places = rng.permutation(p)[:true]
    signs = rng.choice([-1.0, 1.0], size=true)
    eta = X[:, places] @ signs
    if kind == "several":
        noise = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.7], [0.0, 1.0]])
        return X, np.column_stack([eta, X[:, places].sum(axis=1)]) / 2 + noise, places
    if kind == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.7]), places
    if kind == "multinomial":
        scores = np.column_stack([eta, X[:, places].sum(axis=1), np.zeros(n)])
        return X, (scores + rng.gumbel(size=(n, 3))).argmax(axis=1), places
    return X, np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0]), places


def statistic_of(X, y, **given):
    given = {"max_k": 4, "random_state": 3, "n_jobs": 1, **given}
    return l0path.knockoff_filter(X, y, **given).statistic.to_numpy()


@pytest.mark.parametrize(("statistic", "kind"), thinned(2, ["entry", "coefficient"], KINDS))
def test_statistics_are_those_of_the_path_over_pairs(kind, statistic):
    X, y, _ = drawn(kind)
    given = {**KINDS[kind], "statistic": statistic, "max_k": 4, "random_state": 3, "n_jobs": 1}
    if kind == "several":
        given["loss"] = l0path.losses.Squared(response_weights=[1.0, 4.0])
    result = l0path.knockoff_filter(X, y, **given)
    path, expected = result.path, []
    root = np.array([1.0, 2.0]) if kind == "several" else 1.0

    def importance(name):
        sizes, total = [], 0.0
        for k in path.details.k:
            b = np.asarray(path.coef(k=k, standardized=True, full=True).loc[name])
            sizes += [k] if np.any(b != 0) else []
            total += np.linalg.norm(root * b)
        return total if statistic == "coefficient" else 5 - min(sizes, default=5)

    for j in range(5):
        own, twin = importance(f"x{j}"), importance(f"~x{j}")
        expected.append(max(own, twin) * np.sign(own - twin))
    np.testing.assert_allclose(result.statistic, expected, rtol=1e-10)
    assert result.kind == ("fixed" if kind == "several" else "model")


@pytest.mark.parametrize("kind", ["fixed", "model"])
def test_a_rotation_of_the_responses_changes_nothing(kind):
    X, Y, _ = drawn("several")
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    given = {"kind": kind}
    W = statistic_of(X, Y, **given)
    np.testing.assert_allclose(statistic_of(X, Y @ Q, **given), W, rtol=1e-8)
    twice = statistic_of(X, np.column_stack([Y[:, 0], Y[:, 0]]), **given)
    np.testing.assert_allclose(twice, np.sqrt(2) * statistic_of(X, Y[:, 0], **given), rtol=1e-8)


def test_two_classes_are_those_of_the_logistic_loss():
    X, y, _ = drawn("ordinal")
    y = np.where(y > 0, "high", "low")
    one = statistic_of(X, y, loss="logistic", lambda2=0.01)
    many = statistic_of(X, y, loss="multinomial", lambda2=0.02)
    np.testing.assert_allclose(many, one / np.sqrt(2), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_weight_take_no_part(kind):
    X, y, _ = drawn(kind, n=60)
    w = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    given = {**KINDS[kind], "max_k": 3}
    every = statistic_of(X, y, sample_weight=w, **given)
    some = statistic_of(X[w > 0], y[w > 0], sample_weight=w[w > 0], **given)
    np.testing.assert_allclose(every, some, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", ["cox", "ordinal", "several"])
def test_constant_columns_do_not_compete(kind):
    X, y, _ = drawn(kind, n=60)
    given = {**KINDS[kind], "kind": "model"}
    given |= {"fit_intercept": False} if kind == "several" else {}
    W = statistic_of(np.column_stack([X, np.full(60, 5.0)]), y, **given)
    assert W[5] == 0.0 and W[:5].any()
    with pytest.raises(ValueError, match="no feature of X competes"):
        statistic_of(np.ones((60, 1)), y, **given)


@pytest.mark.parametrize("kind", ["multinomial", "ordinal", "cox", RESPONSES])
def test_what_is_not_served_is_refused_before_x_is_read(kind):
    given = {} if kind == RESPONSES else {"loss": kind}
    y = few_rows(kind)[1]
    if kind != RESPONSES:
        with pytest.raises(ValueError, match=f"kind='fixed' is not valid for loss='{kind}'"):
            l0path.knockoff_filter(Unreadable(), y, kind="fixed", **given)
    with pytest.raises(ValueError, match="groups= has no knockoffs"):
        l0path.knockoff_filter(Unreadable(), y, groups=[0, 0, 1, 1, 2, 2, 3, 3], **given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "knockoffs"),
    [
        ("several", 150, "fixed"),
        ("several", 150, "model"),
        ("multinomial", 300, "model"),
        ("ordinal", 200, "model"),
        ("cox", 200, "model"),
    ],
)
def test_false_discovery_rate(kind, n, knockoffs):
    p, true, levels = 40, 12, np.array([0.1, 0.2])
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    given = {**KINDS[kind], "kind": knockoffs, "max_k": 24}
    given |= {"covariance": covariance} if knockoffs == "model" else {}
    proportions, power = [], []
    for seed in range(100):
        X, y, places = drawn(kind, n, p, true, seed, 0.5)
        W = statistic_of(X, y, **given, random_state=seed)
        chosen = np.array([threshold_of(W, fdr) for fdr in levels])[:, None] <= W
        found = chosen[:, places].sum(axis=1)
        total = chosen.sum(axis=1)
        proportions.append((total - found) / np.maximum(total, 1))
        power.append(found / true)
    mean, error = np.mean(proportions, axis=0), np.std(proportions, axis=0, ddof=1) / 10
    assert (mean <= levels + 2 * error).all()
    assert np.mean(power, axis=0)[1] > 0.4
