"""Hierarchies of terms: which terms an interaction, a product or a square needs beside it in a
model, and sets of terms that are closed in this sense.

Under the strong rule a term needs all of its parents, under the weak rule one of them (Chipman,
Canadian Journal of Statistics 24, 1996; marginality is the strong rule: Nelder, JRSS A 140, 1977).
A closed set can be grown to a larger one, and shrunk to a smaller one, a term at a time, so that
every number of terms has its closed sets.
"""

import ast
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..designs.features.polynomial import Polynomial
from .marginality import interactions

STRONG, WEAK = "strong", "weak"
MOST_UNITS = 2000  # units whose hierarchy the search keeps at most: all of them are at hand then


class Hierarchy(NamedTuple):
    """The parents of G units, which are numbered as groups are.

    Attributes
    ----------
    rule : str
        "strong" or "weak".
    needs : ndarray of bool, shape (G, G)
        needs[g, h]: h is a parent of g; under the strong rule all ancestors are.
    """

    rule: str
    needs: np.ndarray

    def met(self, inside):
        """(G,) whether the needs of a unit are met by the units `inside` (G,) bool."""
        if self.rule == STRONG:
            return ~(self.needs & ~inside).any(axis=1)
        return (self.needs & inside).any(axis=1) | ~self.needs.any(axis=1)

    def closed(self, inside):
        """Whether a set of units has all that they need."""
        return bool(self.met(inside)[inside].all())

    def removable(self, inside):
        """(G,) the units of a closed set without any one of which it is closed."""
        own = self.needs[inside] & inside
        if self.rule == WEAK:
            own = own[own.sum(axis=1) == 1]
        return inside & ~own.any(axis=0)

    def instead(self, g, inside):
        """(G,) the units outside with one of which in the place of its member g a set is closed.
        Under the weak rule another parent may take the place of one.
        """
        rest = inside.copy()
        rest[g] = False
        met = self.met(rest)
        out, orphans = met & ~inside, rest & ~met
        if orphans.any():
            out &= self.needs[orphans].all(axis=0) & (self.rule == WEAK)
        return out

    def largest(self, inside):
        """The largest closed set (G,) within a set of units."""
        while not self.closed(inside):
            inside = inside & self.met(inside)
        return inside

    def chains(self, g, inside, free):
        """Ways to bring unit g into a closed set by units that are `free` (G,): arrays of the units
        that are missing, with g. Under the strong rule there is one way at most, under the weak
        rule one over each parent.
        """
        lacking = self.needs[g] & ~inside
        if self.rule == STRONG:
            lacking[g] = True
            return [np.flatnonzero(lacking)] if free[lacking].all() else []
        if self.met(inside)[g]:
            return [np.array([g])]
        ways = [self.chains(h, inside, free) for h in np.flatnonzero(lacking & free)]
        return [np.sort(np.append(min(way, key=len), g)) for way in ways if way]

    def less(self, present):
        """The hierarchy where the units `present` (G,) are in every model, or in the span of every
        model.
        """
        if self.rule == STRONG:
            return self._replace(needs=self.needs & ~present)
        return self._replace(needs=self.needs & ~(self.needs & present).any(axis=1)[:, None])

    def without(self, out):
        """(G,) the units that no closed set has where the units `out` are in none."""
        while True:
            more = out | ~self.met(~out)
            if (more == out).all():
                return out
            out = more

    def with_parents(self, inside):
        """(G,) some units, and under the strong rule what they need."""
        return inside | self.needs[inside].any(axis=0) if self.rule == STRONG else inside


def hierarchy(rule, needs):
    """The `Hierarchy` of a matrix of parents."""
    needs = needs & ~np.eye(len(needs), dtype=bool)
    while rule == STRONG:
        more = needs | _in_two_steps(needs)
        if (more == needs).all():
            break
        needs = more
    return Hierarchy(rule, needs)


def _in_two_steps(needs):
    """Parents of parents; float32, whose products are fast, counts them to 2^24."""
    counts = needs.astype(np.float32)
    return counts @ counts > 0


# -------------------- of formulas


def _powers(expression):
    """(base, power) of I(a ** 2) and {a ** 2}; the expression itself to the power 1 for others."""
    try:
        node = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return expression, 1
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "I" and len(node.args) == 1:
        node = node.args[0]
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
        and node.right.value > 1
    ):
        return ast.unparse(node.left), node.right.value
    return expression, 1


def _parts(term):
    """{what a term is a product of: how often}."""
    out = Counter()
    for factor in term.factors:
        if factor.eval_method.value != "literal":
            base, power = _powers(factor.expr)
            out[base] += power
    return out


