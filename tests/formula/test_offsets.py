"""Offsets by name, in formulas and in estimators, against statsmodels; successes of several trials
under a classification loss.
"""

import itertools
import pickle
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from lazy import lazy
from recomputed import objective_of

import l0path

sm = lazy("statsmodels.api")
clone = lazy("sklearn.base", "clone")
ColumnTransformer = lazy("sklearn.compose", "ColumnTransformer")
GridSearchCV = lazy("sklearn.model_selection", "GridSearchCV")
KFold = lazy("sklearn.model_selection", "KFold")
cross_val_predict = lazy("sklearn.model_selection", "cross_val_predict")
make_pipeline = lazy("sklearn.pipeline", "make_pipeline")
StandardScaler = lazy("sklearn.preprocessing", "StandardScaler")

RNG = np.random.default_rng(5)
N = 90
TABLE = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c d"])
TABLE["time"] = RNG.uniform(0.5, 4, N)
TABLE["shift"] = RNG.normal(size=N) * 0.2
TABLE["site"] = np.tile(["p", "q", "r"], N // 3)
TABLE["cases"] = RNG.poisson(TABLE["time"] * np.exp(0.3 + 0.6 * TABLE["a"] + 0.3 * TABLE["b"]))
FEATURES = TABLE[["a", "b", "c d"]]
NAMED = FEATURES.assign(both=np.log(TABLE["time"]) + TABLE["shift"])
COUNTS = {"loss": "poisson"}
FORMULA = "cases ~ a + b + `c d` + site + offset(log(time)) + offset(shift)"


@cache
def counts_path():
    return l0path.fit(FORMULA, TABLE, **COUNTS)


NEW = TABLE.sample(12, random_state=2)


def glm(columns, rows=TABLE, offset=None):
    """Results of statsmodels for counts on these columns, or dummies of site."""
    offset = np.log(rows["time"]) + rows["shift"] if offset is None else offset
    return sm.GLM(
        rows["cases"], design(columns, rows), family=sm.families.Poisson(), offset=offset
    ).fit(tol=1e-12)


def design(columns, rows):
    dummies = {f"site[T.{s}]": (rows["site"] == s).astype(float) for s in "qr"}
    return sm.add_constant(rows.assign(**dummies)[columns].astype(float), has_constant="add")


def columns_of(terms):
    return [c for t in terms for c in (["site[T.q]", "site[T.r]"] if t == "site" else [t])]


# -------------------- formulas


def test_every_size_is_the_best_of_statsmodels_with_that_offset():
    terms = ["a", "b", "c d", "site"]
    for k in range(5):
        fits = [glm(columns_of(chosen)) for chosen in itertools.combinations(terms, k)]
        best = max(fits, key=lambda fit: fit.llf)
        own = counts_path().coef(k).rename({"(Intercept)": "const"})
        assert set(own.index) == set(best.params.index)
        np.testing.assert_allclose(own, best.params[own.index], rtol=2e-5, atol=1e-7)
    assert "shift" not in counts_path().names and "time" not in " ".join(counts_path().names)


def test_predictions_take_the_offset_of_new_rows():
    best = glm(columns_of(["a", "b", "c d", "site"]))
    offset = np.log(NEW["time"]) + NEW["shift"]
    expected = best.predict(design(columns_of(["a", "b", "c d", "site"]), NEW), offset=offset)
    got = counts_path().predict(NEW.drop(columns="cases"), 4)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert got.index.equals(NEW.index)
    # the columns in use: those of the model, and those of the offset
    one = counts_path().predict(NEW[["a", "time", "shift"]], 1)
    np.testing.assert_allclose(one, counts_path().predict(NEW, 1))
    with pytest.raises(ValueError, match="lacks 1 of the columns of the formula: time"):
        counts_path().predict(NEW.drop(columns="time"), 1)
    with pytest.raises(ValueError, match=r"missing values in 1 of 12 rows: time"):
        counts_path().predict(NEW.assign(time=[np.nan, *NEW["time"][1:]]), 1)


def test_offsets_of_scores_refits_and_validation():
    best = glm(columns_of(["a", "b", "c d", "site"]))
    assert counts_path().model(k=4).score(TABLE)["deviance"] == pytest.approx(
        best.deviance / N, rel=1e-6
    )
    assert (
        counts_path().model(4).score(NEW, NEW["cases"]).equals(counts_path().model(k=4).score(NEW))
    )
    np.testing.assert_allclose(counts_path().model(4).refit().bse, np.asarray(best.bse), rtol=1e-4)
    again = counts_path().model(4).refit(X=NEW, y=NEW["cases"])
    own = glm(columns_of(["a", "b", "c d", "site"]), NEW)
    np.testing.assert_allclose(again.params, own.params, rtol=1e-5, atol=1e-6)
    assert counts_path().validate(NEW).scores.cv_mean[4] == pytest.approx(
        counts_path().model(k=4).score(NEW)["deviance"]
    )
    assert (
        len(counts_path().model(2).alternatives())
        and len(counts_path().model(2).summary().table) == 2
    )


def test_cross_validation_holds_the_offset_out_with_its_rows():
    folds = list(KFold(3).split(TABLE))
    text = "cases ~ a + offset(log(time)) + offset(shift)"
    cv = l0path.cv_fit(text, TABLE, cv=folds, lambda2=0, **COUNTS)
    more = {"cv": folds, "lambda2": 0, "offset": "both"}
    named = l0path.cv_fit(NAMED[["a", "both"]], TABLE["cases"], **more, **COUNTS)
    nested = l0path.nested_cv(
        NAMED[["a", "both"]], TABLE["cases"], outer=folds, cv=3, offset="both", random_state=0,
        max_k=1, lambda2=0, **COUNTS,
    )  # fmt: skip
    means, held = [], np.empty(N)
    for train, test in folds:
        fit = glm(["a"], TABLE.iloc[train])
        rows = TABLE.iloc[test]
        held[test] = fit.predict(design(["a"], rows), offset=np.log(rows["time"]) + rows["shift"])
        y = rows["cases"].to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(y > 0, y * np.log(y / held[test]), 0.0)
        means.append(2 * np.mean(log - y + held[test]))
    for made in (cv, named):
        assert made.scores.cv_mean[1] == pytest.approx(np.mean(means), rel=1e-6)
        np.testing.assert_allclose(made.held_out(1), held, rtol=1e-5)
    np.testing.assert_allclose(nested.table.score[nested.table.k == 1], means, rtol=1e-5)


def test_a_formula_with_an_offset_comes_back_from_a_file(tmp_path):
    counts_path().save(tmp_path / "path.npz")
    for again in (l0path.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(counts_path()))):
        assert again.predict(NEW, 3).equals(counts_path().predict(NEW, 3))
        assert objective_of(again, 3, X=TABLE, y=TABLE["cases"]) == pytest.approx(
            objective_of(counts_path(), 3)
        )
        assert (
            again.model(2)
            .summary(X=TABLE, y=TABLE["cases"])
            .table.equals(counts_path().model(2).summary().table)
        )


