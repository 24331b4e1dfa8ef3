"""Pickles of paths, models and cross-validations: with the data, all methods go on; estimators
leave the data out.
"""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from lazy import lazy
from path_samples import same_solutions
from recomputed import objective_of

import l0path
from l0path.designs import blocks

joblib = lazy("joblib")
RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 6))
SIGNAL = X[:, 0] + 0.7 * X[:, 2]
FRAME = pd.DataFrame(X, columns=list("abcdef"), index=[f"row{i}" for i in range(90)])
TIMES = np.column_stack([RNG.exponential(np.exp(-SIGNAL)), RNG.random(90) < 0.7])
CASES = {
    "squared": (FRAME, SIGNAL + RNG.normal(size=90), {"sample_weight": RNG.random(90) + 0.1}),
    "logistic": (
        scipy.sparse.csc_array(np.round(X)),
        np.where(SIGNAL + RNG.logistic(size=90) > 0, "yes", "no"),
        {"loss": "logistic", "offset": 0.1 * X[:, 5]},
    ),
    "poisson": (
        X.astype(np.float32),
        RNG.poisson(np.exp(0.5 * SIGNAL)),
        {"loss": "poisson", "freq_weight": RNG.integers(1, 4, 90)},
    ),
    "cox": (FRAME, TIMES, {"loss": "cox", "strata": np.arange(90) % 2}),
}
AS = {
    "pickle": lambda one, folder: pickle.loads(pickle.dumps(one)),
    "joblib": lambda one, folder: joblib.load(joblib.dump(one, folder / "one.joblib")[0]),
    "copy": lambda one, folder: copy.copy(one),
}


@pytest.mark.parametrize("kind", CASES)
def test_everything_goes_on_with_the_data(kind, tmp_path):
    A, y, options = CASES[kind]
    path = l0path.fit(A, y, max_k=3, **options)
    said, params = str(path.model(k=2).summary()), np.asarray(path.model(k=2).refit().params)
    for way in AS.values():
        again = way(path, tmp_path)
        if kind != "cox":  # there the pickle adds the baseline hazards
            same_solutions(path, again)
        pd.testing.assert_frame_equal(again.coef(), path.coef())
        assert objective_of(again, k=2) == objective_of(path, k=2)
        assert str(again.model(k=2).summary()) == said
        np.testing.assert_array_equal(again.model(k=2).refit().params, params)
        pd.testing.assert_frame_equal(again.score_table(), path.score_table())
    model = AS["pickle"](path.model(k=2), tmp_path)
    np.testing.assert_array_equal(model.refit().params, params)


def test_cross_validations_keep_what_plots_and_held_out_predictions_need(tmp_path):
    A, y, options = CASES["logistic"]
    cv = l0path.cv_fit(A, y, max_k=3, cv=3, random_state=0, **options)
    for way in AS.values():
        again = way(cv, tmp_path)
        np.testing.assert_array_equal(again.held_out(k=2), cv.held_out(k=2))
        roc = [one.model(k=2).plot("roc").lines[0].get_xydata() for one in (again, cv)]
        np.testing.assert_array_equal(*roc)
        assert again.rescore("auc").scores.equals(cv.rescore("auc").scores)
    assert str(again.model("min").summary()) == str(cv.model("min").summary())
    nested = l0path.nested_cv(X, SIGNAL, outer=2, cv=2, max_k=2, lambda2=0, random_state=0)
    assert pickle.loads(pickle.dumps(nested)).table.equals(nested.table)


def test_formulas_keep_the_table_and_its_labels(tmp_path):
    table = FRAME.assign(y=CASES["squared"][1], g=np.arange(90) % 9)
    table.iloc[3, 1] = np.nan
    path = l0path.fit("y ~ a + b + c + log(exp(d))", table, max_k=2)
    cv = l0path.cv_fit("y ~ a + b + c", table, cv=3, max_k=2, random_state=0)
    again = pickle.loads(pickle.dumps(path))
    for arguments in (
        {},
        {"rows": "all"},
        {"cov_type": "cluster", "cov_kwds": {"groups": "g"}},
        {"cov_type": "cluster", "cov_kwds": {"groups": table.g.to_numpy()}},
    ):
        np.testing.assert_array_equal(
            again.model(k=2).refit(**arguments).bse, path.model(k=2).refit(**arguments).bse
        )
    pd.testing.assert_series_equal(pickle.loads(pickle.dumps(cv)).held_out(k=1), cv.held_out(k=1))
    with pytest.raises(ValueError, match="data of the formula are not kept"):
        pickle.loads(pickle.dumps(path._without_data())).model(k=2).refit(rows="all", X=None)
    assert path._meta.formula.table is table  # the original keeps it


def test_features_made_of_columns_keep_their_rule_and_labels():
    design = l0path.designs.polynomial(FRAME, heredity="strong")
    again = pickle.loads(pickle.dumps(l0path.fit(design, SIGNAL, max_k=2)))
    inside = again._source.data.design
    assert inside.heredity == "strong" and list(inside.row_index) == list(FRAME.index)
    assert np.isfinite(again.model(k=2).refit().bse).all()


