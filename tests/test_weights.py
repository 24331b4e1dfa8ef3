"""What weights mean: freq_weight is repeated rows, sample_weight has no scale and counts no rows,
trials are those of shares.
"""

import numpy as np
import pandas as pd
import pytest

import l0path

N, P = 60, 5
RNG = np.random.default_rng(36)
X = RNG.normal(size=(N, P))
ETA = X[:, 0] - X[:, 1]
COPIES = RNG.integers(0, 4, N)
AGAIN = np.repeat(np.arange(N), COPIES)
WEIGHTS = RNG.uniform(20, 90, N).round()
TRIALS = RNG.integers(1, 9, N)
SHARES = RNG.binomial(TRIALS, 1 / (1 + np.exp(-ETA))) / TRIALS
NOISY = ETA + RNG.normal(size=N)
Y = {
    "squared": NOISY,
    "logistic": (NOISY > 0).astype(int),
    "poisson": RNG.poisson(np.exp(0.5 * ETA)),
    "gamma": np.exp(NOISY),
    "tweedie": np.maximum(np.exp(NOISY) - 0.5, 0.0),
    "negative_binomial": RNG.poisson(np.exp(0.3 * NOISY)),
    "quantile": NOISY,
    "huber": NOISY,
    "multinomial": np.digitize(NOISY, [-1, 1]),
    "ordinal": np.digitize(NOISY, [-1, 1]),
    "cox": np.column_stack([np.ceil(3 * np.exp(NOISY)), RNG.random(N) < 0.7]),
    "binomial": np.column_stack([SHARES * TRIALS, TRIALS - SHARES * TRIALS]).round(),
}
LOSSES = {
    "negative_binomial": l0path.losses.NegativeBinomial(theta=2.0),
    "huber": l0path.losses.Huber(delta=1.0),
}
PSEUDO = ["logistic", "poisson", "multinomial", "ordinal", "cox", "binomial", "negative_binomial"]
FAST = ("squared", "logistic", "cox")


def some(losses):
    return [pytest.param(a, marks=() if a in FAST else pytest.mark.slow) for a in losses]


def fitted(loss, rows=slice(None), **more):
    return l0path.fit(X[rows], Y[loss][rows], loss=LOSSES.get(loss, loss), **more)


def at(given, rows):
    return {name: value[rows] for name, value in given.items()}


# -------------------- rows that stand for several


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", some(Y))
def test_all_results_are_those_of_the_repeated_rows(loss, weighted):
    given = {"sample_weight": WEIGHTS} if weighted else {}
    one = fitted(loss, freq_weight=COPIES, certify=True, **given)
    many = fitted(loss, AGAIN, certify=True, **at(given, AGAIN))
    events = Y[loss][:, -1] if loss == "cox" else np.ones(N)
    assert one._meta.n_eff == many._meta.n_eff == COPIES @ events
    assert one.details.optimality.tolist() == many.details.optimality.tolist()
    np.testing.assert_allclose(one.details.lower_bound, many.details.lower_bound, rtol=1e-7)
    np.testing.assert_allclose(one.details.objective, many.details.objective, rtol=1e-9)
    if loss != "huber":
        assert one.score_table().attrs["n"] == many.score_table().attrs["n"]
        np.testing.assert_allclose(one.score_table(), many.score_table(), rtol=1e-7, atol=1e-9)
        assert one.select("ebic") == many.select("ebic")
    if weighted and loss == "huber":
        return
    a, b = one.model(k=2).refit(), many.model(k=2).refit()
    np.testing.assert_allclose(a.params, b.params, atol=1e-6)
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6)
    if loss not in ("huber", "quantile"):
        assert a.llf == pytest.approx(b.llf, rel=1e-9)


def test_counts_are_the_freq_weights_of_statsmodels():
    import statsmodels.api as sm

    for loss, family in (("logistic", sm.families.Binomial()), ("poisson", sm.families.Poisson())):
        path = fitted(loss, freq_weight=COPIES)
        A = sm.add_constant(X[:, path.support(k=2)])
        known = sm.GLM(Y[loss], A, family=family, freq_weights=COPIES).fit(tol=1e-12)
        found = path.model(k=2).refit()
        np.testing.assert_allclose(found.params, known.params, atol=1e-8)
        np.testing.assert_allclose(found.bse, known.bse, rtol=1e-6)
        row = path.score_table().iloc[2]
        assert (row.loglik, row.aic) == pytest.approx((known.llf, known.aic), rel=1e-9)


