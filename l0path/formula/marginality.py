"""Interactions of a model that stand without the terms that they contain.

A term T that contains a factor is coded against the factor's first level if an earlier term of the
formula spans S, what is left of T without the factor (and perhaps without other factors); usually
that is S itself. A model with T and without that term says that S has no effect at the first level:
another first level gives another model. This is a break of marginality through a factor (Nelder,
JRSS A 140, 1977). Where no earlier term spans S, formulaic codes T by all levels of the factor.
"""

from itertools import combinations
from typing import NamedTuple


class Interaction(NamedTuple):
    """A term that contains a factor, the numbers of its columns, and {term that it needs: its
    columns}.
    """

    term: str
    columns: tuple
    lower: dict


def interactions(formula):
    """Terms of a fitted `Formula` that are coded against the first level of a factor because of
    other terms, with these.
    """
    columns = dict(formula.terms)
    parts = {str(t): frozenset(f.expr for f in t.factors) for t in formula.parsed()[1]}
    factors = formula.categorical()
    out = []
    for term, at in columns.items():
        coded, lower = sorted(parts[term] & factors), {}
        for left in (set(c) for r in range(len(coded)) for c in combinations(coded, r + 1)):
            rest = parts[term] - left
            if not rest and formula.intercept:
                continue
            first = next(u for u in columns if parts[u] >= rest and parts[u] - rest <= factors)
            if first != term:
                lower[first] = columns[first]
        if lower:
            out.append(Interaction(term, tuple(at), lower))
    return out
