"""Expressions of formulas: their values are those of Python, and all else is refused."""

import numpy as np
import pandas as pd
import pytest
from formula_samples import DATA

import l0path
from l0path.formula.tree import Unreadable, Values, compute, read

ROWS = pd.DataFrame(
    {
        "a": [1.5, -2.0, 3.25, 0.5],
        "b": [4, 7, -3, 2],
        "small": np.array([100, 120, -7, 3], dtype=np.int8),
        "byte": np.array([200, 3, 7, 90], dtype=np.uint8),
        "flag": [True, False, True, True],
        "my col": [1.0, 2.0, 3.0, 4.0],
        "c": ["u", "v", "u", "w"],
    }
)


def value(text, rows=ROWS, **env):
    return compute(read(text), Values(dict(rows.items()), env, {}, True))


@pytest.mark.parametrize(
    "text",
    [
        "a + b * 2 - 1",
        "-a ** 2",
        "2 ** -a",
        "b // 2 + b % 3",
        "(a > 0) & (b < 5) | ~(a < 1)",
        "0 < a",
        "a + flag",
        "np.log1p(np.abs(a)) / np.sqrt(b ** 2)",
        "np.where(a > 0, b, -1)",
        "np.clip(a, -1, 1) + np.round(a, 1)",
        "np.maximum(a, b) * np.pi",
        "np.arctan2(a, b)",
        "abs(b)",
    ],
)
def test_values_are_those_of_python(text):
    expected = eval(text, {"np": np}, dict(ROWS.items()))
    np.testing.assert_allclose(np.asarray(value(text)), np.asarray(expected), rtol=1e-15)


def test_what_python_has_no_sign_for():
    np.testing.assert_array_equal(value("0 < a < 2"), (ROWS.a > 0) & (ROWS.a < 2))
    np.testing.assert_array_equal(value("a > 0 and not b > 3"), (ROWS.a > 0) & ~(ROWS.b > 3))
    np.testing.assert_array_equal(value("c == 'u' or a < 0"), (ROWS.c == "u") | (ROWS.a < 0))
    np.testing.assert_array_equal(value("c != 'u'"), ROWS.c != "u")
    np.testing.assert_array_equal(value("`my col` * 2"), 2 * ROWS["my col"])
    np.testing.assert_array_equal(value("Q('my col') * 2"), 2 * ROWS["my col"])
    ordered = ROWS.assign(c=pd.Categorical(ROWS.c, ["u", "v", "w"], ordered=True))
    np.testing.assert_array_equal(value("c < 'w'", ordered), ROWS.c != "w")
    np.testing.assert_array_equal(value("f(a, k=2)", f=lambda v, k: v**k), ROWS.a**2)


def test_small_whole_numbers_do_not_wrap():
    """An int8 squared is 16 for 100, an unsigned byte less 201 is 255: NumPy's columns wrap."""
    np.testing.assert_array_equal(value("small ** 2"), [10000, 14400, 49, 9])
    np.testing.assert_array_equal(value("small * small + small"), [10100, 14520, 42, 12])
    np.testing.assert_array_equal(value("byte - 201"), [-1, -198, -194, -111])
    np.testing.assert_array_equal(value("-byte"), [-200, -3, -7, -90])
    np.testing.assert_array_equal(value("abs(small - 127 - 1)"), [28, 8, 135, 125])
    np.testing.assert_array_equal(value("flag + flag"), [2, 0, 2, 2])
    large = pd.DataFrame({"b": [3_000_000_000, 7]})
    np.testing.assert_allclose(value("b ** 3", large), [2.7e28, 343.0])
    exact = pd.DataFrame({"b": [100_000_000_000_000_003, 7]})
    np.testing.assert_array_equal(value("b // 10", exact), [10_000_000_000_000_000, 0])
    assert np.isinf(value("1 / (b - 7)", exact)[1]) and np.isnan(value("(b - 7) // 0", exact)[1])
    path = l0path.fit("y ~ I(s**2)", DATA.assign(s=np.arange(90, dtype=np.int8)), max_k=1)
    assert path.predict(pd.DataFrame({"s": np.array([80], dtype=np.int8)}), k=1).iloc[
        0
    ] == pytest.approx(path.coef(k=1).iloc[0] + 6400 * path.coef(k=1).iloc[1])
    assert read("9 ** 9 ** 9 ** 9") and np.isinf(value("9 ** 9 ** 9 ** 9"))  # at once


