"""What a `ModelSet` says of groups and terms, of losses without a likelihood, of fits with an
offset and of loaded paths, against refits that are computed here.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from test_all_models import instance

import l0path


def least_squares(X, y, columns):
    """Half the mean square of the residuals of a regression on some columns and an intercept."""
    A = np.c_[np.ones(len(y)), X[:, sorted(columns)]]
    return 0.5 * float(np.mean((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))


@pytest.mark.parametrize(
    "groups", [[0, 0, 1, 1, 2, 2, 3, 3], {"a": [0, 1, 2], "b": [2, 3], "c": [4, 5, 6], "d": [7]}]
)
@pytest.mark.parametrize("forced", [[], [4]])
def test_a_set_of_models_of_groups_is_about_groups(groups, forced):
    X, y = instance("plain")
    of = groups if isinstance(groups, dict) else {g: [2 * g, 2 * g + 1] for g in range(4)}
    path = l0path.fit(X, y, groups=groups, always_include=forced)
    found = path.near_best(2, within=2.0)
    sets = [model.groups for model in found]
    assert found.complete and len(found) > 2
    for name, share in found.frequencies.items():
        assert share == pytest.approx(np.mean([name in one for one in sets]))
    assert found.table.groups.tolist() == [", ".join(map(str, one)) for one in sets]
    for one in found.substitutes:
        assert all(set(one) & set(chosen) for chosen in sets)
    value = {
        T: least_squares(X, y, {j for g in T for j in of[g]})
        for k in range(5)
        for T in combinations(of, k)
    }
    best = min(value[tuple(one)] for one in sets)
    for name, row in found.importance.iterrows():
        worth = [
            (value[tuple(g for g in one if g != name)] - value[tuple(one)]) / best for one in sets
        ]
        assert [row.low, row.high] == pytest.approx([min(worth), max(worth)], abs=1e-9)
    if not forced:
        assert found.plot().get_xlabel().startswith("group")


def test_a_set_of_models_of_terms_is_about_terms():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.standard_normal(60), "b": rng.standard_normal(60)})
    data["g"] = rng.choice(["u", "v", "w"], 60)
    data["y"] = data.a * (data.g == "v") + (data.g == "w") + data.b + rng.standard_normal(60)
    found = l0path.fit("y ~ b + a*g", data).near_best(4, within=1.0)
    assert found.frequencies.index.tolist() == ["b", "a", "g", "a:g"]
    assert sorted(found.substitutes) == [("a",), ("a:g",), ("b",), ("g",)]
    # a:g leaves with a, because it needs it
    dummies = np.c_[data.g == "v", data.g == "w"].astype(float)
    y, a = data.y.to_numpy(), data.a.to_numpy()[:, None]
    X = np.c_[data.b, dummies, a, a * dummies]
    whole = least_squares(X, y, range(6))
    less = {"a": [0, 1, 2], "g": [0, 3], "a:g": [0, 1, 2, 3], "b": [1, 2, 3, 4, 5]}
    for name, columns in less.items():
        worth = least_squares(X, y, columns) / whole - 1.0
        assert found.importance.loc[name].tolist() == pytest.approx([worth, worth], abs=1e-9)


def test_substitutes_of_more_than_four_columns():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 7))
    y = X[:, :6].sum(axis=1) + 0.1 * rng.standard_normal(60)
    found = l0path.fit(X, y).near_best(1, within=3.0)
    assert len(found) > 5
    assert found.substitutes == [tuple(sorted(model.features[0] for model in found))]
    assert l0path.fit(X, y).near_best(0).substitutes == []


def test_models_without_a_likelihood_are_averaged_with_equal_or_given_weights():
    X, y = instance("plain")
    found = l0path.fit(X, y, loss="huber").near_best(2, within=0.3)
    assert len(found) > 1
    each = np.array([model.predict(X) for model in found])
    np.testing.assert_allclose(found.predict(X, "equal")["mean"], each.mean(axis=0))
    given = found.average(np.eye(len(found))[1])["mean"]
    assert given[list(found.models[1].coef.index)].tolist() == found.models[1].coef.tolist()
    for use in (lambda: found.coef, lambda: found.predict(X), lambda: found.weights("akaike")):
        with pytest.raises(ValueError, match=r"no likelihood.*pass weights='equal'"):
            use()


def test_models_of_a_fit_with_an_offset_predict():
    X, y = instance("plain")
    offset = np.linspace(-1.0, 1.0, 40)
    found = l0path.fit(X, y, offset=offset).near_best(2, within=0.3)
    mean = found.predict(X, offset=offset)["mean"]
    np.testing.assert_allclose(mean, found.predict(X, offset=np.zeros(40))["mean"] + offset)


def test_a_set_of_models_of_a_loaded_path_keeps_the_data(tmp_path):
    X, y = instance("plain")
    path = l0path.fit(X, y)
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz").near_best(2, within=0.3, X=X, y=y)
    pd.testing.assert_frame_equal(loaded.importance, path.near_best(2, within=0.3).importance)


def test_a_refit_below_the_solution_is_no_sign_of_forgotten_bounds():
    """Exchanges of a fit whose data are at hand: nothing was loaded, and no bounds were given."""
    x = np.random.default_rng(25).uniform(-1, 1, 9)
    X, y = np.c_[x, x**2, x**3, x**4], np.where(x > 0.1, 1, -1)
    path = l0path.fit(X, y, loss="squared_hinge", standardize=False)
    at = len(path) - 1
    higher = path._solutions[at]._replace(loss=path._solutions[at].loss + 0.01)
    path = l0path.Path(path._meta, [*path._solutions[:at], higher], "", (), (), path._source)
    assert len(path.model(index=at).summary().table) == path._solutions[at].support.size


def test_what_to_list_is_asked_for_plainly():
    data = l0path.datasets.load_diabetes()
    path = l0path.fit(data.X, data.y, max_k=3)
    with pytest.raises(
        ValueError, match=r"neither k= nor criterion=; give .* near_best\(k=3\), or"
    ):
        path.near_best()
    with pytest.raises(ValueError, match=r"both k= and criterion=; give k= for models of one size"):
        path.near_best(k=2, criterion="bic")
    with pytest.raises(ValueError, match=r"k='bic' is no size; .* near_best\(criterion='bic'\)"):
        path.near_best("bic")
    assert "the only one: 1 model with k = 2" in repr(path.near_best(k=2, within=0.0))
    assert "the best of 2 models with k = 2" in repr(path.near_best(k=2, within=0.5, max_models=2))