def test_terms_and_the_argument_add_up():
    both = l0path.fit(
        "cases ~ a + b + `c d` + site + offset(log(time))", TABLE, offset="shift", **COUNTS
    )
    array = l0path.fit(
        "cases ~ a + b + `c d` + site + offset(log(time))", TABLE, offset=TABLE["shift"], **COUNTS
    )
    for path in (both, array):
        np.testing.assert_allclose(path.coef(), counts_path().coef(), rtol=1e-7, atol=1e-12)
    assert both.predict(NEW, 2).equals(counts_path().predict(NEW, 2))
    np.testing.assert_allclose(array.predict(NEW, 2, offset="shift"), counts_path().predict(NEW, 2))
    for call in (
        lambda: array.predict(NEW, 2),
        lambda: array.model(k=2).score(NEW),
        lambda: array.validate(NEW),
        lambda: array.model(2).refit(X=NEW, y=NEW["cases"]),
    ):
        with pytest.raises(
            ValueError, match=r"the fit had an offset besides offset\(log\(time\)\).*pass offset="
        ):
            call()
    encoded = np.zeros((2, 5))  # not made of the formula's columns, so nothing can be added to it
    with pytest.raises(ValueError, match=r"offset\(log\(time\)\).*give the sum of all"):
        array.predict(encoded, 2)
    np.testing.assert_allclose(
        array.predict(encoded, 0, type="link", offset=1.0), 1 + array.model(0).intercept
    )
    with pytest.raises(ValueError, match=r"terms offset\(...\): pass a DataFrame"):
        counts_path().predict(np.zeros((2, 5)), 2)
    np.testing.assert_allclose(
        counts_path().predict(np.zeros((2, 5)), 0, type="link", offset=1.0),
        1 + counts_path().model(0).intercept,
    )