def test_a_refit_of_too_many_rows_to_repeat(monkeypatch):
    path = fitted("squared", freq_weight=COPIES, sample_weight=WEIGHTS)
    known = path.model(k=2).refit()
    monkeypatch.setattr("l0path.inspection.refits.REPEAT", 10)
    found = path.model(k=2).refit()
    np.testing.assert_allclose(found.bse, known.bse, rtol=1e-9)
    np.testing.assert_allclose(found.pvalues, known.pvalues, rtol=1e-6)
    with pytest.raises(ValueError, match="a row for each that freq_weight counts"):
        path.model(k=2).refit(cov_type="HC0")
    with pytest.raises(ValueError, match="a row for each that freq_weight counts"):
        fitted("multinomial", freq_weight=COPIES, max_k=2).model(k=2).refit()


def test_the_largest_size_and_claims_count_copies():
    wide = np.random.default_rng(0).normal(size=(20, 30))
    y = wide[:, 0] + np.arange(20) % 3
    counts = np.arange(20) % 3
    one = l0path.fit(wide, y, freq_weight=counts)
    many = l0path.fit(np.repeat(wide, counts, axis=0), np.repeat(y, counts))
    assert one.details.k.max() == many.details.k.max()
    cv = l0path.cv_fit(X, NOISY, freq_weight=COPIES, max_k=2, cv=np.arange(N) % 3)
    every = l0path.cv_fit(X[AGAIN], NOISY[AGAIN], max_k=2, cv=AGAIN % 3)
    np.testing.assert_allclose(cv.folds, every.folds, rtol=1e-9)
    for _, test in l0path.cv_fit(
        X, NOISY, freq_weight=COPIES, max_k=1, cv=4, random_state=0
    ).splits:
        assert test.max() < N  # a fold holds rows, not copies


@pytest.mark.parametrize(
    "given, match",
    [
        ({"freq_weight": np.arange(N) / 2}, "no whole numbers >= 0.*sample_weight"),
        ({"freq_weight": np.arange(N) - 1}, "no whole numbers >= 0"),
        ({"freq_weight": np.zeros(N)}, "zero in every row"),
        ({"freq_weight": np.full(N, 2.0**52)}, "beyond the whole numbers"),
        ({"freq_weight": np.arange(N) % 2, "sample_weight": (np.arange(N) + 1) % 2}, "multiplied"),
        ({"freq_weight": np.ones(3)}, "freq_weight has shape"),
        ({"trials": TRIALS}, "trials= goes with shares"),
    ],
)
def test_weights_that_mean_nothing_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        l0path.fit(X, NOISY, **given)


# -------------------- weights of importance


@pytest.mark.parametrize("loss", some(Y))
def test_the_scale_of_weights_has_no_effect(loss):
    one = fitted(loss, sample_weight=WEIGHTS, max_k=4)
    events = Y[loss][:, -1] if loss == "cox" else np.ones(N)
    assert one._meta.n_eff == events.sum()
    for factor in (0.01, 1e3):
        other = fitted(loss, sample_weight=WEIGHTS * factor, max_k=4)
        np.testing.assert_allclose(other.details.objective, one.details.objective, rtol=1e-9)
        if loss != "huber":
            np.testing.assert_allclose(other.score_table(), one.score_table(), rtol=1e-7)
            np.testing.assert_allclose(
                other.model(k=2).refit().bse, one.model(k=2).refit().bse, rtol=1e-5
            )
    assert one._meta.pseudo == (loss in PSEUDO)
    assert ("pseudo-likelihood" in "".join(one.notes)) == (loss in PSEUDO)
    if loss != "huber":
        assert ("likelihood" in one.score_table().attrs) == (loss in PSEUDO)


@pytest.mark.parametrize("loss", some(Y))
def test_equal_weights_are_none_and_rows_of_weight_0_are_left_out(loss):
    plain, equal = fitted(loss, max_k=3), fitted(loss, max_k=3, sample_weight=np.full(N, 7.0))
    pd.testing.assert_frame_equal(equal.details, plain.details)
    told = [note for note in equal.notes if "smoothed" not in note]  # the loss of a quantile
    assert not told and not equal._meta.weighted
    kept = np.arange(N) % 4 > 0
    zeros = fitted(loss, max_k=3, sample_weight=np.where(kept, WEIGHTS, 0.0))
    few = fitted(loss, np.flatnonzero(kept), max_k=3, sample_weight=WEIGHTS[kept])
    assert zeros._meta.n_eff == few._meta.n_eff
    if loss != "huber":
        np.testing.assert_allclose(zeros.score_table(), few.score_table(), rtol=1e-7)


