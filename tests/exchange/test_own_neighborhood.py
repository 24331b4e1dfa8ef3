"""A neighborhood of one's own: one class, named by one settings record."""

from itertools import combinations

import numpy as np
import pytest
from oracles import best_subsets

import l0path
from l0path.exchange.neighborhoods.refit import RefitNeighborhood


class ElasticNeighborhood(RefitNeighborhood):
    """Swaps; where none improves, two columns leave and the two that fit best take their place."""

    def swap(self, fit, thorough=False):
        best = super().swap(fit, thorough)
        for pair in combinations(best.support[~self.model.problem.locked(best.support)], 2):
            new = self.without(best, pair)
            for _ in pair:
                new = new and self.add(new, polish=False)
            if new is not None and new.value < best.value - self._tolerance(best.value):
                return self.swap(new, thorough)
        return best


class Elastic(l0path.solvers.LocalSearch):
    neighborhood = ElasticNeighborhood


def test_it_finds_optima_that_single_swaps_miss():
    missed = {"usual": 0, "elastic": 0}
    for seed in (3, 19):
        data = l0path.simulate.linear(
            24, 10, 6, rho=0.8, correlation="constant", snr=20, random_state=seed
        )
        optimum = np.array([value for value, _ in best_subsets(data.X, data.y, 5).values()])
        for name, kind in (("usual", l0path.solvers.LocalSearch), ("elastic", Elastic)):
            settings = kind(effort="fast")
            path = l0path.fit(data.X, data.y, max_k=5, algorithm=settings, certify=False)
            missed[name] += int((path.details.loss > optimum * (1 + 1e-9)).sum())
    assert missed == {"usual": 3, "elastic": 0}


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_it_claims_holds(loss):
    data = l0path.simulate.linear(40, 6, 2, random_state=3)
    y = data.y if loss == "squared" else data.y > np.median(data.y)
    same = {"loss": loss, "lambda2": 1e-2, "max_k": 3, "certify": False}
    path = l0path.fit(data.X, y, algorithm=Elastic(), **same)
    usual = l0path.fit(data.X, y, **same)
    np.testing.assert_allclose(path.details.objective, usual.details.objective, rtol=1e-7)
    assert path.details.optimality.tolist() == usual.details.optimality.tolist()


def test_groups_and_several_responses_are_refused():
    data = l0path.simulate.linear(30, 4, 2, random_state=0)
    with pytest.raises(ValueError, match=r"groups= needs algorithm='swap'"):
        l0path.fit(data.X, data.y, groups=[0, 0, 1, 1], algorithm=Elastic())
    with pytest.raises(ValueError, match="algorithm="):
        l0path.fit(data.X, np.column_stack([data.y, data.y]), algorithm=Elastic())