def test_the_dot_does_not_stand_for_an_offset():
    path = l0path.fit("cases ~ . + offset(log(time))", TABLE, max_k=1, **COUNTS)
    assert path.names == ["a", "b", "c d", "shift", "site[T.q]", "site[T.r]"]
    path = l0path.fit("cases ~ . + time + offset(log(time))", TABLE, max_k=1, **COUNTS)
    assert "time" in path.names


@pytest.mark.parametrize(
    "options", [{"lambda0": [0.05, 0.01]}, {"lambda2": [0.1, 0.01], "max_k": 2}, {"groups": False}]
)
def test_grids_slices_and_columns_alone(options):
    path = l0path.fit(FORMULA, TABLE, **options, **COUNTS)
    dummies = design(columns_of(["site"]), TABLE).drop(columns="const")
    if options.get("groups") is False:
        X, more = pd.concat([FEATURES, dummies], axis=1), {}
    else:
        X, more = pd.concat([FEATURES, dummies], axis=1), {"groups": ["a", "b", "c", "s", "s"]}
    options = {name: value for name, value in options.items() if name != "groups"}
    other = l0path.fit(
        sp.csc_array(X.to_numpy()), TABLE["cases"].to_numpy(), offset=NAMED["both"].to_numpy(),
        **options, **more, **COUNTS,
    )  # fmt: skip
    np.testing.assert_allclose(path.details.objective, other.details.objective, rtol=1e-6)
    np.testing.assert_allclose(
        path.predict(TABLE).to_numpy(),
        other.predict(sp.csc_array(X.to_numpy()), offset=NAMED["both"].to_numpy()),
        rtol=1e-4,
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("cases ~ a + offset(time):b", "is a term of its own"),
        ("cases ~ a + offset(time, shift)", "has 2 arguments"),
        ("cases ~ a + offset(log(a))", "is not finite in .* of 90 rows.*exposure must be above 0"),
        ("cases ~ a + offset(site)", "is not a number for each row"),
        ("cases ~ a + offset(nothing)", "data has no column 'nothing'"),
        ("cases ~ offset(time)", "names no column on the right side"),
    ],
)
def test_bad_offsets_of_formulas(text, message):
    with pytest.raises(ValueError, match=message):
        l0path.fit(text, TABLE, **COUNTS)


def test_missing_offsets_drop_rows():
    gaps = TABLE.assign(time=TABLE["time"].where(TABLE.index > 4))
    path = l0path.fit(FORMULA, gaps, max_k=2, **COUNTS)
    assert path._meta.formula.n_dropped == 5 and "time 5" in path.notes[0]
    np.testing.assert_allclose(
        path.coef(), l0path.fit(FORMULA, TABLE[5:], max_k=2, **COUNTS).coef(), rtol=1e-9
    )


# -------------------- a column of a DataFrame


def test_a_named_column_is_the_offset_and_no_feature():
    named = l0path.fit(NAMED, TABLE["cases"], offset="both", **COUNTS)
    given = l0path.fit(FEATURES, TABLE["cases"], offset=NAMED["both"], **COUNTS)
    assert named.names == ["a", "b", "c d"]
    # the two tables may lie in memory in different orders, and sums be rounded differently
    pd.testing.assert_frame_equal(named.coef(), given.coef(), rtol=1e-12, atol=1e-13)
    new = NAMED.loc[NEW.index]
    expected = given.predict(FEATURES.loc[NEW.index], 2, offset=new["both"])
    alike = partial(pd.testing.assert_series_equal, rtol=1e-12, atol=0)
    alike(named.predict(new, 2), expected)
    alike(named.predict(new[["both", "b", "a"]], 2), expected)  # other order, no c d
    alike(
        named.predict(new, 2, offset=new["both"] + 1),
        given.predict(FEATURES.loc[NEW.index], 2, offset=new["both"] + 1),
    )
    assert named.model(2).score(NAMED, TABLE["cases"])["deviance"] == pytest.approx(
        glm(["a", "b"]).deviance / N, rel=1e-6
    )
    assert named.validate(new, NEW["cases"]).scores.cv_mean[2] == pytest.approx(
        named.model(2).score(new, NEW["cases"])["deviance"]
    )
    with pytest.raises(ValueError, match="X lacks the column both, which held it"):
        named.predict(new.drop(columns="both"), 2)
    with pytest.raises(ValueError, match="pass offset="):
        named.model(2).score(new.drop(columns="both"), NEW["cases"])


