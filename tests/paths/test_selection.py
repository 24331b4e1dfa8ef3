"""Criteria of a path against statsmodels, against formulas written out again, and the rules of
choosing.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from lazy import lazy

import l0path
from l0path.paths import criteria

sm = lazy("statsmodels.api")


def sample(loss, n=90, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = 0.3 + X[:, 1] - 0.7 * X[:, 4]
    if loss == "squared":
        return X, eta + rng.standard_normal(n)
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(
        int
    ) if loss == "logistic" else rng.poisson(np.exp(0.5 * eta))


def reference(loss, X, y, support, intercept=True):
    Z = X[:, support]
    Z = sm.add_constant(Z, has_constant="add") if intercept else Z
    if loss == "squared":
        return sm.OLS(y, Z).fit()
    return (
        sm.Logit(y, Z).fit(disp=0, tol=1e-12, maxiter=200)
        if loss == "logistic"
        else sm.GLM(y, Z, family=sm.families.Poisson()).fit(tol=1e-13)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_scores_agree_with_statsmodels_also_with_weights_as_repeated_rows(loss, weighted):
    X, y = sample(loss)
    times = (
        np.random.default_rng(1).integers(0, 4, y.size) if weighted else np.ones(y.size, dtype=int)
    )
    path = l0path.fit(X, y, loss=loss, max_k=5, freq_weight=times if weighted else None)
    table = path.score_table()
    assert list(table.index) == list(path.details.index)
    for i in range(1, len(path)):
        ref = reference(
            loss, np.repeat(X, times, axis=0), np.repeat(y, times), path.support(index=i)
        )
        row = table.loc[i]
        assert row["df"] == path.details.n_features[i] + 1
        assert row["loglik"] == pytest.approx(ref.llf, abs=1e-8 * times.sum())
        assert row["aic"] == pytest.approx(ref.aic, rel=1e-8)
        assert row["bic"] == pytest.approx(ref.bic_llf if loss == "poisson" else ref.bic, rel=1e-8)
        if loss == "squared":
            assert row["rss"] == pytest.approx(ref.ssr, rel=1e-8)
            assert row["r2_adjusted"] == pytest.approx(ref.rsquared_adj, rel=1e-8)


def test_no_intercept_agrees_with_statsmodels():
    X, y = sample("squared")
    path = l0path.fit(X, y, max_k=4, fit_intercept=False)
    for i in range(1, 5):
        ref, row = (
            reference("squared", X, y, path.support(index=i), intercept=False),
            path.score_table().loc[i],
        )
        assert (row["aic"], row["bic"], row["r2_adjusted"]) == pytest.approx(
            (ref.aic, ref.bic, ref.rsquared_adj), rel=1e-8
        )


def test_other_criteria_by_their_formulas():
    X, y = sample("squared")
    n = y.size
    path = l0path.fit(X, y, max_k=5, always_include=[0])
    t = path.score_table(p_total=1000)
    half = path.score_table(p_total=1000, ebic_gamma=0.5)
    full = sm.OLS(y, sm.add_constant(X)).fit()
    for i in range(len(path)):
        k, row = int(path.details.k[i]), t.loc[i]
        d, bic = k + 2, t.bic[i]
        assert row["aicc"] == pytest.approx(row["aic"] + 2 * (d + 1) * (d + 2) / (n - d - 2))
        assert row["ebic"] == pytest.approx(bic + 2 * math.log(math.comb(999, k)))
        assert half.ebic[i] == pytest.approx(bic + math.log(math.comb(999, k)))
        assert row["gic"] == pytest.approx(
            -2 * row["loglik"] + d * math.log(math.log(n)) * math.log(999)
        )
        assert row["mbic"] == pytest.approx(bic + 2 * k * math.log(999 / 4 - 1))
        assert row["cp"] == pytest.approx(row["rss"] / full.mse_resid - n + 2 * d, abs=1e-7 * n)
    assert t.attrs["sigma2"] == pytest.approx(full.mse_resid)
    plain = path.score_table(sigma2=2.0)
    assert plain.cp[2] == pytest.approx(plain.rss[2] / 2.0 - n + 2 * plain.df[2])


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_the_table_says_what_went_into_it(loss):
    """The formulas in `attrs`, evaluated with the n, p and sigma2 in `attrs`, give the columns."""
    X, y = sample(loss)
    weights = np.random.default_rng(2).integers(0, 3, y.size)
    path = l0path.fit(X, y, loss=loss, max_k=4, always_include=[6], freq_weight=weights)
    table = path.score_table(p_total=500, ebic_gamma=0.5)
    assert table.attrs["n"] == weights.sum()
    assert table.attrs["p"] == 499
    assert set(table.attrs["formulas"]) == set(criteria.RULES) - (
        set() if loss == "squared" else {"cp"}
    )
    for i in range(len(path)):
        row = table.loc[i].to_dict()
        names = (
            row
            | table.attrs
            | {
                "m": row["df"] + (loss == "squared"),
                "chosen": int(path.details.k[i]),
                "log": math.log,
                "comb": math.comb,
            }
        )
        for name, text in table.attrs["formulas"].items():
            assert row[name] == pytest.approx(
                eval(text, {"__builtins__": {}}, names), rel=1e-12, abs=1e-9
            ), name


def test_hurvich_and_tsai_up_to_the_constant_two():
    """n log sigma^2 + n (1 + m/n) / (1 - (m + 2)/n), m regression coefficients, is our aicc less n
    log 2 pi and two.
    """
    X, y = sample("squared")
    n, t = y.size, l0path.fit(X, y, max_k=5).score_table()
    theirs = n * np.log(t.rss / n) + n * (1 + t.df / n) / (1 - (t.df + 2) / n)
    np.testing.assert_allclose(t.aicc + 2 - n * math.log(2 * math.pi), theirs, rtol=1e-12)


@pytest.mark.parametrize("rule", ["aic", "bic", "ebic", "gic", "mbic", "cp", "aicc"])
def test_select_is_the_minimum_and_finds_the_planted_columns(rule):
    X, y = sample("squared", n=200)
    path = l0path.fit(X, y)
    i = path.select(rule)
    assert i == path.score_table()[rule].argmin() == path.select(rule)
    assert {1, 4} <= set(path.support(rule))
    assert path.select(rule, rows=[0, 1]) == 1
    assert path.select(rule.upper()) == i


def test_bic_of_the_path_is_the_best_over_all_subsets():
    X, y = sample("squared", n=60, p=7)
    best = min(
        reference("squared", X, y, list(S)).bic
        for k in range(1, 8)
        for S in combinations(range(7), k)
    )
    path = l0path.fit(X, y, max_k=7)
    assert path.score_table().bic.min() == pytest.approx(best, rel=1e-10)


def test_callables_slices_and_ties():
    X, y = sample("squared")
    path = l0path.fit(X, y, max_k=4, lambda2=[0.0, 0.5])
    assert path.select(lambda path: 3) == 3
    assert path.select("bic", slice=1) == path.select(
        "bic", rows=[i for i in range(len(path)) if path.details.slice[i] == 1]
    )
    grid = l0path.fit(X, y, lambda0=[0.05, 0.04999, 0.04998])
    rows = [i for i in range(3) if grid.details.n_features[i] == grid.details.n_features[0]]
    assert grid.select("bic", rows=rows) == rows[0]


def test_perfect_separated_and_saturated_rows_are_not_chosen():
    X, _ = sample("squared", n=12, p=30)
    exact = X[:, 3] - 2 * X[:, 5]
    path = l0path.fit(X, exact, max_k=6)
    assert path.details.loss.min() < 1e-20
    assert path.details.k[path.select("bic")] < 2
    assert not criteria.usable(path, len(path) - 1)
    z = (X[:, 3] > 0).astype(int)
    with pytest.warns(l0path.errors.SeparationWarning):
        path = l0path.fit(X[:, :8], z, loss="logistic", max_k=3)
    assert path.details.status.iloc[-1] == "separated"
    assert path.select("aic") < len(path) - 1


def test_largest_model_gives_the_variance_when_p_is_large_and_data_are_not_needed(tmp_path):
    X, y = sample("squared", n=40, p=60)
    path = l0path.fit(X, y, max_k=6)
    t = path.score_table()
    assert t.attrs["sigma2"] == pytest.approx(t.rss.iloc[-1] / (40 - 7))
    path.save(tmp_path / "a.npz")
    assert l0path.load(tmp_path / "a.npz").score_table().equals(t)


def test_variance_of_the_full_model_is_stored_with_the_path(tmp_path):
    X, y = sample("squared", n=90, p=8)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(90)])
    path = l0path.fit(X, y, max_k=4)
    assert path.score_table().attrs["sigma2"] == pytest.approx(
        sm.OLS(y, sm.add_constant(X[:, :8])).fit().mse_resid, rel=1e-9
    )
    path.save(tmp_path / "a.npz")
    again = l0path.load(tmp_path / "a.npz")
    assert again.score_table().cp.tolist() == path.score_table().cp.tolist()
    assert again.select("bic") == path.select("bic")
    assert again.select("cp") == path.select("cp")
    assert again.select("cp", sigma2=1.0) == path.select("cp", sigma2=1.0)


@pytest.mark.parametrize("scale", [1, 20])
def test_the_deviance_ratio_of_counts_is_that_of_generalized_linear_models(scale, tmp_path):
    """Counts of all sizes: with large ones exp(eta) - y eta is negative, and says nothing by
    itself.
    """
    X, y = sample("poisson")
    rng = np.random.default_rng(5)
    y, weights, offset = y * scale, rng.uniform(0.5, 2, y.size), 0.3 * rng.standard_normal(y.size)
    path = l0path.fit(
        X, y, loss="poisson", sample_weight=weights, offset=offset, max_k=3, lower=-3, upper=3
    )
    glm = sm.GLM(
        y,
        sm.add_constant(X[:, path.support(k=2)]),
        family=sm.families.Poisson(),
        freq_weights=weights,
        offset=offset,
    ).fit(tol=1e-13)
    assert path.details.deviance_ratio[2] == pytest.approx(
        1 - glm.deviance / glm.null_deviance, abs=1e-8
    )
    certificate = path.certify(k=2)
    assert 0 < certificate.model.deviance_ratio <= certificate.deviance_ratio_bound < 1
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz").details.deviance_ratio.equals(
        path.details.deviance_ratio
    )
    right = path.plot("loss").child_axes[0]
    right.figure.canvas.draw()
    ratio = right._functions[0](path.details.loss[2])
    assert ratio == pytest.approx(path.details.deviance_ratio[2])


def test_poisson_scores_survive_saving(tmp_path):
    X, y = sample("poisson")
    path = l0path.fit(X, y, loss="poisson", max_k=3)
    path.save(tmp_path / "a.npz")
    assert l0path.load(tmp_path / "a.npz").score_table().equals(path.score_table())


def test_scaling_and_shifting_y_changes_no_choice():
    X, y = sample("squared")
    path = l0path.fit(X, y)
    for other in (l0path.fit(X, y + 1e3), l0path.fit(X, 1e4 * y)):
        for rule in criteria.RULES:
            assert other.select(rule) == path.select(rule)


def test_errors_name_the_argument_and_the_remedy():
    X, y = sample("logistic")
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    with pytest.raises(ValueError, match="cp"):
        path.select("cp")
    with pytest.raises(ValueError, match="'nonsense' is not known"):
        path.select("nonsense")
    with pytest.raises(ValueError, match="cv_fit"):
        path.select("1se")
    with pytest.raises(ValueError, match="p_total=3"):
        path.score_table(p_total=3)
    with pytest.raises(ValueError, match="ebic_gamma=2"):
        path.score_table(ebic_gamma=2)
    with pytest.raises(ValueError, match="ebic_gamma='all' must be a number"):
        path.score_table(ebic_gamma="all")
    with pytest.raises(ValueError, match="sigma2=-1"):
        l0path.fit(*sample("squared"), max_k=1).score_table(sigma2=-1)
    for loss in ("squared_hinge", "huber"):
        other = l0path.fit(X, y * 1.0 + X[:, 0] if loss == "huber" else y, loss=loss, max_k=1)
        with pytest.raises(ValueError, match="cv_fit"):
            other.score_table()
    with pytest.raises(LookupError, match="no model to choose"):
        l0path.fit(X, np.zeros(90), max_k=1).select("bic")


def test_a_choice_of_the_largest_size_says_that_larger_ones_may_be_better():
    X, y = sample("squared")
    path = l0path.fit(X, y, max_k=1)
    model = path.model("bic")
    said = "bic takes the largest size tried, k = 1, and larger ones may be better; raise max_k="
    assert model.details["chosen_by"] == said and said in repr(model)
    assert said in path.model("bic", slice=0).details["chosen_by"]
    cv = l0path.cv_fit(X, y, cv=3, max_k=1, random_state=0)
    assert [note for note in cv.notes if "largest size" in note] == [
        "the best score is at the largest size tried, k = 1, and larger ones may be better; raise "
        "max_k="
    ]
    assert said in cv.model("bic").details["chosen_by"]
    cv = l0path.L0RegressorCV(cv=3, max_k=1, rule="bic").fit(X, y)
    assert cv.model_.details["chosen_by"] == said


@pytest.mark.parametrize("third", ["constant", "equal"])
@pytest.mark.parametrize("max_k", [None, 2])
def test_a_feature_that_no_model_can_have_makes_no_larger_size(third, max_k, tmp_path):
    X, _ = sample("squared")
    y = X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(90)
    X = np.column_stack([X[:, :2], X[:, 0] if third == "equal" else np.ones(90)])
    path = l0path.fit(X, y, max_k=max_k)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz")):
        model = one.model("bic")
        assert model.k == 2 and "chosen_by" not in model.details
    if third == "constant":
        cv = l0path.cv_fit(X, y, cv=3, max_k=max_k, random_state=0)
        assert not [note for note in cv.notes if "largest size" in note]


@pytest.mark.parametrize("max_k", [None, 3])
def test_a_feature_that_depends_on_others_makes_no_larger_size(max_k, tmp_path):
    """Paths from files said that max_k= should be raised, although it could not help."""
    X, _ = sample("squared")
    y = X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(90)
    X = np.column_stack([X[:, :2], X[:, 0] - 2.0 * X[:, 1], X[:, 0] + X[:, 1]])
    path = l0path.fit(X, y + X[:, 1], max_k=max_k)
    cv = l0path.cv_fit(X, y + X[:, 1], max_k=max_k, cv=3, lambda2=0, random_state=0)
    for number, one in enumerate((path, cv)):
        one.save(tmp_path / f"{number}.npz")
        for kept in (one, l0path.load(tmp_path / f"{number}.npz")):
            model = kept.model("bic")
            assert model.k == 2 and "chosen_by" not in model.details
            assert not [note for note in kept.notes if "largest size" in note]
    assert "sizes end at k = 2" in "".join(path.notes)
    # a path that max_k ended still says so
    X[:, 3] = X[:, 0] + X[:, 1] ** 2
    l0path.fit(X, y + X[:, 3], max_k=1).save(tmp_path / "short.npz")
    assert "raise max_k=" in repr(l0path.load(tmp_path / "short.npz").model("bic"))


def test_a_choice_of_the_largest_size_says_nothing_where_the_data_have_no_larger_one():
    X, _ = sample("squared")
    y = X @ np.linspace(1.0, 2.0, 8) + 0.1 * np.random.default_rng(1).standard_normal(90)
    every = l0path.fit(X, y).model("bic")
    assert every.k == 8 and "chosen_by" not in every.details
    few = slice(12)  # half of the rows are six
    path = l0path.fit(X[few], y[few])
    model = path.model("aic")
    assert model.k == 6 and "chosen_by" not in model.details
    assert "chosen_by" not in l0path.fit(X, y, max_k=5).model(k=5).details
    cv = l0path.cv_fit(X[:40], y[:40], cv=4, exclude=[0], random_state=0)
    assert cv.model().k == 7 and not [note for note in cv.notes if "largest size" in note]


def test_a_choice_says_that_a_perfect_row_takes_no_part():
    """The table had the lowest criterion in the row that was not chosen, and nothing said why."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 6))
    path = l0path.fit(X, X[:, 0] - X[:, 1])
    model = path.model("bic")
    assert model.k == 1 and path.score_table().bic.idxmin() == 2
    assert model.details["chosen_by"] == "k = 2 fits perfectly and takes no part in criteria"
    assert "k = 2 fits perfectly" in repr(model)
    assert "chosen_by" not in l0path.fit(X, X[:, 0] + rng.normal(size=90)).model("bic").details
