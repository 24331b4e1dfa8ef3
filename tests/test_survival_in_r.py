"""loss="cox" against stored values of R's package survival (data/make_survival_values.R)."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import l0path

FOLDER = Path(__file__).parent / "data"


@cache
def rows():
    return pd.read_csv(FOLDER / "survival_r.csv")


@cache
def values():
    table = pd.read_csv(FOLDER / "survival_r_values.csv")
    return {case: part.set_index("name")["value"] for case, part in table.groupby("case")}


def fitted(case):
    ties, model, weighted = case.split()
    left = "start, stop, event" if "late" in model else "stop, event"
    return l0path.fit(
        f"Surv({left}) ~ a + b + c",
        rows(),
        loss=l0path.losses.Cox(ties=ties),
        strata="ward" if "strata" in model else None,
        sample_weight="weight" if weighted == "weighted" else None,
        max_k=3,
        algorithm=l0path.solvers.LocalSearch(tol=1e-12),
    )


CASES = [
    f"{ties} {model} {weights}"
    for ties in ("efron", "breslow")
    for model in ("plain", "late", "strata", "late_strata")
    for weights in ("equal", "weighted")
]


@pytest.mark.parametrize("case", CASES)
def test_coefficients_and_likelihoods(case):
    path, expected = fitted(case), values()[case]
    assert path.coef(k=3).to_dict() == pytest.approx(expected[["a", "b", "c"]].to_dict(), abs=1e-6)
    weights = rows()["weight"] if "weighted" in case else pd.Series(np.ones(len(rows())))
    loglik = path.score_table()["loglik"].to_numpy()
    assert loglik[[0, -1]] == pytest.approx(expected[["loglik0", "loglik"]], abs=1e-6)
    kept = {"sample_weight": weights} | ({"strata": "ward"} if "strata" in case else {})
    for k, name in ((0, "loglik0"), (3, "loglik")):
        deviance = path.model(k=k).score(rows(), **kept)["deviance"]
        events = weights @ rows()["event"] / weights.mean()
        assert -deviance * events / 2 == pytest.approx(expected[name], abs=1e-6)
    found = path.model(k=3).score(rows(), **kept)["concordance"]
    assert found == pytest.approx(expected["concordance"], abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_baseline_hazards(case):
    path, three = fitted(case), rows().head(3)
    strata = {"strata": "ward"} if "strata" in case else {}
    found = (
        path.model(k=3)
        .survival(three, times=[2, 5, 9], **strata, type="cumulative_hazard")
        .to_numpy()
        .ravel()
    )
    expected = [values()[case][f"hazard {i} {t}"] for i in (1, 2, 3) for t in (2, 5, 9)]
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_concordance_of_uno():
    found = fitted("efron plain equal").model(k=3).score(rows())["concordance_uno"]
    assert found == pytest.approx(values()["uno"]["concordance"], abs=1e-9)


@pytest.mark.parametrize("case", ["curve equal", "curve weighted", "curve late"])
def test_curves_of_kaplan_and_meier(case):
    weights = rows()["weight"] if "weighted" in case else None
    columns = ["start", "stop", "event"] if "late" in case else ["stop", "event"]
    table, expected = l0path.plots.kaplan_meier(rows()[columns], weights), values()[case]
    parts = expected.index.str.split(" ", expand=True).set_names(["what", "time"])
    wide = expected.set_axis(parts).unstack("what")
    wide = wide.set_axis(wide.index.astype(float)).sort_index()
    assert table.index.to_numpy() == pytest.approx(wide.index.to_numpy())
    assert table["survival"].to_numpy() == pytest.approx(wide["survival"].to_numpy())
    if "late" not in case:
        known = table["low"].notna().to_numpy()
        assert known.sum() > 10
        for side in ("low", "high"):
            found = table[side].to_numpy()[known]
            assert found == pytest.approx(wide[side].to_numpy()[known], rel=1e-6)
