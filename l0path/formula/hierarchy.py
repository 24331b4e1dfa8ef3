"""Hierarchies of terms: which terms an interaction, a product or a square needs beside it in a
model, and sets of terms that are closed in this sense.

Under the strong rule a term needs all of its parents, under the weak rule one of them (Chipman,
Canadian Journal of Statistics 24, 1996; marginality is the strong rule: Nelder, JRSS A 140, 1977).
A closed set can be grown to a larger one, and shrunk to a smaller one, a term at a time, so that
every number of terms has its closed sets.
"""

import ast
import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..designs.features.polynomial import Polynomial
from .marginality import interactions
from .tree import Unreadable, read

SHOWN = 5  # terms that a note names
MOST_POWERS = 12  # a higher power is a function like any other
AS_THEMSELVES = ("I", "center", "scale", "standardize")  # shifts and multiples of their argument
BASES = ("bs", "cc", "cr", "cs", "ns", "poly")  # which another origin of their column leaves alone
SHRUNK = (
    "shrinkage and bounds are about coefficients in the coding of the formula, factors against "
    "their first levels and numbers from their origins, so models with products depend on which "
    "these are"
)
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

    def exchanges(self, members, inside):
        """(K, G): with which units outside in the place of each of some members of a closed set it
        is closed, see `instead`.
        """
        if self.rule == WEAK:
            every = [self.instead(g, inside) for g in members]
            return np.array(every, dtype=bool).reshape(len(members), inside.size)
        may_leave = self.removable(inside)[members]
        return may_leave[:, None] & ~self.needs[:, members].T & (self.met(inside) & ~inside)

    def largest(self, inside):
        """The largest closed set (G,) within a set of units."""
        while not self.closed(inside):
            inside = inside & self.met(inside)
        return inside

    def chains(self, units, inside, free):
        """Ways to bring one of some units outside into a closed set by units that are `free` (G,):
        arrays of the units that are missing, with itself. Under the strong rule there is one way at
        most, under the weak rule one over each parent.
        """
        if self.rule == WEAK:
            return [way for g in units for way in self._over_parents(g, inside, free)]
        missing = self.needs[units] & ~inside
        missing[np.arange(len(units)), units] = True
        missing = missing[~(missing & ~free).any(axis=1)]
        every = np.nonzero(missing)[1]
        return np.split(every, np.cumsum(missing.sum(axis=1))[:-1]) if every.size else []

    def _over_parents(self, g, inside, free):
        """`chains` of one unit under the weak rule."""
        if self.met(inside)[g]:
            return [np.array([g])]
        lacking = np.flatnonzero(self.needs[g] & ~inside & free)
        ways = [self._over_parents(h, inside, free) for h in lacking]
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


class NoHierarchy:
    """As `Hierarchy` of units of which none needs another: every set of them is closed."""

    def met(self, inside):
        """As `Hierarchy.met`."""
        return np.ones(inside.size, dtype=bool)

    def closed(self, inside):
        """As `Hierarchy.closed`."""
        return True

    def removable(self, inside):
        """As `Hierarchy.removable`."""
        return inside

    def instead(self, g, inside):
        """As `Hierarchy.instead`."""
        return ~inside

    def exchanges(self, members, inside):
        """As `Hierarchy.exchanges`."""
        return np.repeat(~inside[None], len(members), axis=0)

    def largest(self, inside):
        """As `Hierarchy.largest`."""
        return inside


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


def _product(text):
    """{what an expression is a product of: how often}. A shift or a multiple of a product is as
    good as itself: beside what it contains and an intercept it spans the same columns.
    """
    try:
        found = _counted(read(text).body)
    except Unreadable:  # a column whose name is none of Python
        found = None
    return found or Counter({text: 1})


def _counted(node):
    """The Counter of a node; empty for numbers."""
    if isinstance(node, ast.Constant):
        return Counter()
    if isinstance(node, ast.Name):
        return Counter({node.id.strip("`"): 1})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _counted(node.operand)
    if isinstance(node, ast.Call) and node.args and not isinstance(node.func, ast.Attribute):
        if node.func.id in AS_THEMSELVES:
            return _counted(node.args[0])
    if isinstance(node, ast.BinOp):
        left, right, op = _counted(node.left), _counted(node.right), type(node.op)
        if op is ast.Mult:
            return left + right
        if (op is ast.Div and not right) or (op in (ast.Add, ast.Sub) and not (left and right)):
            return left + right
        whole = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if op is ast.Pow and left and whole and 0 < node.right.value <= MOST_POWERS:
            return Counter({base: power * node.right.value for base, power in left.items()})
    return Counter({ast.unparse(node): 1})


def _parts(term):
    """{what a term is a product of: how often}."""
    out = Counter()
    for factor in term.factors:
        if factor.eval_method.value == "lookup":
            out[factor.expr] += 1
        elif factor.eval_method.value == "python":
            out += _product(factor.expr)
    return out


def _within(part):
    """All that is contained in a product, but for itself and the constant."""
    powers = itertools.product(*(range(power + 1) for power in part.values()))
    for some in powers:
        count = sum(some)
        if 0 < count < sum(part.values()):
            yield frozenset((base, power) for base, power in zip(part, some, strict=True) if power)


