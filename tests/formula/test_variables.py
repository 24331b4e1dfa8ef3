"""The columns of the data that a chosen model needs for predictions."""

import numpy as np
import pandas as pd
import pytest

import l0path


def table(n=60):
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    data["group"] = rng.choice(["u", "v", "w"], n)
    data["years"] = rng.uniform(1.0, 2.0, n)
    data["y"] = 2.0 * data["a"] * data["b"] + (data["group"] == "u") + 0.1 * rng.normal(size=n)
    return data


def test_a_model_by_a_formula_lists_the_columns_that_it_needs():
    data = table()
    path = l0path.fit("y ~ a + b + c + d + C(group) + a:b + log(years)", data, max_k=4)
    for model in path:
        needed = model.details["variables"]
        assert set(needed) <= set("abcd") | {"group", "years"}
        pd.testing.assert_series_equal(model.predict(data[needed]), model.predict(data))
        for name in needed:  # none can be left out
            with pytest.raises(ValueError, match=f"lacks 1 .*{name}"):
                model.predict(data[needed].drop(columns=name).assign(more=0.0))
    chosen = path.model(k=4)
    assert sorted(map(str, chosen.groups)) == ["C(group)", "a", "a:b", "b"]
    assert sorted(chosen.details["variables"]) == ["a", "b", "group"]
    assert "need the columns a, b, group of the data" in str(chosen.summary())


def test_the_column_of_an_offset_is_needed(tmp_path):
    data = table().assign(y=lambda t: np.round(np.exp(0.3 * t["a"]) * 3))
    path = l0path.fit("y ~ a + b + offset(log(years))", data, loss="poisson", max_k=1)
    path.save(tmp_path / "path.npz")
    for one in (path, l0path.load(tmp_path / "path.npz")):
        assert one.model(k=1).details["variables"] == ["a", "years"]
        assert one.model(k=0).details["variables"] == ["years"]
    X = data[["a", "b", "years"]]
    path = l0path.fit(X, data["y"], loss="poisson", offset="years", max_k=1)
    needed = path.model(k=1).details["variables"]
    assert needed == ["a", "years"]
    pd.testing.assert_series_equal(path.predict(X[needed], k=1), path.predict(X, k=1))


def test_features_made_by_a_design_need_the_columns_that_they_are_made_of():
    data = table()
    X = data[list("abcd")]
    path = l0path.fit(l0path.designs.polynomial(X), data["y"], max_k=1)
    assert path.model(k=1).details["variables"] == ["a", "b"]
    assert path.model(k=0).details["variables"] == []
    assert l0path.fit(X, data["y"], max_k=1).model(k=0).details["variables"] == []
    assert l0path.fit(X.to_numpy(), data["y"], max_k=1).model(k=1).details["variables"] == (
        l0path.fit(X.to_numpy(), data["y"], max_k=1).model(k=1).features
    )