def test_a_pickle_refers_to_the_file_of_x_and_opens_it_again(tmp_path):
    file = tmp_path / "X.npy"
    np.save(file, np.asfortranarray(RNG.normal(size=(300, 200))))
    y = np.load(file)[:, 3] + RNG.normal(size=300)
    path = l0path.fit(blocks(file), y, max_k=2)
    raw = pickle.dumps(path)
    assert len(raw) < 60_000 < file.stat().st_size
    assert objective_of(pickle.loads(raw), k=2) == objective_of(path, k=2)
    other = np.load(file)
    other[0, 0] += 1.0
    np.save(file, other)
    with pytest.raises(ValueError, match="differ from those of the fit"):
        objective_of(pickle.loads(raw), k=2)
    file.unlink()
    again = pickle.loads(raw)
    same_solutions(path, again)
    with pytest.raises(ValueError, match=r"not kept .*FileNotFoundError.*pass X= and y="):
        objective_of(again, k=2)


class Unpicklable(l0path.designs.Dense):
    def __getstate__(self):
        raise TypeError("not this one")


def test_a_design_that_cannot_be_pickled_is_left_out():
    again = pickle.loads(pickle.dumps(l0path.fit(Unpicklable(X), SIGNAL, max_k=2)))
    assert again.coef(k=2).size == 3
    with pytest.raises(ValueError, match=r"TypeError: not this one"):
        objective_of(again, k=1)


def test_without_data_the_pickle_is_small_and_methods_take_them():
    big = l0path.fit(RNG.normal(size=(2000, 6)), y := RNG.normal(size=2000), max_k=2)
    A = big._source.data.design.X
    small = big._without_data()
    assert len(pickle.dumps(small)) < 20_000 < A.nbytes < len(pickle.dumps(big)) < 2 * A.nbytes
    back = pickle.loads(pickle.dumps(small))
    same_solutions(big, back)
    pd.testing.assert_frame_equal(big.details, back.details)
    with pytest.raises(ValueError, match="pass X= and y="):
        objective_of(back, k=1)
    assert objective_of(back, k=1, X=A, y=y) == objective_of(
        big, k=1
    )  # the original still has them


@pytest.mark.parametrize("memory", [False, True])
def test_pickles_of_estimators_hold_no_data(memory, tmp_path):
    A, y = RNG.normal(size=(2000, 6)), RNG.normal(size=2000)
    one = l0path.L0Regressor(k=2, memory=str(tmp_path) if memory else None).fit(A, y)
    raw = pickle.dumps(one)
    assert len(raw) < 30_000 < A.nbytes
    again = pickle.loads(raw)
    np.testing.assert_array_equal(again.predict(A), one.predict(A))
    assert again.model_.path is again.path_
    for path in (again.path_, *([one.path_] if memory else [])):
        with pytest.raises(ValueError, match="pass X= and y="):
            objective_of(path, k=1)
    stored = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in stored) < 60_000
    if not memory:
        assert objective_of(one.path_, k=1) > 0
        scored = l0path.L0RegressorCV(cv=3, max_k=2).fit(A, y)
        raw = pickle.dumps(scored)
        assert len(raw) < 200_000
        assert pickle.loads(raw).cv_ is not scored.cv_
        assert scored.cv_.held_out(k=1).size == 2000


TABLE = FRAME.assign(g=np.array(list("uvw"))[RNG.integers(0, 3, 90)])
REFITS = {
    "squared": lambda: SIGNAL + RNG.normal(size=90),
    "huber": lambda: SIGNAL + RNG.normal(size=90),
    "quantile": lambda: SIGNAL + RNG.normal(size=90),
    "logistic": lambda: SIGNAL + RNG.logistic(size=90) > 0,
    "poisson": lambda: RNG.poisson(np.exp(0.5 * SIGNAL)),
    "negative_binomial": lambda: RNG.poisson(np.exp(0.5 * SIGNAL) * RNG.gamma(2.0, 0.5, 90)),
    "ordinal": lambda: 1 + (SIGNAL + RNG.logistic(size=90) > 0) + (SIGNAL > 1),
    "multinomial": lambda: np.array(list("xyz"))[
        np.argmax(X[:, :3] + RNG.gumbel(size=(90, 3)), axis=1)
    ],
    "cox": lambda: TIMES,
}
OPTIONS = {"robust": {"cov_type": "robust"}}


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        *((loss, "array") for loss in REFITS),
        ("squared", "formula"),
        ("logistic", "formula"),
        ("cox", "robust"),
    ],
)
def test_refits_go_on_from_a_pickle(loss, kind, tmp_path):
    y = REFITS[loss]()
    given = l0path.losses.Quantile(0.5) if loss == "quantile" else loss
    rows = (FRAME, y)
    if kind == "formula":
        rows = ("y ~ a + c + C(g) + a:c", TABLE.assign(y=np.asarray(y, dtype=float)))
    path = l0path.fit(*rows, loss=given, max_k=2, certify=False)
    results = path.model(k=2).refit(**OPTIONS.get(kind, {}))
    for way in ("pickle", "joblib"):
        again = AS[way](results, tmp_path)
        assert repr(again) == repr(results) and again.selection == results.selection
        np.testing.assert_array_equal(again.params, results.params)
        np.testing.assert_array_equal(again.conf_int(), results.conf_int())
        assert str(again.summary())[-150:] == str(results.summary())[-150:]
        if loss != "cox":
            table = TABLE.iloc[:5]
            np.testing.assert_array_equal(again.predict(table), results.predict(table))
            terms = again.model.data.design_info
            assert terms.term_names == results.model.data.design_info.term_names
            assert list(map(str, terms.terms)) == list(
                map(str, results.model.data.design_info.terms)
            )
    if kind == "formula" and loss == "squared":
        anova = lazy("statsmodels.stats.anova", "anova_lm")
        pd.testing.assert_frame_equal(anova(again), anova(results))
