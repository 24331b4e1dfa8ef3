"""Models of a formula depend neither on origins and units of numbers nor on reference levels."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.formula import opened
from l0path.formula.hierarchy import STRONG, lacking, of_terms

NUMBERS, FACTORS = ("a", "b", "x"), ("c", "d")


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({name: rng.standard_normal(n) + rng.normal() for name in NUMBERS})
    data["c"], data["d"] = rng.choice(["u", "v", "w"], n), rng.choice(["p", "q"], n)
    effect = data.a * data.b + data.x**2 + 2.0 * (data.c == "v") - data.a * (data.d == "q")
    return data.assign(y=effect + 1.5 * rng.standard_normal(n))


DATA = table()


def shifted(data, rng):
    """The same rows with other origins, units and reference levels."""
    out = data.copy()
    for name in NUMBERS:
        out[name] = (data[name] + rng.uniform(-20, 20)) * rng.uniform(0.2, 5)
    for name in FACTORS:
        levels = rng.permutation(sorted(data[name].unique()))
        out[name] = pd.Categorical(data[name], categories=levels)
    return out


PARENTS = [
    ("a + b + a:b", {"a:b": ["a", "b"]}),
    ("a + b + I(a * b)", {"I(a * b)": ["a", "b"]}),
    ("a + b + I((a - 3) / 4 * -b + 1)", {"I((a - 3) / 4 * -b + 1)": ["a", "b"]}),
    ("a + I(a ** 2)", {"I(a ** 2)": ["a"]}),
    ("a + {a ^ 2} + I(a^3)", {"a ** 2": ["a"], "I(a ** 3)": ["a", "a ** 2"]}),
    ("scale(a) + b + center(a):b", {"center(a):b": ["scale(a)", "b"]}),
    ("a + b + log(x) + I(a / b) + exp(a)", {}),
    ("log(x) + b + log(x):b", {"log(x):b": ["log(x)", "b"]}),
    ("a + poly(b, 2) + bs(x, df=4)", {}),
    ("a + poly(b, 2) + a:poly(b, 2)", {"a:poly(b, 2)": ["a", "poly(b, 2)"]}),
    ("a + c + a:c", {"a:c": ["a", "c"]}),
    ("a + b + I(a*b) + a:b", {"I(a * b)": ["a", "b"], "a:b": ["a", "b"]}),
    ("I(a + b) + I((a + b)^2)", {"I((a + b) ** 2)": ["I(a + b)"]}),
    (
        "a*b + I(a^2) + I(a^2):b",
        {"I(a ** 2)": ["a"], "a:b": ["a", "b"], "I(a ** 2):b": ["a", "b", "I(a ** 2)", "a:b"]},
    ),
]


@pytest.mark.parametrize("text, parents", PARENTS)
def test_parents_of_products(text, parents):
    formula = opened(f"y ~ {text}", DATA.assign(x=np.abs(DATA.x)), {})[0].formula
    names = [name for name, _ in formula.terms]
    needs = of_terms(formula, STRONG).needs
    found = {
        names[g]: {names[h] for h in np.flatnonzero(row)}
        for g, row in enumerate(needs)
        if row.any()
    }
    assert found == {name: set(of) for name, of in parents.items()}
    assert lacking(formula) == []


def test_products_without_what_they_contain_are_named():
    data = DATA.assign(z=DATA.a > 0)
    for text, named in (
        ("y ~ a:b + x", "a:b without b and a"),
        ("y ~ a + I(a^3)", r"I\(a \*\* 3\) without I\(a \*\* 2\)"),
        ("y ~ a + I(a*b)", r"I\(a \* b\) without b"),
        ("y ~ a:c + x", "a:c without c"),
        ("y ~ x + poly(a, 2):b", r"poly\(a, 2\):b without poly\(a, 2\)"),
    ):
        path = l0path.fit(text, data, max_k=2)
        note = [n for n in path.notes if "products without the smaller" in n]
        assert len(note) == 1 and re.search(named, note[0]), text
    for text in ("y ~ a*b", "y ~ poly(a, 3) + log(abs(b))", "y ~ c/a", "y ~ I(a/b) + x"):
        path = l0path.fit(text, data, max_k=2)
        assert not any("products without" in note for note in path.notes), text


def test_auto_keeps_numbers_and_none_names_them():
    path = l0path.fit("y ~ (a + b + x)**2 + I(x^2)", DATA)
    assert path._meta.groups.hierarchy.rule == "strong"
    for model in path:
        for term in model.groups:
            assert set(term.split(":")) <= set(model.groups) or term == "I(x ** 2)"
    free = l0path.fit("y ~ (a + b + x)**2 + I(x^2)", DATA, heredity=None)
    alone = [m.k for m in free if "a:b" in m.groups and not {"a", "b"} <= set(m.groups)]
    assert alone and any(
        re.search(rf"a:b without .* \(k = .*{alone[0]}", note) for note in free.notes
    )
    ridge = l0path.fit("y ~ (a + b)**2", DATA, lambda2=0.1)
    assert any("numbers from their origins" in note for note in ridge.notes)
    assert not any("origins" in n for n in l0path.fit("y ~ a + b", DATA, lambda2=0.1).notes)
    wide = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 70)))
    wide = wide.rename(columns="v{}".format).assign(y=wide[3])
    path = l0path.fit("y ~ (" + " + ".join(f"v{j}" for j in range(70)) + ")**2", wide, max_k=1)
    assert path._meta.groups is None  # more terms than a search of closed sets takes


def random_formula(rng):
    """Terms with all that they contain, spelled in several ways."""
    chosen = set()
    for _ in range(rng.integers(2, 5)):
        count = rng.integers(1, 4)
        part = tuple(sorted(rng.choice([*NUMBERS, *NUMBERS, *FACTORS], size=count)))
        part = tuple(v for i, v in enumerate(part) if v in NUMBERS or v not in part[:i])
        for size in range(1, len(part) + 1):
            chosen.update(itertools.combinations(part, size))

    def spelled(part):
        powers = {v: part.count(v) for v in part}
        if len(part) == 2 and set(part) <= set(NUMBERS) and len(powers) == 2 and rng.random() < 0.5:
            return f"I({part[0]} * {part[1]})"
        words = [
            v if p == 1 else f"I({v}{rng.choice(['^', ' ** '])}{p})" for v, p in powers.items()
        ]
        return ":".join(words)

    every = sorted(chosen, key=lambda part: (len(part), part))
    return " + ".join(spelled(part) for part in every)


def check(seed):
    rng = np.random.default_rng(seed)
    text, loss = random_formula(rng), ("squared", "logistic", "poisson")[seed % 3]
    left = {"squared": "y", "logistic": "{y > 1}", "poisson": "count"}[loss]
    data = table(150, seed)
    data["count"] = rng.poisson(np.exp(np.clip(0.3 * data.y, -3, 2)))
    other = shifted(data, rng)
    paths = [l0path.fit(f"{left} ~ {text}", d, loss=loss, max_k=6) for d in (data, other)]
    assert len(paths[0]) == len(paths[1])
    for one, two in zip(*paths, strict=True):
        assert set(one.groups) == set(two.groups), (text, one.k)
        if one.details["status"] == two.details["status"] == "separated":
            continue  # no optimum: where coefficients stopped on the way to infinity
        assert two.objective == pytest.approx(one.objective, rel=1e-9)
        np.testing.assert_allclose(
            paths[1].predict(other, k=two.k), paths[0].predict(data, k=one.k), rtol=1e-8, atol=1e-8
        )


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("seed", range(5))
def test_models_of_random_formulas_have_no_origin(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("seed", range(200))
def test_models_of_two_hundred_random_formulas_have_no_origin(seed):
    check(1000 + seed)


def test_predictions_do_not_lose_digits_far_from_the_origin():
    """Normal equations of products of numbers far from 0 left 7 digits where rows leave 11."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "c"])
    data["f"] = rng.choice(["u", "v", "w"], 200)
    data["y"] = data.a * data.c + (data.f == "v") * data.a + rng.standard_normal(200)
    other = data.assign(a=0.1 * data.a + 32.0, c=1.8 * data.c + 32.0)
    one, two = (l0path.fit("y ~ a * c * f", d) for d in (data, other))
    for k in range(len(one)):
        np.testing.assert_allclose(
            two.predict(other, k=k), one.predict(data, k=k), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    "terms", ["a * c * f", "a + c + scale(a):c + I(c**2) + I(c^3) + scale(c):a"]
)
@pytest.mark.parametrize("loss", ["logistic", "poisson", "cox", "multinomial"])
def test_predictions_of_other_losses_do_not_lose_digits_far_from_the_origin(loss, terms):
    """Newton steps on columns whose coefficients cancel end where rounding hides the descent."""
    rng = np.random.default_rng(6)
    data = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "c"])
    data["f"] = rng.choice(["u", "v", "w"], 200)
    eta = 0.4 * (data.a * data.c + (data.f == "v") * data.a)
    data["logistic"] = (eta + rng.logistic(size=200) > 0).astype(str)
    data["poisson"] = rng.poisson(np.exp(eta))
    data["cox"], data["event"] = rng.exponential(np.exp(-eta)), rng.random(200) < 0.7
    data["multinomial"] = np.digitize(eta + rng.logistic(size=200), [-1, 1]).astype(str)
    left = "Surv(cox, event)" if loss == "cox" else loss
    other = data.assign(a=0.1 * data.a + 6.0, c=data.c + 60.0)
    one, two = (l0path.fit(f"{left} ~ {terms}", d, loss=loss) for d in (data, other))
    assert len(one) == len(two)
    for k in range(len(one)):
        found = [np.asarray(path.predict(d, k=k)) for path, d in ((one, data), (two, other))]
        if loss == "cox":  # which has no level
            found = [eta - eta.mean() for eta in found]
        np.testing.assert_allclose(*found, rtol=0.0, atol=1e-9)
