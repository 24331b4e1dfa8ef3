"""The command line on survival times."""

import numpy as np
import pandas as pd
import pytest
from command_line_runs import run

import l0path


@pytest.fixture
def survival_table(tmp_path):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.standard_normal((90, 4)).round(2), columns=list("abcd"))
    X["ward"] = rng.choice(["east", "west"], 90)
    life, censored = rng.exponential(np.exp(X.a - X.c)), rng.exponential(3, 90)
    X["time"], X["died"] = np.minimum(life, censored).round(3) + 0.001, (life <= censored) * 1
    file = tmp_path / "survival.csv"
    X.to_csv(file, index=False)
    return file, X


def test_survival_times(survival_table, tmp_path, capsys):
    file, data = survival_table
    out = tmp_path / "out"
    code, said, error = run(
        capsys,
        *("fit", file, "--response", "Surv(time, died)", "--strata", "ward", "--max-k", 3),
        *("--cv", 3, "--scoring", "concordance", "--rule", "1se", "--lambda2", 0, "--out", out),
    )
    assert code == 0, error
    assert "loss: cox" in said and "survival.png" in said
    assert (out / "survival.png").stat().st_size > 5000
    path = l0path.fit(
        data[list("abcd")],
        data[["time", "died"]],
        loss="cox",
        strata=data["ward"],
        max_k=3,
    )
    stored = l0path.load(out / "path.npz")
    assert stored.coef(k=2).to_numpy() == pytest.approx(path.coef(k=2).to_numpy())
    predicted = tmp_path / "p.csv"
    code, _, error = run(
        capsys,
        *("predict", out / "path.npz", file, "--k", 2, "--times", "0.5,1", "--out", predicted),
    )
    assert code == 0, error
    table = pd.read_csv(predicted, index_col="row")
    eta = path.predict(data[list("abcd")], k=2)
    assert table["linear predictor"].to_numpy() == pytest.approx(eta.to_numpy())
    curves = path.model(k=2).survival(data[list("abcd")], times=[0.5, 1], strata=data["ward"])
    assert table[["survival at 0.5", "survival at 1"]].to_numpy() == pytest.approx(curves)


def test_survival_times_by_a_formula(survival_table, tmp_path, capsys):
    file, data = survival_table
    code, said, error = run(
        capsys,
        *("fit", file, "--formula", "Surv(time, died) ~ a + b + c", "--max-k", 2, "--no-plots"),
        *("--out", tmp_path / "out", "--certify", 20),
    )
    assert code == 0 and "proven optimal" in said, error
    path = l0path.fit(data[list("abc")], data[["time", "died"]], loss="cox", max_k=2)
    found = l0path.load(tmp_path / "out" / "path.npz").details["loss"]
    assert found.to_numpy() == pytest.approx(path.details["loss"].to_numpy())


def test_what_survival_times_lack_is_said_before_the_file_is_read(survival_table, capsys):
    file, _ = survival_table
    assert (
        "--strata is for survival"
        in run(capsys, "fit", "no.csv", "--response", "time", "--strata", "ward")[2]
    )
    given = ("fit", file, "--response", "Surv(time, dead)")
    assert "there is no column 'dead'" in run(capsys, *given)[2]