def test_whole_numbers_are_no_copies():
    path = fitted("squared", sample_weight=COPIES + 1)
    assert path._meta.n_eff == N and path.score_table().attrs["n"] == N
    import statsmodels.api as sm

    known = sm.WLS(NOISY, sm.add_constant(X[:, path.support(k=2)]), weights=COPIES + 1).fit()
    np.testing.assert_allclose(path.model(k=2).refit().bse, known.bse, rtol=1e-9)


# -------------------- trials, names of columns, files


def test_trials_of_shares_with_weights_and_copies():
    counts = fitted("binomial", sample_weight=WEIGHTS, freq_weight=COPIES, max_k=3)
    given = {"sample_weight": WEIGHTS, "freq_weight": COPIES, "trials": TRIALS}
    shares = l0path.fit(X, SHARES, loss="binomial", max_k=3, **given)
    np.testing.assert_allclose(shares.score_table(), counts.score_table(), rtol=1e-9)
    np.testing.assert_allclose(
        shares.model(k=2).refit().bse, counts.model(k=2).refit().bse, rtol=1e-6
    )
    np.testing.assert_allclose(
        shares.model(k=2).score(X, SHARES, **given),
        counts.model(k=2).score(X, Y["binomial"], **at(given, slice(None)) | {"trials": None}),
        rtol=1e-9,
    )
    with pytest.raises(ValueError, match="leave it out"):
        fitted("binomial", trials=TRIALS)
    with pytest.raises(ValueError, match="not all 0"):
        l0path.fit(X, SHARES, loss="binomial", trials=np.zeros(N))


def test_columns_of_a_table_are_named():
    data = pd.DataFrame(X, columns=list("abcde"))
    data = data.assign(w=WEIGHTS, copies=COPIES, trials=TRIALS, share=SHARES)
    names = {"sample_weight": "w", "freq_weight": "copies", "trials": "trials"}
    arrays = {"sample_weight": WEIGHTS, "freq_weight": COPIES, "trials": TRIALS}
    known = l0path.fit(data[list("abcde")], SHARES, loss="binomial", max_k=3, **arrays)
    table = l0path.fit(data.drop(columns="share"), SHARES, loss="binomial", max_k=3, **names)
    formula = l0path.fit("share ~ .", data, loss="binomial", max_k=3, **names)
    for path in (table, formula):
        assert path.p == 5
        np.testing.assert_allclose(path.score_table(), known.score_table(), rtol=1e-9)
    again = formula.model(k=2).refit(X=data, **names)
    np.testing.assert_allclose(again.bse, known.model(k=2).refit().bse, rtol=1e-6)
    scores = formula.model(k=2).score(data, **names)
    assert scores.deviance == pytest.approx(known.model(k=2).score(X, SHARES, **arrays).deviance)
    with pytest.raises(ValueError, match="freq_weight='none' names 0 columns"):
        l0path.fit(data, SHARES, freq_weight="none")


def test_a_loaded_path_asks_for_its_weights(tmp_path):
    data = pd.DataFrame(X, columns=list("abcde"))
    path = l0path.fit(data, NOISY, freq_weight=np.full(N, 2), max_k=2)
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    pd.testing.assert_frame_equal(loaded.score_table(sigma2=1.0), path.score_table(sigma2=1.0))
    assert loaded._meta.n_eff == 2 * N
    with pytest.raises(ValueError, match="pass freq_weight="):
        loaded.model(k=1).refit(X=data, y=NOISY)
    found = loaded.model(k=1).refit(X=data, y=NOISY, freq_weight=np.full(N, 2))
    np.testing.assert_allclose(found.bse, path.model(k=1).refit().bse)
    weighted = fitted("logistic", sample_weight=WEIGHTS, max_k=2)
    weighted.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz")._meta.pseudo


def test_the_command_line_takes_all_three(tmp_path, capsys):
    from l0path.__main__ import main

    data = pd.DataFrame(X, columns=list("abcde")).assign(y=NOISY, w=WEIGHTS, copies=COPIES)
    data.to_csv(tmp_path / "data.csv", index=False)
    given = ["--weights", "w", "--freq-weights", "copies", "--no-plots"]
    out = ["--out", str(tmp_path / "out"), "--response", "y", "--max-k", "3"]
    assert main(["fit", str(tmp_path / "data.csv"), *given, *out]) == 0
    table = l0path.load(tmp_path / "out" / "path.npz").score_table(sigma2=1.0)
    known = fitted("squared", sample_weight=WEIGHTS, freq_weight=COPIES, max_k=3)
    np.testing.assert_allclose(table, known.score_table(sigma2=1.0), rtol=1e-9)
    data = data.drop(columns="y").assign(s=SHARES, t=TRIALS)
    data.to_csv(tmp_path / "data.csv", index=False)
    given = ["--freq-weights", "copies", "--trials", "t", "--no-plots", "--drop", "w"]
    out = ["--out", str(tmp_path / "out"), "--response", "s", "--max-k", "3"]
    assert main(["fit", str(tmp_path / "data.csv"), "--loss", "binomial", *given, *out]) == 0
    table = l0path.load(tmp_path / "out" / "path.npz").score_table()
    known = fitted("binomial", freq_weight=COPIES, max_k=3)
    np.testing.assert_allclose(table, known.score_table(), rtol=1e-9)