NO_PART = [
    "__import__('os').system('true')",
    "a.__class__",
    "a.sum()",
    "np.load('f')",
    "np.linalg.norm(a)",
    "np.add.reduce(a)",
    "np.frompyfunc",
    "np.random.rand(3)",
    "[v for v in a]",
    "(lambda v: v)(a)",
    "a if a else b",
    "f(*a)",
    "f(**a)",
    "a[0]",
    "f'{a}'",
    "b'a'",
    "1j",
    "(v := a)",
    "a @ b",
    "a << 2",
    "a in b",
    "a is b",
    "{*a}",
    "{**a}",
    "...",
    "contr.__class__",
    "f(a)(b)",
    "Q(a)",
    "a; b",
    "import os",
    "yield a",
    "-" * 100_000 + "a",
    "(" * 5_000 + "a" + ")" * 5_000,
    "a" + "+a" * 20_000,
]


@pytest.mark.parametrize("text", NO_PART, ids=lambda text: text[:30])
def test_what_is_none_of_formulas_is_refused(text):
    with pytest.raises(Unreadable, match=r"is no part of a formula|cannot be read"):
        read(text)


@pytest.mark.parametrize(
    "text, match",
    [
        ("a | b", "joins comparisons"),
        ("a > 0 & b > 0", r"write \(a > 0\) & \(b > 0\)"),
        ("~b", "joins comparisons"),
        ("c + 1", "'c' is of (object|str)"),
        ("'x' * 9", "text, and arithmetic"),
        ("[a] * 9", "arithmetic takes numbers"),
        ("c == 1", "compared with '1'; write text in quotes"),
        ("np.log(a, b)", "takes 1 argument, got 2"),
        ("poly(a, 10 ** 9)", "up to 1000"),
        ("bs(a, df=10 ** 9)", "up to 1000"),
    ],
)
def test_what_has_no_value_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        value(text)


def test_texts_have_one_spelling():
    assert read("np.log( a+b )^2").text == "np.log(a + b) ** 2"
    assert read("f(`my col`, '^')").text == "f(`my col`, '^')"
    assert read("f(`a^b`) + Q('x y')").names == ("a^b", "x y")
    assert read("np.exp(f(a) + contr.sum(b))").calls == ("np.exp", "f", "contr.sum")
    data = DATA.assign(**{"np.exp(a)": 1.0})
    with pytest.raises(ValueError, match=r"a column named 'np.exp\(a\)'.*in backticks, or rename"):
        l0path.fit("y ~ np.exp(a) + x", data)
    named = l0path.fit("y ~ `np.exp(a)` + x", data.assign(**{"np.exp(a)": DATA.x * DATA.a}))
    assert named.names == ["np.exp(a)", "x"]
    np.testing.assert_allclose(
        named.coef(k=2), l0path.fit("y ~ {x * a} + x", DATA).coef(k=2).to_numpy()
    )


def test_columns_named_alike_in_backticks_keep_what_was_learned(tmp_path):
    """formulaic names "a b" a_b, or something random where there is such a column."""
    data = DATA.rename(columns={"my col": "a b"}).assign(a_b=DATA.x**2)
    path = l0path.fit("y ~ scale(`a b`) + a_b + poly(`a b`, 2)", data)
    path.save(tmp_path / "path.npz")
    back, few = l0path.load(tmp_path / "path.npz"), data.iloc[:3]
    np.testing.assert_array_equal(back.predict(few, k=3), path.predict(data, k=3)[:3])
