"""Data sets: sizes, codings and published values."""

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path import datasets

LOADERS = {
    "hitters": (datasets.load_hitters, 263, 19),
    "wdbc": (datasets.load_wdbc, 569, 30),
    "srbct": (datasets.load_srbct, 83, 2308),
    "growth_fls": (datasets.load_growth, 72, 41),
    "sonar": (datasets.load_sonar, 208, 60),
    "tecator": (datasets.load_tecator, 215, 100),
    "publication": (datasets.load_publication, 244, 19),
    "diabetes": (datasets.load_diabetes, 442, 10),
    "birth_weights": (datasets.load_birth_weights, 1387, 8),
    "wages": (datasets.load_wages, 4360, 9),
}


def r2(X, y):
    """R2 of least squares with an intercept."""
    Z = np.column_stack([np.ones(len(y)), X])
    Z[:, 1:] = (Z[:, 1:] - Z[:, 1:].mean(axis=0)) / Z[:, 1:].std(axis=0)
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    return 1.0 - residual @ residual / ((y - y.mean()) ** 2).sum()


@pytest.mark.parametrize("name", LOADERS)
def test_record(name):
    load, n, p = LOADERS[name]
    data = load()
    assert data.name == name and data.X.shape == (n, p) and len(data.y) == n
    assert (
        isinstance(data.X, pd.DataFrame)
        and (data.X.dtypes == np.float64).all()
        and np.isfinite(data.X.to_numpy()).all()
    )
    assert (
        isinstance(data.y, pd.DataFrame if name == "publication" else pd.Series)
        and data.y.index.equals(data.X.index)
        and not data.y.isna().to_numpy().any()
    )
    assert data.feature_names == list(data.X.columns) and len(set(data.feature_names)) == p
    assert all(type(column) is str for column in data.feature_names)
    assert (
        "License:" in data.description
        and "Citation:" in data.description
        and f"n = {n}" in data.description
    )
    assert f" of {n} rows" in repr(data) and f" {p} features" in repr(data)
    assert len(repr(data)) < 120
    with pytest.raises(AttributeError):
        data.y = None


def test_tecator_has_three_contents():
    whole, fat = datasets.load_tecator(["fat", "water", "protein"]), datasets.load_tecator()
    assert whole.y.columns.tolist() == ["fat", "water", "protein"] and whole.X.equals(fat.X)
    assert whole.y["fat"].equals(fat.y) and (whole.y.sum(axis=1) > 90).all()
    assert datasets.load_tecator("water").y.equals(whole.y["water"])
    with pytest.raises(ValueError, match="salt"):
        datasets.load_tecator(["salt"])


def test_tecator_published_values():
    """Sizes of the samples, and the range of fat, as StatLib has them."""
    data = datasets.load_tecator()
    assert data.train.sum() == 172 and not data.train[172:].any()
    assert (data.y.min(), data.y.max()) == (0.9, 49.1)
    assert data.feature_names[0] == "nm850" and data.feature_names[-1] == "nm1050"


def test_hitters_published_values():
    data = datasets.load_hitters()
    y = data.y.to_numpy()
    assert r2(data.X, y) == pytest.approx(0.5461, abs=5e-5)
    singles = {name: r2(data.X[[name]], y) for name in data.X}
    assert max(singles, key=singles.get) == "CRBI" and singles["CRBI"] == pytest.approx(
        0.3215, abs=5e-5
    )
    factors = ["League_N", "Division_W", "NewLeague_N"]
    assert set(np.unique(data.X[factors])) == {0.0, 1.0}
    assert data.X.columns[[13, 14, 18]].tolist() == factors


def test_diabetes_published_values():
    raw, wide = datasets.load_diabetes(), datasets.load_diabetes(expansion=True)
    assert r2(raw.X, raw.y.to_numpy()) == pytest.approx(0.51775, abs=5e-6)
    assert r2(wide.X, wide.y.to_numpy()) == pytest.approx(0.59244, abs=5e-6)


def test_diabetes_expansion_by_its_definition():
    raw, wide = datasets.load_diabetes().X, datasets.load_diabetes(expansion=True)
    assert wide.X.shape == (442, 64) and wide.feature_names[:10] == list(raw.columns)
    assert (
        sum("^2" in name for name in wide.feature_names) == 9
        and sum(":" in name for name in wide.feature_names) == 45
    )
    assert (
        "sex^2" not in wide.X
        and "bmi^2" in wide.X
        and "age:bmi" in wide.X
        and "bmi:age" not in wide.X
    )
    np.testing.assert_allclose(wide.X.mean(), 0.0, atol=1e-15)
    np.testing.assert_allclose((wide.X**2).sum(), 1.0, rtol=1e-12)
    z = (raw - raw.mean()) / raw.std()
    assert np.corrcoef(z["age"] * z["bmi"], wide.X["age:bmi"])[0, 1] == pytest.approx(
        1.0, abs=1e-12
    )
    assert np.corrcoef(z["s5"] ** 2, wide.X["s5^2"])[0, 1] == pytest.approx(1.0, abs=1e-12)


def test_diabetes_is_that_of_scikit_learn():
    from sklearn.datasets import load_diabetes

    reference = load_diabetes(scaled=False)
    data = datasets.load_diabetes()
    assert data.feature_names == reference.feature_names
    np.testing.assert_allclose(data.X, reference.data, rtol=1e-12)
    np.testing.assert_array_equal(data.y, reference.target)


