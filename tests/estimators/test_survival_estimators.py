"""`L0Survival` and `L0SurvivalCV` against stored values of scikit-survival
(data/make_survival_values.py), against `fit`, and in scikit-learn's tools.
"""

import json
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import l0path

TRAIN, TEST = slice(0, 50), slice(50, 90)


@cache
def stored():
    return json.loads((Path(__file__).parents[1] / "data" / "survival_values.json").read_text())


def rows():
    """(X, y): y structured as that of scikit-survival."""
    pairs = zip(stored()["event"], stored()["time"], strict=True)
    y = np.array([(e > 0, t) for e, t in pairs], dtype=[("event", bool), ("time", float)])
    return np.array(stored()["X"]), y


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_a_model_of_all_columns_is_that_of_scikit_survival(ties):
    (X, y), expected = rows(), stored()[ties]
    model = l0path.L0Survival(
        k=4, algorithm=l0path.solvers.LocalSearch(tol=1e-12), loss=l0path.losses.Cox(ties=ties)
    ).fit(X[TRAIN], y[TRAIN])
    assert model.coef_ == pytest.approx(expected["coef"], abs=1e-7)
    assert model.predict(X[TEST]) == pytest.approx(expected["risk"], abs=1e-6)
    assert model.score(X[TEST], y[TEST]) == pytest.approx(expected["concordance"], abs=1e-12)
    assert model.unique_times_ == pytest.approx(expected["unique_times"])
    hazards = model.predict_cumulative_hazard_function(X[TEST][:3], return_array=True)
    assert hazards == pytest.approx(np.array(expected["hazards"]), rel=1e-6)
    functions = model.predict_survival_function(X[TEST][:3])
    for function, row in zip(functions, hazards, strict=True):
        assert function(model.unique_times_) == pytest.approx(np.exp(-row))
        assert function(0.0) == 1.0 and function.domain == (0.0, model.unique_times_[-1])
    with pytest.raises(ValueError, match="must be times from 0 to"):
        functions[0](1e6)


def test_the_model_is_that_of_its_size_and_pickles_keep_its_hazards():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = l0path.L0Survival(k=2).fit(frame, y)
    path = l0path.fit(X, y, loss="cox", max_k=2)
    assert model.coef_[model.get_support()] == pytest.approx(path.coef(k=2).to_numpy())
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.get_feature_names_out().tolist() == model.model_.features
    assert model.transform(frame).shape == (90, 2) and model.k_ == 2
    again = pickle.loads(pickle.dumps(model))
    expected = model.predict_survival_function(frame, return_array=True)
    assert again.predict_survival_function(frame, return_array=True) == pytest.approx(expected)
    curves = path.model(k=2).survival(X, times=model.unique_times_).to_numpy()
    assert expected == pytest.approx(curves)
    sparse = l0path.L0Survival(k=2).fit(sp.csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(model.coef_)


def test_strata_and_offset_are_columns():
    X, y = rows()
    ward, beyond = np.arange(90) % 2, 0.3 * X[:, 3]
    Z = pd.DataFrame(X[:, :3], columns=list("abc")).assign(ward=ward + 5.0, beyond=beyond)
    model = l0path.L0Survival(k=2, strata="ward", offset="beyond").fit(Z, y)
    path = l0path.fit(X[:, :3], y, loss="cox", max_k=2, strata=ward, offset=beyond)
    assert model.coef_[:3] == pytest.approx(path.coef(k=2, full=True).to_numpy())
    assert not model.coef_[3:].any() and not model.get_support()[3:].any()
    curves = model.predict_survival_function(Z, return_array=True)
    at = model.unique_times_
    expected = path.model(k=2).survival(X[:, :3], times=at, strata=ward, offset=beyond)
    assert curves == pytest.approx(expected.to_numpy())
    texts = Z.assign(ward=np.where(ward == 0, "north", "south"))
    named = l0path.L0Survival(k=2, strata="ward", offset="beyond").fit(texts, y)
    assert named.predict_survival_function(texts, return_array=True) == pytest.approx(curves)
    assert named.score(texts, y) == model.score(Z, y)
    assert named.transform(texts).shape == (90, 2)
    with pytest.raises(ValueError, match="'west', which is no stratum of the fit: it had 'north'"):
        named.predict(texts.assign(ward="west"))
    with pytest.raises(ValueError, match="strata has 90 missing values"):
        named.fit(texts.assign(ward=None), y)
    eta, (right, total) = model.predict(Z), (0.0, 0)
    for i in np.flatnonzero(y["event"]):
        for j in range(90):
            after = y["time"][j] > y["time"][i]
            if ward[j] == ward[i] and (
                after or (y["time"][j] == y["time"][i] and not y["event"][j])
            ):
                total += 1
                right += (eta[i] > eta[j]) + 0.5 * (eta[i] == eta[j])
    assert model.score(Z, y) == pytest.approx(right / total)
    with pytest.raises(ValueError, match="strata='wards' must be the name of a column"):
        l0path.L0Survival(strata="wards").fit(Z, y)


def test_tools_of_scikit_learn():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = rows()
    model = l0path.L0Survival(k=2, loss=l0path.losses.Cox(ties="breslow"), lambda2=1e-3)
    assert clone(model).get_params() == model.get_params()
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3)
    search = GridSearchCV(model, {"k": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    one = clone(model).set_params(k=2).fit(X[30:], y[30:]).score(X[:30], y[:30])
    assert scores[0] == pytest.approx(one)
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(one)


def test_the_cv_estimator_is_cv_fit(tmp_path):
    X, y = rows()
    model = l0path.L0SurvivalCV(max_k=3, cv=3, rule="1se", random_state=2).fit(X, y)
    cv = l0path.cv_fit(X, y, loss="cox", max_k=3, cv=3, random_state=2)
    assert model.cv_.scores["cv_mean"].to_numpy() == pytest.approx(cv.scores["cv_mean"].to_numpy())
    assert model.k_ == cv.model("1se").k
    l0path.L0SurvivalCV(max_k=2, cv=3, scoring="concordance", random_state=2).fit(X, y)
    kept = l0path.L0Survival(k=1, memory=str(tmp_path)).fit(X, y)
    assert kept.path_._source.data is None
    curve = kept.predict_survival_function(X[:1], return_array=True)
    plain = l0path.L0Survival(k=1, max_k=4).fit(X, y)
    assert curve == pytest.approx(plain.predict_survival_function(X[:1], return_array=True))


REFUSED = {
    "y": ({}, np.ones(90), "times and events"),
    "length": ({}, np.ones((80, 2)), "pass one time per row"),
    "k": ({"k": -1}, None, "k=-1"),
    "max_k": ({"k": 3, "max_k": 2}, None, "below k=3"),
    "ties": ({"loss": "logistic"}, None, "loss='logistic' is not for survival"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_errors_name_the_argument(what):
    X, y = rows()
    arguments, response, match = REFUSED[what]
    with pytest.raises(ValueError, match=match):
        l0path.L0Survival(**arguments).fit(X, y if response is None else response)


def test_groups_of_columns_are_chosen_as_a_whole():
    X, y = rows()
    model = l0path.L0Survival(k=1, groups=[0, 0, 1, 1]).fit(X, y)
    path = l0path.fit(X, y, loss="cox", groups=[0, 0, 1, 1], max_k=1)
    assert model.get_support(indices=True).tolist() == path.support(k=1).tolist()
    assert model.get_support().sum() == 2
    assert l0path.L0SurvivalCV(groups=[0, 0, 1, 1], cv=3).fit(X, y).k_ <= 2