# -------------------- procedures and estimators


def test_default_sizes_of_estimators_do_not_see_copies():
    wide = np.random.default_rng(1).normal(size=(16, 20))
    y = wide[:, 0] - wide[:, 1] + np.random.default_rng(2).normal(size=16)
    counts = 1 + np.arange(16) % 3
    again = np.repeat(np.arange(16), counts)
    folds = np.arange(16) % 3
    one = l0path.L0RegressorCV(
        cv=[(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    ).fit(wide, y, sample_weight=counts)
    many = l0path.L0RegressorCV(
        cv=[
            (np.flatnonzero(folds[again] != f), np.flatnonzero(folds[again] == f)) for f in range(3)
        ]
    )
    many.fit(wide[again], y[again])
    sizes = [path.table["k"].max() for path in (one.path_, many.path_)]
    assert sizes == [8, 8]  # half of the different rows
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-9)
    weighted = l0path.L0Equations().fit(wide, y, sample_weight=counts * 3.0)
    repeated = l0path.L0Equations().fit(wide[again], y[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)


def test_procedures_keep_rows_with_their_copies():
    how = {"freq_weight": COPIES, "max_k": 2, "random_state": 0}
    found = l0path.stability_selection(X, NOISY, n_subsamples=4, **how)
    assert set(found.selected) <= {"x0", "x1", "x2", "x3", "x4"}
    table = l0path.split_inference(X, Y["logistic"], loss="logistic", n_splits=2, k=1, **how)
    assert table.attrs["status"].startswith("complete")
    knocked = l0path.knockoff_filter(X, NOISY, kind="model", **how)
    assert knocked.knockoffs.shape == ((COPIES > 0).sum(), P)
    nested = l0path.nested_cv(X, NOISY, outer=3, cv=3, **how)
    assert len(nested) == 3


def test_sample_splitting_takes_weights_of_several_classes_and_counts():
    given = {"sample_weight": WEIGHTS, "n_splits": 2, "k": 1, "random_state": 1}
    for loss in ("multinomial", "negative_binomial", "quantile", "ordinal"):
        kind = LOSSES.get(loss, loss)
        table = l0path.split_inference(X, Y[loss], loss=kind, lambda2=0.01, **given)
        assert np.isfinite(table.p_value).all()


def test_held_out_tests_of_ordered_classes_have_the_errors_of_the_refit():
    from l0path.inspection import survival_refits as own

    path = fitted("ordinal", sample_weight=WEIGHTS, freq_weight=COPIES, max_k=2)
    data, S, seen = path._data(), path.support(k=2), COPIES > 0
    names = [data.names[j] for j in S]
    rows = own.CoupledRows(
        X[seen][:, S], names, data.y[seen], data.loss, data.weights[seen], data.counts[seen], None
    )
    found = own.maximum_likelihood(rows)
    errors = np.sqrt(np.diag(own.robust_covariance(rows, found)))
    np.testing.assert_allclose(errors, path.model(k=2).refit().bse[names], rtol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "cox"])
def test_a_column_of_rows_of_next_to_no_weight_has_its_optimum_too(loss):
    """Its coefficient tends to a limit with their weight, and so does its share of the loss to 0:
    it is found as well where that share is below what a loss can show.
    """
    rng = np.random.default_rng(2)
    n, few = 60, 12
    x = np.where(np.arange(n) < few, rng.normal(size=n), 0.0)
    times = rng.exponential(size=n) * np.exp(-x)
    y = {
        "logistic": (x + rng.logistic(size=n) > 0).astype(int),
        "poisson": rng.poisson(np.exp(x)),
        "cox": np.column_stack([times, np.ones(n)]),
    }[loss]
    found = []
    for light in (1e-8, 1e-12, 1e-14, 1e-16):
        w = np.where(np.arange(n) < few, light, 1.0)
        given = {"sample_weight": w, "always_include": [0], "max_k": 0, "certify": False}
        model = l0path.fit(x[:, None], y, loss=loss, **given).model(k=0)
        assert model.details["status"] == "converged"
        found.append(model.coef.to_numpy()[-1])
    np.testing.assert_allclose(found[1:], found[0], rtol=2e-6)
