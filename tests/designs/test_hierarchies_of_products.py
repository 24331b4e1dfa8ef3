"""Products and squares that enter with their columns only, under weights, offsets, bounds and
shrinkage: every size against all closed sets, by their definition from the names of the features.
"""

import itertools

import numpy as np
import oracles
import pytest
from asked import loss_with
from hierarchies import keeps, parts

import l0path
from l0path.designs import polynomial


def drawn(seed):
    """(X, y, arguments of `fit` but for the rule, those of the oracle)."""
    rng = np.random.default_rng(seed)
    n, p = 40, int(rng.integers(2, 4))
    X = rng.normal(size=(n, p))
    X[:, -1] = (X[:, -1], 2.0 * X[:, 0], X[:, 0] > 0, 1.0)[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
    loss = ("squared", "logistic", "poisson", "huber")[rng.integers(4)]
    eta = X[:, 0] * X[:, 1] + 0.5 * X[:, 0] ** 2 + 0.5 * rng.normal(size=n)
    y = eta if loss in ("squared", "huber") else np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0)
    y = rng.poisson(np.exp(0.4 * eta)).astype(float) if loss == "poisson" else y
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.4 else None
    offset = 0.2 * rng.normal(size=n) if rng.random() < 0.3 else None
    box = (np.inf, 0.5)[rng.integers(2)]
    shrinkage = {"lambda1": (0.0, 0.02)[rng.integers(2)], "lambda2": (0.0, 0.03)[rng.integers(2)]}
    if loss in ("logistic", "poisson"):
        shrinkage["lambda2"] = 0.03
    standardize = bool(rng.integers(2))
    shared = {"loss": loss, "standardize": standardize, "lower": -box, "upper": box, **shrinkage}
    ours = shared | {"sample_weight": weights, "offset": offset}
    ours["loss"] = loss_with(loss, delta=1.345)
    return X, y, ours, shared | {"weights": weights, "offset": offset}


def compared(seed):
    """(sizes, those above the enumerated optimum) of the search alone."""
    X, y, ours, oracle = drawn(seed)
    rule = ("strong", "weak")[seed % 2]
    design = polynomial(X, heredity=rule)
    names = list(design.names)
    F = design.columns(np.arange(len(names)))
    given = {"x1", "x2"} & {names[j] for j in range(X.shape[1]) if np.ptp(X[:, j]) == 0.0}
    usable = [j for j, name in enumerate(names) if not given & parts(name).keys()]
    best, among = {}, set()
    for k in range(len(usable) + 1):
        for S in itertools.combinations(usable, k):
            if keeps([*(names[j] for j in S), *given], names, rule):
                value = oracles.restricted(F, y, list(S), **oracle)[0]
                best[k] = min(best.get(k, np.inf), value)
                among.add(S)
    how = ours | {"max_k": len(usable)}
    path = l0path.fit(design, y, certify=bool(ours["lambda2"]), **how)
    proven = l0path.fit(design, y, algorithm="exact", **how)
    assert set(proven.details.optimality) == {"global"}
    for s in (*path._solutions, *proven._solutions):
        assert tuple(s.groups.tolist()) in among
        slack = 2e-7 * max(abs(best[s.k]), 1e-2)
        assert s.objective > best[s.k] - slack and not s.lower_bound > best[s.k] + slack
        assert s.optimality != "global" or s.objective < best[s.k] + slack
    above = [
        s for s in path._solutions if s.objective > best[s.k] + 2e-7 * max(abs(best[s.k]), 1e-2)
    ]
    return len(path), len(above)


@pytest.mark.parametrize("seed", range(3))
def test_every_size_is_the_best_of_all_closed_sets(seed):
    sizes, above = compared(seed)
    assert sizes > 2 and above == 0


@pytest.mark.parametrize("rule", ["strong", "weak"])
def test_a_product_is_found_whose_columns_alone_say_nothing(rule):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 12))
    y = X[:, 4] * X[:, 9] + 0.5 * rng.normal(size=120)
    path = l0path.fit(polynomial(X, heredity=rule), y, max_k=4)
    found = path.model(k=3 if rule == "strong" else 2).features
    assert "x4:x9" in found and {"x4", "x9"} & set(found)
    assert rule == "weak" or found == ["x4", "x9", "x4:x9"]


@pytest.mark.slow
def test_every_size_is_the_best_of_all_closed_sets_in_many_instances():
    sizes, above = np.sum([compared(seed) for seed in range(3, 100)], axis=0)
    assert sizes > 500 and above <= 0.01 * sizes
