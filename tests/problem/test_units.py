"""The units of a problem, columns or groups: which may be chosen, which every model has, what they
cost and which columns a set of them has, by their definitions.
"""

import numpy as np
import pytest

import l0path
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose

GROUPS = [[0, 1], [1, 2, 3], [4], [5, 6], [7]]


def posed(**options):
    """The problem of eight columns, of which column 5 is constant."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8))
    X[:, 5] = 2.0
    path = l0path.fit(X, X[:, 0] + rng.standard_normal(30), max_k=0, certify=False, **options)
    return pose(fit_data(path, None, None))


def defined(problem, always, never, groups):
    """(units that may be chosen, units of every model, columns of a set of units)."""
    usable = set(range(8)) - {5} - {j for g in never for j in groups[g]}
    of = [usable.intersection(columns) for columns in groups]
    free = [g for g, own in enumerate(of) if own and g not in (*always, *never)]
    held = [g for g in always if of[g]]
    return free, held, lambda units: sorted(set().union(*(of[g] for g in units)))


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize(("always", "never"), [([], []), ([4], []), ([3, 4], [2]), ([], [3])])
def test_units_are_those_of_their_definition(groups, always, never):
    units = [[j] for j in range(8)] if groups is None else groups
    factor = np.arange(1.0, len(units) + 1.0)
    factor[always], factor[never] = 0.0, np.inf
    problem = posed(groups=groups, penalty_factor=factor)
    free, held, columns = defined(problem, always, never, units)
    assert np.flatnonzero(problem.free_units).tolist() == free
    assert problem.units_to_choose == len(free)
    assert problem.held_units.tolist() == held
    assert problem.unit_factor.tolist() == factor.tolist()
    for chosen in ([], free[:1], free[::2], free):
        support = np.sort(np.array([*held, *chosen], dtype=np.int64))
        assert problem.columns_of(support).tolist() == columns(support)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_units_cost_alike_or_not(groups):
    count = 8 if groups is None else len(groups)
    factor = np.full(count, 2.0)
    assert posed(groups=groups, penalty_factor=factor).even_cost == pytest.approx(2.0)
    # what is in every model, or in none, does not count
    factor[2], factor[-1] = np.inf, 0.0
    assert posed(groups=groups, penalty_factor=factor).even_cost == pytest.approx(2.0)
    factor[1] = 1.0
    assert posed(groups=groups, penalty_factor=factor).even_cost is None
    factor[:] = np.inf
    assert posed(groups=groups, penalty_factor=factor).even_cost == 0.0