def of_terms(formula, rule):
    """The `Hierarchy` of the terms of a fitted `Formula`.

    The parents of a term are those that it contains: a, b and a:b for a:b:c; a for I(a ** 2). Under
    the weak rule only the largest of them are parents, a:b for a:b:c. Under the strong rule also
    those that its coding rests on, as d:a does on c:a in "y ~ c:a + d:a" with factors c and d.
    """
    parts = {str(term): _parts(term) for term in formula.parsed()[1]}
    terms = [parts[name] for name, _ in formula.terms]
    needs = ~np.eye(len(terms), dtype=bool)
    for base in dict.fromkeys(base for term in terms for base in term):
        power = np.array([term[base] for term in terms])
        needs &= power[:, None] >= power
    needs &= ~needs.T  # the same written twice
    if rule == WEAK:  # what a parent contains itself is no parent
        return hierarchy(rule, needs & ~_in_two_steps(needs))
    at = {name: g for g, (name, _) in enumerate(formula.terms)}
    for one in interactions(formula):
        needs[at[one.term], [at[name] for name in one.lower]] = True
    return hierarchy(rule, needs)


def contains_factor(formula):
    """Whether an interaction of a fitted `Formula` contains a factor, and a term that it rests on
    is in the formula.
    """
    levels = formula.state["levels"] if formula.state else {}
    factors = {expr for expr, (kind, _) in levels.items() if kind == "categorical"}
    mixed = {
        str(term)
        for term in formula.parsed()[1]
        if len(term.factors) > 1 and factors & {f.expr for f in term.factors}
    }
    if not mixed:
        return False
    needs = of_terms(formula, STRONG).needs
    return any(needs[g].any() for g, (name, _) in enumerate(formula.terms) if name in mixed)


# -------------------- of polynomials


def of_products(names, rule):
    """The `Hierarchy` of the features of a polynomial design: the parents of x_j x_k are x_j and
    x_k, that of a square is the column.
    """
    every = np.arange(len(names))
    needs = np.zeros((every.size, every.size), dtype=bool)
    for parents in names.parents(every):
        needs[every, parents] = True
    return hierarchy(rule, needs)


# -------------------- what was asked for


def asked_hierarchy(heredity, table, groups, unserved):
    """(`Hierarchy` or None, groups=, notes) of the argument heredity= of a fit.

    Parameters
    ----------
    heredity : str or None
        "strong", "weak", None or "auto".
    table : Encoded
        The columns; `formula` where a formula made them.
    groups : object
        The argument groups=.
    unserved : str
        What of the fit cannot keep a hierarchy, as a text with its remedy; "" for nothing.
    """
    if heredity is not None and not (
        isinstance(heredity, str) and heredity in (STRONG, WEAK, "auto")
    ):
        raise ValueError(f"heredity={heredity!r} must be 'strong', 'weak', None or 'auto'")
    formula, rule = table.formula, heredity
    product = formula is None and isinstance(table.X, Polynomial)
    ours = formula.counts_terms if formula is not None else groups is None
    if heredity == "auto":
        rule = None
        if product:
            rule = table.X.heredity
        elif formula is not None and ours and contains_factor(formula):
            rule = STRONG
        rule = None if unserved or not ours else rule
    if rule is None:
        return None, groups, []
    if unserved:
        raise ValueError(f"heredity={rule!r} is not served with {unserved}; or pass heredity=None")
    if formula is None and not product:
        raise ValueError(
            f"heredity={rule!r} needs to know which columns are products of which: pass a formula, "
            "such as 'y ~ (a + b) ** 2', or l0path.designs.polynomial(X); or leave heredity= out"
        )
    if not ours:
        raise ValueError(
            f"heredity={rule!r} is about the terms of a formula, or the features of a polynomial "
            "design, as they are; leave groups= out, or pass heredity=None"
        )
    if product:
        _few(len(table.X.names), rule)
        found, groups = of_products(table.X.names, rule), list(table.X.names)
    else:
        _few(len(formula.terms), rule)
        found = of_terms(formula, rule)
        groups = [term for term, at in formula.terms for _ in at]
    return found, groups, _notes(heredity, found)


def _few(count, rule):
    """Refuse more units than the search of closed sets takes."""
    if count > MOST_UNITS:
        raise ValueError(
            f"heredity={rule!r} is kept by the search among at most {MOST_UNITS} terms, and here "
            f"are {count}; make fewer (polynomial(..., heredity=, parents=) restricts products to "
            "those of columns that a path of main effects chose), or pass heredity=None"
        )


def _notes(heredity, found):
    if not found.needs.any():
        return []
    what = "all the terms" if found.rule == STRONG else "one of the largest terms"
    chosen = "" if heredity == found.rule else f" ({heredity!r} chose it; None keeps nothing)"
    return [
        f"heredity={found.rule!r}{chosen}: a term that contains others enters with {what} that it "
        "contains, and 'global' and other claims compare a model with others of this kind"
    ]