def test_a_named_column_is_found_again_after_loading(tmp_path):
    named = l0path.fit(NAMED, TABLE["cases"], offset="both", **COUNTS)
    named.save(tmp_path / "p.npz")
    again = l0path.load(tmp_path / "p.npz")
    assert again.predict(NAMED, 2).equals(named.predict(NAMED, 2))
    assert objective_of(again, 2, X=NAMED, y=TABLE["cases"]) == pytest.approx(
        objective_of(named, 2)
    )
    np.testing.assert_allclose(
        again.model(2).refit(X=NAMED, y=TABLE["cases"]).params, named.model(2).refit().params
    )


def test_bad_names_of_offsets():
    with pytest.raises(ValueError, match="offset='gone' names 0 columns of X"):
        l0path.fit(NAMED, TABLE["cases"], offset="gone", **COUNTS)
    with pytest.raises(TypeError, match="offset='both' names a column, and X is a ndarray"):
        l0path.cv_fit(NAMED.to_numpy(), TABLE["cases"].to_numpy(), offset="both", **COUNTS)
    with pytest.raises(ValueError, match="different indexes"):
        l0path.cv_fit(NAMED, TABLE["cases"][::-1], offset="both", **COUNTS)
    path = l0path.fit(NAMED, TABLE["cases"], offset="both", max_k=1, **COUNTS)
    with pytest.raises(ValueError, match="offset='gone' is not a column of X"):
        path.predict(NAMED, 1, offset="gone")


# -------------------- estimators


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_an_estimator_takes_a_column_as_offset(kind):
    X, offset = {
        "frame": (NAMED, "both"),
        "array": (NAMED.to_numpy(), 3),
        "sparse": (sp.csr_array(NAMED.to_numpy()), -1),
    }[kind]
    model = clone(l0path.L0Regressor(2, loss="poisson", offset=offset)).fit(X, TABLE["cases"])
    best = glm(["a", "b"])
    np.testing.assert_allclose(model.coef_, [*best.params[["a", "b"]], 0, 0], rtol=1e-5)
    np.testing.assert_allclose(model.predict(X), best.fittedvalues, rtol=1e-5)
    assert model.offset_index_ == 3 and model.n_features_in_ == 4
    assert model.get_support().tolist() == [True, True, False, False]
    assert model.transform(X).shape == (N, 2)


