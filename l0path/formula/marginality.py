"""Interactions of a model that stand without the terms that they contain.

A term T that contains a factor is coded against the factor's first level if an earlier term of the
formula spans S, what is left of T without the factor (and perhaps without other factors); usually
that is S itself. A model with T and without that term says that S has no effect at the first level:
another first level gives another model. This is a break of marginality through a factor (Nelder,
JRSS A 140, 1977). Where no earlier term spans S, formulaic codes T by all levels of the factor.
"""

from itertools import combinations
from typing import NamedTuple

SHOWN = 5  # terms that a note names
SHRUNK = (
    "shrinkage and bounds are about coefficients in the coding of the factors against their first "
    "levels, so these models depend on which levels are the first ones"
)


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
    levels = formula.state["levels"] if formula.state else {}
    factors = {expr for expr, (kind, _) in levels.items() if kind == "categorical"}
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


def breaks(found, support, constant):
    """[(interaction, lower terms that the model lacks)] of a model with the columns `support`.

    found : what `interactions` gave. constant : columns that no model can have and no model needs.
    """
    inside = set(support)
    there = inside | set(constant)
    out = []
    for one in found:
        if inside.isdisjoint(one.columns):
            continue
        lacking = [term for term, columns in one.lower.items() if not there.issuperset(columns)]
        if lacking:
            out.append((one.term, lacking))
    return out


def marginality_notes(formula, models, constant, shrunk):
    """Notes about models [(k, support)] of a path by `formula` that depend on the first level of a
    factor: those that break marginality, and, where there are interactions with a factor, those
    whose coefficients are shrunk or bounded (`shrunk`).
    """
    found, sizes, lower = interactions(formula), {}, {}
    shrinkage = [SHRUNK] if found and shrunk else []
    for k, support in models if found else ():
        for term, lacking in breaks(found, support.tolist(), constant.tolist()):
            sizes.setdefault(term, set()).add(k)
            lower.setdefault(term, {}).update(dict.fromkeys(lacking))
    if not sizes:
        return shrinkage
    text = "; ".join(
        f"{term} without {' and '.join(lower[term])} (k = {', '.join(map(str, sorted(at)))})"
        for term, at in list(sizes.items())[:SHOWN]
    )
    more = f"; and {len(sizes) - SHOWN} more" if len(sizes) > SHOWN else ""
    return [
        "interactions with a factor stand without terms that they contain, so these models depend "
        f"on the factor's first level: {text}{more}; name the lower terms in always_include= to "
        "keep them in every model, or pass heredity='strong'",
        *shrinkage,
    ]
