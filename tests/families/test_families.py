"""Families of responses: every size against enumeration with slow definitions of their own
(`oracles.FAMILIES`), bounds against the same, and statsmodels' coefficients and likelihoods.
"""

import numpy as np
import oracles
import pytest

import l0path
from l0path.solvers import LocalSearch

FAMILIES = tuple(oracles.FAMILIES)
NUMBER = {"negative_binomial": "theta", "tweedie": "power", "quantile": "quantile"}
GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6, "quantile": 0.3}
LARGEST = 3


def arguments(d):
    """The keywords of `l0path.fit` for an instance of a family."""
    out = oracles.fit_keywords(d)
    loss, number, _ = d["loss"], out.pop("delta"), out.pop("gamma")
    return out | ({NUMBER[loss]: number} if loss in NUMBER else {})


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", FAMILIES)
def test_a_hundred_instances(loss):
    total, above = run(loss, 110, 2)
    assert total >= 300 and above <= 0.01 * total