def test_an_offset_goes_through_pipelines_and_searches(tmp_path):
    inner = ColumnTransformer(
        [("scaled", StandardScaler(), ["a", "b", "c d"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    estimator = l0path.L0Regressor(loss="poisson", offset="both", memory=str(tmp_path))
    pipe = make_pipeline(inner, estimator)
    search = GridSearchCV(pipe, {"l0regressor__k": [1, 2]}, cv=KFold(3), error_score="raise")
    search.fit(NAMED, TABLE["cases"])
    k = search.best_params_["l0regressor__k"]
    np.testing.assert_allclose(search.predict(NAMED), glm(["a", "b"][:k]).fittedvalues, rtol=1e-5)
    held = cross_val_predict(pipe.set_params(l0regressor__k=1), NAMED, TABLE["cases"], cv=KFold(3))
    for train, test in KFold(3).split(NAMED):
        rows = TABLE.iloc[test]
        offset = np.log(rows["time"]) + rows["shift"]
        own = glm(["a"], TABLE.iloc[train]).predict(design(["a"], rows), offset=offset)
        np.testing.assert_allclose(held[test], own, rtol=1e-5)


def test_cross_validated_estimators_and_classifiers_take_it_too():
    folds = list(KFold(3).split(NAMED))
    model = l0path.L0RegressorCV(2, loss="poisson", offset="both", cv=folds).fit(
        NAMED, TABLE["cases"]
    )
    cv = l0path.cv_fit(NAMED, TABLE["cases"], offset="both", cv=folds, max_k=2, **COUNTS)
    np.testing.assert_allclose(model.cv_.scores.cv_mean, cv.scores.cv_mean, rtol=1e-9)
    y = np.where(TABLE["a"] + RNG.logistic(size=N) + NAMED["both"] > 0, "yes", "no")
    logit = sm.GLM(
        y == "yes", sm.add_constant(FEATURES[["a"]]), sm.families.Binomial(), offset=NAMED["both"]
    ).fit(tol=1e-12)
    classes = l0path.L0Classifier(1, lambda2=0.0, offset="both", always_include=["a"], max_k=1)
    classes.set_params(k=0, max_k=0).fit(NAMED, y)
    np.testing.assert_allclose(classes.predict_proba(NAMED)[:, 1], logit.fittedvalues, rtol=1e-5)
    other = clone(classes).set_params(pos_label="no").fit(NAMED.assign(both=-NAMED["both"]), y)
    np.testing.assert_allclose(
        other.predict_proba(NAMED.assign(both=-NAMED["both"])),
        classes.predict_proba(NAMED),
        rtol=1e-6,
    )


@pytest.mark.parametrize("offset", ["gone", 9, True, 1.5, NAMED["both"]])
def test_bad_offsets_of_estimators(offset):
    with pytest.raises(
        ValueError, match=r"offset=.* must be the name of a column of the DataFrame"
    ):
        l0path.L0Regressor(1, loss="poisson", offset=offset).fit(NAMED, TABLE["cases"])


# -------------------- successes of several trials


TRIALS = RNG.integers(2, 6, N)
SUCCESSES = RNG.binomial(TRIALS, 1 / (1 + np.exp(-TABLE["a"])))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_proportions_and_counts_name_the_way(loss):
    share = pd.Series(SUCCESSES / TRIALS)
    counts = np.column_stack([SUCCESSES, TRIALS - SUCCESSES])
    for y in (share, share.to_numpy(), np.where(TABLE["a"] > 0, 0.25, 0.75)):
        with pytest.raises(ValueError, match=r"y holds proportions.*freq_weight=np.concatenate"):
            l0path.fit(FEATURES, y, loss=loss)
    for y in (counts, pd.DataFrame(counts)):
        with pytest.raises(ValueError, match=r"y has 2 columns.*freq_weight=np.concatenate"):
            l0path.fit(FEATURES, y, loss=loss)
    for y in (share, counts):
        with pytest.raises(ValueError, match=r"freq_weight=np.concatenate"):
            l0path.L0Classifier(1, loss=loss).fit(FEATURES, y)
    data = FEATURES.assign(s=SUCCESSES, m=TRIALS)
    with pytest.raises(ValueError, match="y holds proportions"):
        l0path.fit("{s / m} ~ a + b", data, loss=loss)
    with pytest.raises(ValueError, match=r"counts successes and failures; write .*loss='binomial'"):
        l0path.fit("cbind(s, m - s) ~ a + b", data, loss=loss)


def test_the_way_that_is_named_gives_the_binomial_model():
    weights = np.concatenate([SUCCESSES, TRIALS - SUCCESSES])
    path = l0path.fit(
        pd.concat([FEATURES, FEATURES], ignore_index=True), np.repeat([1, 0], N), loss="logistic",
        freq_weight=weights, max_k=3,
    )  # fmt: skip
    binomial = sm.GLM(
        np.column_stack([SUCCESSES, TRIALS - SUCCESSES]),
        sm.add_constant(FEATURES),
        sm.families.Binomial(),
    ).fit(tol=1e-12)
    np.testing.assert_allclose(path.coef(3), binomial.params, rtol=1e-5)


def test_labels_that_are_numbers_stay_labels():
    y = np.where(TABLE["a"] > 0, 1.0, 2.0)
    y[:5] = 3.0 - y[:5]
    assert l0path.fit(FEATURES, y, loss="logistic", max_k=1).classes == (1.0, 2.0)
    text = np.where(y > 1, 0.25, 0.75).astype(str)
    assert l0path.fit(FEATURES, text, loss="logistic", max_k=1).classes == ("0.25", "0.75")
