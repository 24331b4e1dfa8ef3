"""Interactions without the terms they contain: the note names exactly the models whose fit depends
on the first level of a factor.
"""

from itertools import chain, combinations, product

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.formula import opened
from l0path.formula.marginality import interactions


def table(n=120, seed=0):
    """y depends on the slope of a in level w of c, and on d in level v of c."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.standard_normal(n) for name in "ax"})
    frame["c"], frame["d"] = rng.choice(["u", "v", "w"], n), rng.choice(["p", "q"], n)
    effect = 2.0 * frame.a * (frame.c == "w") + 1.5 * (frame.d == "q") * (frame.c == "v")
    frame.insert(0, "y", effect + rng.standard_normal(n))
    return frame


DATA = table()
FORMULAS = [
    "y ~ a*c",
    "y ~ a:c",
    "y ~ a + a:c",
    "y ~ c + a:c",
    "y ~ c*d",
    "y ~ d + c:d",
    "y ~ a*x",
    "y ~ c*a*d",
    "y ~ a + c:d + a:c:d",
    "y ~ c + d:a + a:c:d",
    "y ~ c + d + c:a - 1",
    "y ~ c:a + d:a",
    "y ~ 0 + c:d + a:d",
    "y ~ C(c)*a + x",
    "y ~ bs(a, df=4)*d",
]


def encodings(text):
    """[(X (n, p), terms)] for every pair of first levels of c and d; ones first with intercept."""
    out = []
    for firsts in product("uvw", "pq"):
        data = DATA.copy()
        for name, first in zip("cd", firsts, strict=True):
            levels = sorted(data[name].unique(), key=lambda v, first=first: (v != first, v))
            data[name] = pd.Categorical(data[name], categories=levels)
        encoded, _, _ = opened(text, data, {})
        out.append((np.asarray(encoded.X, dtype=float), dict(encoded.formula.terms)))
    return out


def residual(X, columns, intercept):
    """Residual sum of squares of the columns."""
    A = np.column_stack([np.ones((len(X), int(intercept))), X[:, columns]])
    return np.sum((DATA.y - A @ np.linalg.lstsq(A, DATA.y)[0]) ** 2)


def lacking(interaction, support):
    """Whether a model with the columns `support` has an interaction, and lacks a term it needs."""
    inside = set(support)
    return not inside.isdisjoint(interaction.columns) and any(
        not inside.issuperset(columns) for columns in interaction.lower.values()
    )


@pytest.mark.parametrize("text", FORMULAS)
def test_a_model_breaks_marginality_exactly_where_the_first_level_matters(text):
    formula = opened(text, DATA, {})[0].formula
    terms, coded = dict(formula.terms), encodings(text)
    subsets = chain.from_iterable(combinations(terms, r) for r in range(len(terms) + 1))
    for chosen in subsets:
        rss = [
            residual(X, [j for term in chosen for j in at[term]], formula.intercept)
            for X, at in coded
        ]
        depends = np.ptp(rss) > 1e-8 * max(rss)
        support = [j for term in chosen for j in terms[term]]
        broken = any(lacking(one, support) for one in interactions(formula))
        assert broken == depends, chosen


def notes_of(path):
    return [note for note in path.notes if "first level" in note]


def test_the_note_names_term_parents_and_sizes():
    path = l0path.fit("y ~ a*c + x", DATA, heredity=None)
    alone = [m.k for m in path if "a:c" in m.groups and "a" not in m.groups]
    assert alone == [1, 2]
    (note,) = notes_of(path)
    assert "a:c without a and c (k = 1, 2);" in note and "always_include" in note
    assert not notes_of(l0path.fit("y ~ a*c + x", DATA, heredity=None, always_include=["a", "c"]))
    assert not notes_of(l0path.fit("y ~ a*c + x", DATA))
    assert not notes_of(l0path.fit("y ~ a*x + c", DATA))
    folds = {"cv": 3, "random_state": 0, "heredity": None, "lambda2": 0}
    assert notes_of(l0path.cv_fit("y ~ a*c + x", DATA, **folds))
    (single,) = notes_of(l0path.fit("y ~ a*c + x", DATA, groups=False, max_k=1))
    assert "a:c without a and c (k = 1)" in single


def test_constant_columns_of_a_lower_term_are_not_missed():
    data = DATA.assign(z=1.0)
    path = l0path.fit("y ~ z*c", data, max_k=2)
    assert not notes_of(path)
