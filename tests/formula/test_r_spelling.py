"""Formulas as R users write them."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from formula_samples import DATA, NEW

import l0path

NS = [
    [0.03794672724785125, -0.10903154073623957, 0.07108481348838833],
    [0.0, 0.0, 0.0],
    [-0.04289775200527277, 0.55076062535091530, -0.35902990488019865],
    [-0.6977467873096063, 0.5230330533052199, 1.1747137340043864],
]


@pytest.mark.parametrize(
    "ours, python",
    [
        ("I(b^2)", "{b ** 2}"),
        ("I(-b^2)", "{-(b * b)}"),
        ("I(a^2^2)", "{a ** 4}"),
        ("I(b^-1 + 2^b)", "{1 / b + 2.0 ** b}"),
        ("exp(-a^2)", "np.exp(-(a * a))"),
        ("{a^2}", "{a * a}"),
        ("poly(b^2, 2)", "poly(b ** 2, 2)"),
        ("sqrt(b)", "{b ** 0.5}"),
        ("log1p(b)", "np.log1p(b)"),
        ("log10(b)", "{log(b) / log(10)}"),
        ("abs(a)", "np.abs(a)"),
        ("factor(b)", "C(b)"),
        ("(a + b)^2", "a + b + a:b"),
        ("I(a > 0)", "{a > 0}"),
    ],
)
def test_columns_are_those_of_pythons_spelling(ours, python):
    data = DATA.assign(b=DATA.b + 1)
    new = NEW.assign(b=NEW.b + 1)
    path, other = (l0path.fit(f"y ~ {text}", data) for text in (ours, python))
    np.testing.assert_allclose(path.details.objective, other.details.objective, rtol=1e-12)
    np.testing.assert_allclose(path.predict(new), other.predict(new), rtol=1e-9)


def test_left_sides_and_names():
    data = DATA.assign(z=np.abs(DATA.y) + 1)
    path, other = (l0path.fit(f"{left} ~ a + x", data) for left in ("log(z^2)", "{2 * np.log(z)}"))
    np.testing.assert_allclose(path.details.objective, other.details.objective, rtol=1e-12)
    path = l0path.fit("y ~ I(a^2) + I(a**2) + x + a:I(x ^ 2)", DATA, always_include="a:I(x^2)")
    assert path.names == ["I(a ** 2)", "x", "a:I(x ** 2)"]
    assert path.model(k=0).features == ["x", "a:I(x ** 2)"]  # what it contains comes with it


def test_natural_splines_are_those_of_r():
    """R 4.2.2: x <- seq(1, 12)^1.3; b <- ns(x, df = 3); predict(b, c(0, 1, 8, 30)), the first and
    the last of which are beyond the outermost knots.
    """
    x = np.arange(1.0, 13.0) ** 1.3
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": x, "y": np.sin(x / 4) + 0.1 * rng.standard_normal(12)})
    path = l0path.fit("y ~ ns(x, df=3)", data)
    at = pd.DataFrame({"x": [0.0, 1.0, 8.0, 30.0]})
    new = path._meta.formula.encode(at).X
    assert list(new) == [f"ns(x, df=3)[{j}]" for j in (1, 2, 3)]
    np.testing.assert_allclose(new.to_numpy(), NS, atol=1e-13)
    given = l0path.fit("y ~ ns(x, knots=[5.0, 9.0])", data)
    assert len(given.names) == 3
    with pytest.raises(ValueError, match="knots within the range"):
        l0path.fit("y ~ ns(x, knots=[50.0])", data)


def test_strata_are_terms():
    rng = np.random.default_rng(0)
    data = DATA.assign(time=np.exp(DATA.y + rng.standard_normal(90)), event=rng.random(90) < 0.8)
    rest = {"loss": "cox", "max_k": 2}
    path = l0path.fit("Surv(time, event) ~ a + x + strata(c)", data, **rest)
    same = l0path.fit("Surv(time, event) ~ a + x", data, strata="c", **rest)
    assert path.names == ["a", "x"]
    np.testing.assert_array_equal(path.details.objective, same.details.objective)
    curves = path.model(k=2).survival(data.head(8), times=[1.0])
    np.testing.assert_array_equal(
        curves, same.model(k=2).survival(data.head(8), times=[1.0], strata="c").to_numpy()
    )
    assert path.model(k=2).score(data).deviance == same.model(k=2).score(data, strata="c").deviance
    refits = path.model(k=2).refit(X=data), same.model(k=2).refit(X=data, strata="c")
    np.testing.assert_array_equal(refits[0].params, refits[1].params)
    dotted = l0path.fit(
        "Surv(time, event) ~ . + strata(c)", data[["time", "event", "a", "x", "c"]], **rest
    )
    assert dotted.names == ["a", "x"]
    two = l0path.fit("Surv(time, event) ~ a + x + strata(c, b > 0)", data, **rest)
    labels = [f"c={c}, b > 0={b > 0}" for c, b in zip(data.c, data.b, strict=True)]
    by_hand = l0path.fit("Surv(time, event) ~ a + x", data, strata=labels, **rest)
    np.testing.assert_array_equal(two.details.objective, by_hand.details.objective)
    apart = l0path.fit("Surv(time, event) ~ a + x + strata(c) + strata(b > 0)", data, **rest)
    np.testing.assert_array_equal(two.details.objective, apart.details.objective)
    cv = l0path.cv_fit("Surv(time, event) ~ a + strata(c)", data, cv=2, random_state=0, **rest)
    assert np.isfinite(cv.folds.to_numpy()).all()
    for text, given, match in (
        ("Surv(time, event) ~ a + strata(c)", {"strata": "c"}, "has strata.*leave one out"),
        ("Surv(time, event) ~ a:strata(c) + x", {}, "multiplies strata"),
        ("Surv(time, event) ~ a + I(strata(c))", {}, "a term of its own"),
        ("Surv(time, event) ~ a + strata(zz)", {}, "no column 'zz'"),
    ):
        with pytest.raises(ValueError, match=match):
            l0path.fit(text, data, **rest, **given)
    with pytest.raises(ValueError, match="strata"):
        l0path.fit("y ~ a + strata(c)", data)


def test_strata_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    data = DATA.assign(time=rng.exponential(size=90), event=rng.random(90) < 0.8)
    path = l0path.fit("Surv(time, event) ~ a + x + strata(c)", data, loss="cox", max_k=2)
    path.save(tmp_path / "path.npz")
    back = l0path.load(tmp_path / "path.npz")
    expected = path.model(k=2).survival(data.head(8), times=[0.5])
    np.testing.assert_array_equal(back.model(k=2).survival(data.head(8), times=[0.5]), expected)


@pytest.mark.parametrize("loss", ["squared", "logistic", "cox"])
def test_clusters_are_terms(loss):
    """Folds keep clusters together, and refits have their covariances, as in R."""
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(30), 3)
    noise = np.repeat(rng.standard_normal(30), 3)
    data = DATA.assign(id=ids, time=np.exp(DATA.y + noise), event=rng.random(90) < 0.8)
    data = data.assign(y=data.y + noise + rng.standard_normal(90))
    left = {"squared": "y", "logistic": "{y > 0}", "cox": "Surv(time, event)"}[loss]
    path, plain = (
        l0path.fit(f"{left} ~ a + x{term}", data, loss=loss, max_k=2, lambda2=0.0)
        for term in (" + cluster(id)", "")
    )
    assert path.names == ["a", "x"]
    np.testing.assert_array_equal(path.details.objective, plain.details.objective)
    ours = path.model(k=2).refit()
    theirs = plain.model(k=2).refit(cov_type="cluster", cov_kwds={"groups": "id"})
    np.testing.assert_array_equal(ours.bse, theirs.bse)
    assert not np.allclose(ours.bse, plain.model(k=2).refit().bse, rtol=1e-3)
    classic = path.model(k=2).refit(cov_type="nonrobust")
    np.testing.assert_array_equal(classic.bse, plain.model(k=2).refit().bse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cv = l0path.cv_fit(
            f"{left} ~ a + x + cluster(id)", data, loss=loss, cv=3, max_k=2, random_state=0
        )
    for train, test in cv.splits:
        assert not set(ids[train]) & set(ids[test])


def test_unknown_functions_are_called_so():
    for text, name in (("y ~ sqroot(a) + x", "sqroot"), ("lg(y) ~ a", "lg"), ("y ~ I(c(1))", "c")):
        with pytest.raises(ValueError, match=rf"'{re.escape(name)}' is an unknown function"):
            l0path.fit(text, DATA)
    with pytest.raises(ValueError, match=r"write \(a > 0\) \| \(b > 0\)"):
        l0path.fit("y ~ I(b|2) + x", DATA)
