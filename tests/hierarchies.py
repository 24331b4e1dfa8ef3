"""The definition of a hierarchy of terms, from their names: what contains what, and which sets keep
a rule.
"""

import re


def parts(term):
    """{variable: its power} of the name of a term: a:b, I(a ** 2), or a^2 of a polynomial."""
    out = {}
    for piece in term.split(":"):
        square = re.fullmatch(r"I\((\w+) \*\* 2\)|(\w+)\^2", piece)
        name, power = (square[1] or square[2], 2) if square else (piece, 1)
        out[name] = out.get(name, 0) + power
    return out


def contains(term, other):
    """Whether a term is another one times something."""
    mine, its = parts(term), parts(other)
    return mine != its and all(mine.get(name, 0) >= power for name, power in its.items())


def parents(terms, rule):
    """{term: those it needs}: all that it contains, or under the weak rule the largest of these,
    of which one is enough.
    """
    out = {}
    for term in terms:
        lower = [other for other in terms if contains(term, other)]
        if rule == "weak":
            lower = [one for one in lower if not any(contains(two, one) for two in lower)]
        out[term] = lower
    return out


def keeps(inside, every, rule):
    """Whether a set of terms has what each of them needs among all terms."""
    there, needs, enough = set(inside), parents(every, rule), all if rule == "strong" else any
    return all(enough(other in there for other in needs[term]) for term in there if needs[term])
