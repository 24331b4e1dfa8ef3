"""Moves of several groups at once: what the kernel foretells is what refits find."""

import itertools

import numpy as np
import pytest

from l0path.exchange import group_chains
from l0path.formula.hierarchy import hierarchy
from l0path.working_set.groups import GroupQuadratic

SIZES = (1, 2, 1, 3, 1, 2, 1)  # columns of the groups 0..6; group 5 needs 3 and 4, group 6 needs 5


def least(H, q, columns):
    """Least value of x'H x / 2 - q'x over the x on some columns."""
    return -0.5 * q[columns] @ np.linalg.solve(H[np.ix_(columns, columns)], q[columns])


@pytest.mark.parametrize("rule", ["strong", "weak"])
@pytest.mark.parametrize("seed", range(3))
def test_chains_are_foretold_as_refits_find_them(rule, seed):
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *SIZES])
    own = [np.arange(*pair) for pair in itertools.pairwise(ends)]
    X = rng.standard_normal((40, ends[-1])) + rng.standard_normal((40, 1))
    X[:, own[6][0]] = X[:, own[0][0]] * (1 + (seed == 2))  # nearly a combination of the fit
    H, q = X.T @ X, X.T @ rng.standard_normal(40)
    needs = np.zeros((7, 7), dtype=bool)
    needs[5, [3, 4]] = needs[1, 0] = True
    if rule == "strong":
        needs[6, 5] = True
    found = hierarchy(rule, needs)
    members = [0, 1, 2]
    inside = np.isin(np.arange(7), members)
    at = np.concatenate([own[g] for g in members])
    B = np.linalg.inv(H[np.ix_(at, at)])
    quadratic = GroupQuadratic(at, ends[:4].copy(), np.array(members), B, (B @ q[at])[None])
    chains = found.chains(np.array([3, 5, 6]), inside, np.ones(7, dtype=bool))
    ids = np.concatenate(chains)
    first = np.cumsum([0, *(chain.size for chain in chains)])
    J = np.arange(ends[3], ends[-1])
    rows = H[np.ix_(J, at)]
    growth = group_chains.Growth(
        rows, rows @ B, (q[J] - rows @ quadratic.b[0])[None], H[np.ix_(J, J)]
    )
    places = [np.concatenate([own[g] - ends[3] for g in chain]) for chain in chains]
    starts = np.cumsum([0, *(place.size for place in places)])
    values = np.full((len(chains), max(chain.size for chain in chains) + 1), np.nan)
    group_chains.foretell(
        quadratic,
        growth,
        group_chains.Chains(ids, first, np.concatenate(places), starts),
        group_chains.Present(inside, found.needs, rule == "strong"),
        2,
        values,
    )
    begin = least(H, q, at)
    for chain, row in zip(chains, values, strict=True):
        if 6 in chain:
            assert (row == -np.inf).all()
            continue
        now = inside.copy()
        now[chain] = True
        assert row[0] == pytest.approx(
            least(H, q, np.concatenate([own[g] for g in np.flatnonzero(now)])) - begin, rel=1e-9
        )
        for value in row[1 : chain.size + 1]:
            best, loss = -1, np.inf
            for g in np.flatnonzero(found.removable(now) & inside):
                rest = np.flatnonzero(now & (np.arange(7) != g))
                after = least(H, q, np.concatenate([own[h] for h in rest])) if rest.size else 0.0
                best, loss = (g, after) if after < loss else (best, loss)
            assert value == pytest.approx(loss - begin, rel=1e-9)
            if best >= 0:
                now[best] = False
        assert (row[chain.size + 1 :] == np.inf).all()
