"""Proofs and lower bounds of whole paths under losses that couple rows, of several classes and of
several responses: algorithm="exact" and certify=True, with columns and groups, against enumeration
by other solvers.
"""

import numpy as np
import pytest
from test_coupled_certificates import KINDS, enumerate_sets

import l0path
from l0path.problem.problem import pose
from l0path.relaxation.tangent_bounds import bound_by_tangents
from l0path.solvers import BranchAndBound

GROUPS = [[0, 1], [1, 2], [3], [4]]  # of columns; two of them share one
LAMBDA2 = {"multinomial": 0.05, "several": 0.02}  # else none
SEEDS = {"cox": 0, "multinomial": 1, "ordinal": 1, "several": 2}


def of_groups(values):
    """{set of numbers of groups: the least value of its columns}, for columns that vary."""
    known, out = set().union(*values), {}
    for number in range(2 ** len(GROUPS)):
        chosen = tuple(g for g in range(len(GROUPS)) if number >> g & 1)
        columns = set().union(*(GROUPS[g] for g in chosen)) & known
        out[chosen] = values[tuple(sorted(columns))]
    return out


def least_by_size(values, most):
    """[the least value of a set of at most k units, for k = 0 .. most]."""
    return [min(v for units, v in values.items() if len(units) <= k) for k in range(most + 1)]


def check(path, best, proven=True):
    """No row is better than the best, and no bound is above it; proven rows are the best ones."""
    for row in path.details.itertuples():
        least = best[row.k]
        if np.isfinite(row.lambda0):
            least = min(value + k * row.lambda0 for k, value in enumerate(best))
        assert row.objective >= least - 1e-8
        assert row.lower_bound <= least + 1e-9
        if row.optimality == "global":
            assert row.objective == pytest.approx(least, rel=2e-6)
    assert not proven or (path.details.optimality == "global").all()


def kinds(*slow):
    """All kinds, of which some are slow."""
    return [pytest.param(kind, marks=pytest.mark.slow if kind in slow else ()) for kind in KINDS]


@pytest.mark.parametrize("kind", kinds("ordinal"))
def test_paths_are_proven_or_bounded(kind):
    lambda2 = LAMBDA2.get(kind, 0.0)
    X, y, how, values = enumerate_sets(kind, SEEDS[kind], lambda2)
    for groups, sets in ((None, values), (GROUPS, of_groups(values))):
        best = least_by_size(sets, 4)
        for given in ({"algorithm": "exact"}, {"certify": True}):
            path = l0path.fit(X, y, groups=groups, max_k=3, **how, **given)
            assert len(path) == 4
            check(path, best)
        exact = {"algorithm": "exact", "lambda0": l0path.grid(n=4)}
        check(l0path.fit(X, y, groups=groups, **exact, **how), best)
    limited = l0path.fit(X, y, algorithm=BranchAndBound(node_limit=1), max_k=3, **how)
    check(limited, least_by_size(values, 3), proven=False)
    forced = l0path.fit(X, y, algorithm="exact", always_include=[2], max_k=2, **how)
    kept = [(S, value) for S, value in values.items() if 2 in S]
    if kept:  # the column is not a constant
        check(forced, least_by_size({S[1:]: value for S, value in kept}, 2))


@pytest.mark.parametrize("kind", kinds("cox", "ordinal"))
def test_tangents_bound_groups(kind):
    X, y, how, values = enumerate_sets(kind, SEEDS[kind], 0.3)
    for forced in ([], [3]):
        best = {g: v for g, v in of_groups(values).items() if not forced or 2 in g}
        best = least_by_size({tuple(set(g) - {2} if forced else g): v for g, v in best.items()}, 4)
        for grid in ({"max_k": 3}, {"lambda0": [0.1, 0.02, 1e-3]}):
            given = {"groups": GROUPS, "always_include": forced or None, "certify": False}
            path = l0path.fit(X, y, **given, **grid, **how)
            rows = list(path._solutions)
            assert bound_by_tangents(pose(path._source.data), rows, lambda: False) == []
            for s in rows:
                least = best[s.k]
                if np.isfinite(s.lambda0):
                    least = min(value + k * s.lambda0 for k, value in enumerate(best))
                assert s.lower_bound <= least + 1e-9
                assert s.lower_bound > 0.7 * least


def test_sizes_of_few_models_are_compared_where_no_search_serves():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 40)), np.arange(30) % 3
    for loss in ("multinomial", "ordinal"):
        path = l0path.fit(X, y, loss=loss, algorithm="exact", max_k=1)
        assert (path.details.optimality == "global").all() and not path.notes
