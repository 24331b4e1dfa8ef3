"""sample_weight=, freq_weight= and trials= against stored values of R (data/make_weights_values.R),
and against repeated rows in statsmodels.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from asked import loss_with

import l0path

FOLDER = Path(__file__).parent.parent / "data"
NAMES = ["Intercept", "a", "b", "c"]
RESPONSES = {
    "squared": "number",
    "logistic": "class",
    "poisson": "count",
    "gamma": "amount",
    "binomial": "share",
    "ordinal": "level",
    "multinomial": "level",
    "negative_binomial": "spread",
    "quantile": "number",
}


@cache
def rows():
    return pd.read_csv(FOLDER / "weights_r.csv")


@cache
def values():
    table = pd.read_csv(FOLDER / "weights_r_values.csv")
    return {case: part.set_index("name")["value"] for case, part in table.groupby("case")}


def fitted(loss, **more):
    text = f"{RESPONSES[getattr(loss, 'name', loss)]} ~ a + b + c"
    exact = l0path.solvers.LocalSearch(tol=1e-12)
    return l0path.fit(text, rows(), **{"loss": loss, "max_k": 3, "algorithm": exact, **more})


def weights(case):
    """The arguments of a case."""
    kind = case.partition(" ")[2]
    given = {} if kind in ("copies", "trials") else {"sample_weight": "weight"}
    given |= {"freq_weight": "copies"} if kind in ("copies", "both") else {}
    return given | ({"trials": "trials"} if case.startswith("binomial") else {})


CASES = [
    *(
        f"{loss}{kind}"
        for loss in ("squared", "logistic", "poisson", "gamma")
        for kind in ("", " copies", " both")
    ),
    "binomial",
    "binomial trials",
]


@pytest.mark.parametrize("case", CASES)
def test_standard_errors_and_likelihoods_of_r(case):
    loss, expected = case.split()[0], values()[case]
    path = fitted(loss, **weights(case))
    results = path.model(k=3).refit()
    # R's steps for the gamma family end at 2e-8
    assert results.params.to_numpy() == pytest.approx(expected[NAMES].to_numpy(), abs=5e-8)
    robust = "sample_weight" in weights(case) and loss not in ("squared", "gamma")
    for kind, cov_type in (("se", "nonrobust"), ("robust", "HC0")):
        if loss == "gamma" and kind == "robust":
            continue  # R's bread is the expected information, statsmodels' the observed one
        errors = expected[[f"{kind} {name}" for name in NAMES]].to_numpy()
        found = path.model(k=3).refit(cov_type=cov_type)
        assert found.bse.to_numpy() == pytest.approx(errors, rel=1e-6)
        if (kind == "robust") == robust:  # the default
            assert results.bse.to_numpy() == pytest.approx(errors, rel=1e-6)
    assert ("pseudo-likelihood" in results.selection) == robust
    assert ("pseudo-likelihood" in "".join(path.notes)) == robust
    if loss != "gamma" and not np.isnan(expected["loglik"]):  # R takes another dispersion
        assert path.score_table()["loglik"].iloc[-1] == pytest.approx(expected["loglik"], abs=1e-7)
        assert results.llf == pytest.approx(expected["loglik"], abs=1e-7)


def test_likelihood_of_the_empty_model():
    table = fitted("squared", sample_weight="weight").score_table()
    assert table["loglik"].iloc[0] == pytest.approx(values()["squared"]["loglik0"], abs=1e-9)


@pytest.mark.parametrize("loss", ["ordinal", "multinomial", "negative_binomial", "quantile"])
def test_weights_where_statsmodels_has_none(loss):
    expected = values()[loss]
    path = fitted(loss_with(loss, theta=expected.get("theta")), sample_weight="weight")
    results = path.model(k=3).refit()
    if loss == "multinomial":
        for level in (0, 1):  # log odds against the first class
            r = expected[[f"{level + 2} {name}" for name in "abc"]].to_numpy()
            assert results.params.loc[list("abc")].iloc[:, level].to_numpy() == pytest.approx(
                r, abs=1e-5
            )
    else:
        r = expected[list("abc")].to_numpy()
        assert results.params[list("abc")].to_numpy() == pytest.approx(r, abs=1e-5)
    if loss == "ordinal":
        errors = expected[[f"robust {name}" for name in "abc"]].to_numpy()
        assert results.bse[list("abc")].to_numpy() == pytest.approx(errors, rel=1e-4)
    if loss != "quantile":
        assert results.llf == pytest.approx(expected["loglik"], abs=1e-6)
        loglik = path.score_table()["loglik"].iloc[-1]
        assert loglik == pytest.approx(expected["loglik"], abs=1e-6)
        assert results.cov_type == "HC0" and "pseudo-likelihood" in results.selection


@pytest.mark.parametrize("loss", ["ordinal", "multinomial", "negative_binomial"])
def test_the_sandwich_from_copies(loss):
    """Weights 1 and 2 in turn: a row of weight 2 is one cluster of two copies."""
    w = np.arange(len(rows())) % 2 + 1.0
    record = loss_with(loss, theta=2.0)
    results = fitted(record, sample_weight=w).model(k=3).refit()
    again = np.repeat(np.arange(len(w)), w.astype(int))
    data = rows().loc[again].reset_index(drop=True)
    plain = l0path.fit(f"{RESPONSES[loss]} ~ a + b + c", data, loss=record, max_k=3)
    model = plain.model(k=3).refit().model
    flat = np.asarray(results.params).ravel(order="F")
    scores = model.score_obs(flat)
    summed = pd.DataFrame(scores).groupby(again).sum().to_numpy()
    inverse = np.linalg.inv(model.hessian(flat))
    errors = np.sqrt(np.diag(inverse @ summed.T @ summed @ inverse))
    assert np.asarray(results.bse).ravel(order="F") == pytest.approx(errors, rel=2e-4)