def contained(formula):
    """{number of a term of a fitted `Formula`: numbers of the terms that it contains}: a, b and a:b
    for a:b:c; a for I(a ** 2); a and b for I(a * b). Terms that contain none are left out.
    """
    parts = {str(term): _parts(term) for term in formula.parsed()[1]}
    at = {}
    for g, (name, _) in enumerate(formula.terms):
        at.setdefault(frozenset(parts[name].items()), []).append(g)
    out = {}
    for g, (name, _) in enumerate(formula.terms):
        found = [h for inside in _within(parts[name]) for h in at.get(inside, ())]
        if found:
            out[g] = sorted(found)
    return out


def parents_in(formula):
    """`contained`, with the terms that the coding of a term rests on, as that of d:a does on c:a in
    "y ~ c:a + d:a" with factors c and d.
    """
    out, at = contained(formula), {name: g for g, (name, _) in enumerate(formula.terms)}
    for one in interactions(formula):
        g = at[one.term]
        out[g] = sorted({*out.get(g, ()), *(at[name] for name in one.lower)})
    return out


def of_terms(formula, rule):
    """The `Hierarchy` of the terms of a fitted `Formula`.

    The parents of a term are those that it contains. Under the weak rule only the largest of them
    are parents, a:b for a:b:c. Under the strong rule also those that its coding rests on.
    """
    needs = np.zeros((len(formula.terms), len(formula.terms)), dtype=bool)
    for g, parents in (contained if rule == WEAK else parents_in)(formula).items():
        needs[g, parents] = True
    if rule == WEAK:  # what a parent contains itself is no parent
        needs &= ~_in_two_steps(needs)
    return hierarchy(rule, needs)


def lacking(formula):
    """[(term, what it needs)] of the products whose next smaller products are not in the formula:
    with another origin of a number they would be combinations with these.
    """
    factors = formula.categorical()
    parts = {str(term): _parts(term) for term in formula.parsed()[1]}
    known = {frozenset(part.items()) for part in parts.values()}
    out = []
    for name, _ in formula.terms:
        part = parts[name]
        for base in part if sum(part.values()) > 1 else ():
            if base in factors or base.partition("(")[0] in BASES:
                continue
            rest = part - Counter({base: 1})
            if frozenset(rest.items()) not in known:
                out.append((name, _spelled(rest)))
    return out


def _spelled(part):
    """A product as a term."""
    return ":".join(base if power == 1 else f"I({base} ** {power})" for base, power in part.items())


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
        elif formula is not None and ours and parents_in(formula):
            rule = STRONG if len(formula.terms) <= MOST_UNITS else None
        rule = None if unserved or not ours else rule
    alone = _alone(formula) if formula is not None else []
    if rule is None:
        return None, groups, alone
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
    return found, groups, [*_notes(heredity, found), *alone]


def _alone(formula):
    """A note on terms of the formula whose smaller products are not in it."""
    found = lacking(formula)
    if not found:
        return []
    by_term = {}
    for name, rest in found:
        by_term.setdefault(name, []).append(rest)
    text = "; ".join(
        f"{name} without {' and '.join(rest)}" for name, rest in list(by_term.items())[:SHOWN]
    )
    more = f"; and {len(by_term) - SHOWN} more" if len(by_term) > SHOWN else ""
    return [
        "the formula has products without the smaller products that they contain, so models with "
        f"them depend on where the numbers have their origin: {text}{more}; add these terms, or "
        "center the columns where zero has no meaning"
    ]


def marginality_notes(formula, models, constant, shrunk):
    """Notes about models [(k, support)] of a path by `formula` that depend on the first level of a
    factor or on the origin of a number: those that have a term without what it contains, and, where
    there are such terms, those whose coefficients are shrunk or bounded (`shrunk`).

    constant : columns that no model can have and no model needs.
    """
    names, columns = zip(*formula.terms, strict=True) if formula.terms else ((), ())
    found = parents_in(formula)
    shrinkage, sizes, lower = [SHRUNK] if found and shrunk else [], {}, {}
    constant = set(constant.tolist())
    for k, support in models if found else ():
        inside = set(support.tolist())
        there = inside | constant
        for g, needs in found.items():
            if inside.isdisjoint(columns[g]):
                continue
            out = [names[h] for h in needs if not there.issuperset(columns[h])]
            if out:
                sizes.setdefault(names[g], set()).add(k)
                lower.setdefault(names[g], {}).update(dict.fromkeys(out))
    if not sizes:
        return shrinkage
    text = "; ".join(
        f"{term} without {' and '.join(lower[term])} (k = {', '.join(map(str, sorted(at)))})"
        for term, at in list(sizes.items())[:SHOWN]
    )
    more = f"; and {len(sizes) - SHOWN} more" if len(sizes) > SHOWN else ""
    return [
        "terms stand without terms that they contain, so these models depend on the first levels "
        f"of factors and the origins of numbers: {text}{more}; name the lower terms in "
        "always_include= to keep them in every model, or pass heredity='strong'",
        *shrinkage,
    ]


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
