"""Several responses of losses of rows in what users call beside `fit`: criteria, folds, tables."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path import losses

LOSSES = {
    "logistic": losses.Logistic,
    "poisson": losses.Poisson,
    "gamma": losses.Gamma,
    "negative_binomial": losses.NegativeBinomial,
    "tweedie": losses.Tweedie,
}
NUMBERS = {"negative_binomial": {"theta": 2.0}, "tweedie": {"power": 1.5}}


def drawn(loss, seed=0, n=60):
    """X (n, 4) and Y (n, 2), tables."""
    rng = np.random.default_rng([8, seed])
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    eta = np.column_stack([0.6 * X.a, 0.5 * X.b - 0.4 * X.a])
    if loss == "logistic":
        Y = (eta + rng.logistic(size=eta.shape) > 0).astype(float)
    elif loss == "gamma":
        Y = rng.gamma(2.0, np.exp(eta))
    else:
        Y = rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, eta.shape)).astype(float)
    return X, pd.DataFrame(Y, columns=["u", "v"])


@pytest.mark.parametrize("weights", [None, [0.5, 2.0]])
@pytest.mark.parametrize("loss", LOSSES)
def test_searches_by_a_criterion_find_the_best_of_all_supports(loss, weights):
    X, Y = drawn(loss)
    record = LOSSES[loss](response_weights=weights, **NUMBERS.get(loss, {}))
    path = l0path.fit(X, Y, loss=record)
    for name in ("aic", "bic"):
        values = {}
        for S in (S for k in range(5) for S in combinations(range(4), k)):
            # p_total as none of these is chosen
            one = l0path.fit(X, Y, loss=record, always_include=S, max_k=0)
            values[S] = one.score_table(p_total=4)[name].iloc[0]
        best = min(values, key=values.get)
        found = path.certify(criterion=name)
        assert found.proven and tuple(found.model.support) == best
        assert found.incumbent == pytest.approx(values[best], rel=1e-8)
        listed = path.near_best(criterion=name, within=6.0)
        expected = sorted(v for v in values.values() if v <= values[best] + 6.0)
        np.testing.assert_allclose(listed.table[name], expected, rtol=1e-8)
        assert path.model(name).support.tolist() == list(best)


def test_a_response_without_a_finite_intercept_in_a_fold_is_refused():
    X, Y = drawn("poisson")
    few = Y.assign(w=np.where(np.arange(60) == 3, 2.0, 0.0))
    with pytest.raises(ValueError, match="y is 0 in every row of this fit for w"):
        l0path.cv_fit(X, few, loss="poisson", cv=5, max_k=2, random_state=0)
    with pytest.raises(ValueError, match="zero in every training row, so loss='negative_binomial'"):
        l0path.cv_fit(X, few.w, loss=losses.NegativeBinomial(theta=1.0), cv=5, random_state=0)
    rare = (few > 0).assign(u=Y.u > 1, v=Y.v > 1)
    with pytest.raises(ValueError, match="y is 0 in every row of this fit for w"):
        l0path.cv_fit(X, rare, loss="logistic", cv=5, max_k=2, random_state=0)


def test_a_criterion_over_sets_of_terms_of_several_columns():
    X, Y = drawn("poisson")
    X = X.assign(g=np.array(list("xyz"))[np.arange(60) % 3])
    data, terms = pd.concat([X, Y], axis=1), ["a", "b", "d", "g"]
    values = {}
    for S in (S for k in range(1, 5) for S in combinations(terms, k)):
        one = l0path.fit("u + v ~ " + " + ".join(S), data=data, loss="poisson")
        values[S] = one.score_table().bic.iloc[-1]
    best = l0path.fit("u + v ~ a + b + d + g", data=data, loss="poisson").model("bic")
    assert tuple(best.groups) == min(values, key=values.get)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda Y: Y.set_axis(["u", "u"], axis=1), "several columns named 'u'; give each"),
        (lambda Y: Y > 0, "loss='logistic' takes False and True"),
    ],
)
def test_tables_that_are_refused_with_a_remedy(change, words):
    X, Y = drawn("poisson")
    with pytest.raises(ValueError, match=words):
        l0path.fit(X, change(Y), loss="poisson")
