"""The command line with several responses, with numbers of losses, and with groups."""

import numpy as np
import pandas as pd
import pytest
from command_line_runs import run

import l0path


@pytest.mark.parametrize("how", [("--response", "y,c"), ("--formula", "y + c ~ a + b + d")])
def test_several_responses_are_fitted_and_predicted(table, tmp_path, capsys, how):
    out, made = tmp_path / "o", tmp_path / "p.csv"
    given = ("fit", table, *how, "--k", 1, "--max-k", 1, "--no-plots", "--out", out)
    code, said, error = run(capsys, *given)
    assert code == 0, error
    assert "loss: squared (2 responses)" in said
    assert pd.read_csv(out / "chosen.csv", index_col=0).columns.tolist() == ["y", "c"]
    assert run(capsys, "predict", out / "path.npz", table, "--out", made)[0] == 0
    table = pd.read_csv(made, index_col="row")
    assert table.columns.tolist() == ["prediction of y", "prediction of c"]
    assert np.isfinite(table).all(axis=None)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_several_classes_or_counts_are_fitted_and_predicted(tmp_path, capsys, loss):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.standard_normal((80, 3)), columns=list("abc"))
    Y = pd.DataFrame({"u": rng.poisson(np.exp(X.a)), "v": rng.poisson(np.exp(X.b))})
    Y = Y if loss == "poisson" else (Y > 0).astype(int)
    table, out, made = tmp_path / "t.csv", tmp_path / "o", tmp_path / "p.csv"
    pd.concat([X, Y], axis=1).to_csv(table, index=False)
    given = ("fit", table, "--response", "u,v", "--loss", loss, "--k", 2, "--lambda2", 0.01)
    assert run(capsys, *given, "--no-plots", "--out", out)[0] == 0
    assert run(capsys, "predict", out / "path.npz", table, "--out", made)[0] == 0
    expected = l0path.fit(X, Y, loss=loss, lambda2=0.01).predict(X, k=2)
    found = pd.read_csv(made, index_col="row")
    assert found.columns.tolist() == ["prediction of u", "prediction of v"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


REFUSED = {
    "several quantiles": (["--response", "y,c", "--loss", "quantile"], "takes one response, and 2"),
    "text for several": (["--response", "sick,c", "--loss", "logistic"], "are 0 and 1, or False"),
    "a label of several": (
        ["--response", "y,c", "--loss", "logistic", "--pos-label", "1"],
        "is for one response",
    ),
    "an unknown one": (["--response", "y,zz"], "no column 'zz'"),
    "a loss of survival": (
        ["--response", "Surv(y, sick)", "--loss", "squared"],
        "--loss squared is not for survival times",
    ),
    "no criterion": (
        ["--response", "y", "--loss", "huber"],
        "loss huber has no likelihood, so that the default rule bic cannot choose the size; pass",
    ),
    "an unknown criterion": (["--response", "y", "--rule", "best"], "choose one of aic"),
    "a rule of folds": (["--response", "y", "--rule", "1se"], "min, sparse, 1se need --cv"),
    "another's number": (["--response", "y", "--power", "1.2"], "is for --loss tweedie"),
    "groups of a formula": (["--formula", "y ~ a", "--groups", "a,b"], "goes with --response"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_chosen_is_refused_before_the_fit(table, tmp_path, capsys, what):
    arguments, words = REFUSED[what]
    code, said, error = run(capsys, "fit", table, *arguments, "--out", tmp_path / "o")
    assert code == 2 and words in error and "<l0path.Path" not in said


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("1SE", "fewest coefficients within one standard error"),
        ("Sparse", "fewest coefficients within half a paired standard error"),
        ("BIC", "(bic)"),
    ],
)
def test_with_folds_a_score_or_a_criterion_chooses_among_the_rows(
    table, tmp_path, capsys, rule, said
):
    given = ("--formula", "y ~ a + c + color", "--cv", 3, "--rule", rule, "--no-plots")
    code, out, _ = run(capsys, "fit", table, *given, "--out", tmp_path / "o")
    assert code == 0 and said in out and "cv_mean" in out


def test_numbers_of_losses_and_groups_reach_the_fit(table, tmp_path, capsys):
    out = tmp_path / "o"
    given = ("--response", "y", "--drop", "sick", "--loss", "quantile", "--quantile", 0.8)
    groups = ("--groups", "a,b; color", "--k", 1, "--max-k", 1, "--no-plots", "--out", out)
    code, _, error = run(capsys, "fit", table, *given, *groups)
    assert code == 0, error
    path = l0path.load(out / "path.npz")
    assert path._loss_record().quantile == 0.8
    members = [sorted(np.array(path.names)[path._meta.groups.of(g)]) for g in range(2)]
    assert members == [["a", "b"], ["color_green", "color_red"]]


def test_folds_choose_a_ridge_and_a_mixture_unless_told(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    X, y = frame[list("abcde")], frame["y"]
    given = ("--response", "y", "--drop", "sick,color", "--cv", 3, "--no-plots")
    out = tmp_path / "o"
    code, said, error = run(capsys, "fit", table, *given, "--relax", "0, 0.25", "--out", out)
    assert code == 0, error
    keep = frame.dropna(subset=[*"abcde", "y"]).index
    cv = l0path.cv_fit(X.loc[keep], y.loc[keep], cv=3, random_state=0, relax=(0, 0.25))
    written = pd.read_csv(out / "table.csv", index_col="index")
    np.testing.assert_allclose(written.cv_mean, cv.scores.cv_mean)
    assert sorted(written.relax.unique()) == [0, 0.25, 1]
    details = cv.model().details
    shrunk = f"lambda2 = {details.lambda2:.4g}, relax = {details.relax:.4g}"
    assert f"chosen: k = {details.k}, {shrunk}" in said
    made = tmp_path / "p.csv"
    assert run(capsys, "predict", out / "path.npz", table, "--k", 2, "--out", made)[0] == 0
    predicted = pd.read_csv(made, index_col="row").loc[keep, "prediction"]
    np.testing.assert_allclose(predicted, cv.predict(X.loc[keep], k=2))
    code, said, _ = run(capsys, "fit", table, *given, "--lambda2", 0, "--out", tmp_path / "q")
    assert code == 0 and "relax" not in said
    assert (pd.read_csv(tmp_path / "q" / "table.csv").lambda2 == 0).all()


def test_shares_need_folds_and_are_numbers(table, tmp_path, capsys):
    given = ("fit", table, "--response", "y", "--drop", "sick", "--out", tmp_path / "o")
    for more, words in (
        (("--relax", "0,1"), "--relax belongs to cross-validation"),
        (("--cv", 3, "--relax", "half"), "--relax half must be numbers"),
        (("--cv", 3, "--relax", "2"), "--relax [2.0] must be shares"),
    ):
        code, _, error = run(capsys, *given, *more)
        assert code == 2 and words in error