def test_wdbc_is_that_of_scikit_learn():
    from sklearn.datasets import load_breast_cancer

    reference = load_breast_cancer()
    data = datasets.load_wdbc()
    assert data.y.value_counts().to_dict() == {1: 357, 0: 212} and data.y.name == "benign"
    np.testing.assert_allclose(data.X, reference.data, rtol=1e-12)
    np.testing.assert_array_equal(data.y, reference.target)
    assert reference.target_names.tolist() == ["malignant", "benign"]


def test_srbct_classes_and_split():
    data = datasets.load_srbct()
    assert data.train.dtype == bool and data.train.sum() == 63 and data.train[:63].all()
    assert data.y[data.train].value_counts().to_dict() == {"EWS": 23, "RMS": 20, "NB": 12, "BL": 8}
    assert data.y[~data.train].value_counts().to_dict() == {"EWS": 6, "NB": 6, "RMS": 5, "BL": 3}
    assert not any("\t" in name for name in data.feature_names) and "(63 to train)" in repr(data)
    assert data.feature_names[0] == "21652 catenin (cadherin-associated protein), alpha 1 (102kD)"


def test_growth_full_model():
    data = datasets.load_growth()
    assert r2(data.X, data.y.to_numpy()) == pytest.approx(0.960, abs=5e-4)


def test_sonar_classes():
    data = datasets.load_sonar()
    assert data.y.value_counts().to_dict() == {"M": 111, "R": 97}
    assert data.X.to_numpy().min() >= 0.0 and data.X.to_numpy().max() <= 1.0


def test_each_call_gives_fresh_data():
    first = datasets.load_sonar()
    first.X.iloc[0, 0] = 99.0
    assert datasets.load_sonar().X.iloc[0, 0] != 99.0


def test_repeated_names():
    assert datasets._unique(["a", "b", "a", "a.1", "a"]) == ["a", "b", "a.1", "a.1.1", "a.2"]


def test_files_are_small_and_carry_their_licences():
    folder = datasets._find("README.md").parent
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 3_000_000
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for file in files:
        assert file.name == "README.md" or file.name in readme, (
            f"{file.name} is not described in data/README.md"
        )
    for name in ("ISLP", "scikit-learn", "BMS"):
        assert "Redistribution and use in source and binary forms" in (
            folder / "licences" / f"{name}.txt"
        ).read_text(encoding="utf-8")


def test_files_inside_an_installed_package_come_first(tmp_path, monkeypatch):
    inside, beside = tmp_path / "package" / "data", tmp_path / "data"
    for folder in (inside, beside):
        folder.mkdir(parents=True)
    monkeypatch.setattr(datasets, "_folders", lambda: [inside, beside])
    (beside / "sonar.csv").write_text("V1,Class\n0.5,M\n", encoding="utf-8")
    assert datasets._find("sonar.csv").parent == beside
    (inside / "sonar.csv").write_text("V1,Class\n0.5,M\n", encoding="utf-8")
    assert datasets._find("sonar.csv").parent == inside
    with pytest.raises(FileNotFoundError, match=r"wdbc\.csv is not in .* install l0path again"):
        datasets.load_wdbc()
    (inside / "README.md").write_text("# Data\n", encoding="utf-8")
    with pytest.raises(LookupError, match="no section 'sonar'"):
        datasets.load_sonar()


def test_publication_published_values():
    """The coefficients of Cox's model in chapter 11 of the book."""
    data = datasets.load_publication()
    assert data.y["published"].sum() == 156 and list(data.y) == ["time", "published"]
    path = l0path.fit(data.X.iloc[:, :6], data.y, loss="cox", k=[6])
    book = [0.5708, -0.04086, 0.5462, 4.678e-06, 0.004385, 0.05832]
    assert path.coef(k=6).to_numpy() == pytest.approx(book, rel=1e-3)


def coefficients(table, y):
    """Those of least squares with an intercept, which comes first."""
    Z = np.column_stack([np.ones(len(y)), table])
    return np.linalg.lstsq(Z, np.asarray(y), rcond=None)[0]


def test_birth_weights_published_values():
    """Wooldridge, Introductory Econometrics, section 6.1: 116.974 - 0.4634 cigs + 0.0927 faminc, on
    all 1388 births; the loader leaves one out.
    """
    table = datasets._table("birth_weights.csv")
    found = coefficients(table[["cigs", "faminc"]], table.bwght)
    np.testing.assert_allclose(found, [116.974, -0.4634, 0.0927], atol=5e-4)
    data = datasets.load_birth_weights()
    kept = table[table.motheduc.notna()]
    np.testing.assert_array_equal(data.X[["cigarettes", "income"]], kept[["cigs", "faminc"]])
    np.testing.assert_array_equal(data.y, kept.bwght)


def test_wages_published_values():
    """Wooldridge, Introductory Econometrics, table 14.2: pooled least squares with a constant for
    each year.
    """
    data = datasets.load_wages()
    X = data.X[["education", "black", "hispanic", "experience", "married", "union"]]
    years = pd.get_dummies(data.X.year, drop_first=True)
    table = pd.concat([X, X.experience**2, years], axis=1).to_numpy(np.float64)
    found = coefficients(table, data.y)[1:8]
    np.testing.assert_array_equal(
        found.round(3), [0.091, -0.139, 0.016, 0.067, 0.108, 0.182, -0.002]
    )
    assert data.X.index.name == "person" and (data.X.groupby(level=0).size() == 8).all()
