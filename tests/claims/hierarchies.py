"""Random small problems whose models keep a hierarchy: terms of a formula, or the features of a
polynomial design.
"""

import formulaic
import numpy as np
import pandas as pd
from hierarchies import keeps, parents, parts
from oracles import FAMILIES

import l0path

from .instances import (
    KINDS,
    LOSSES,
    SQUARED,
    Instance,
    boxes,
    penalties,
    sizes_or_values,
)
from .responses import numbers, response
from .weights import OFTEN, repeated, weighted

# no coding rests on other terms than those that the names tell
TEXTS = (
    "(a + b + c) ** 2",
    "(a + b + x) ** 2",
    "a*c + b*d + x",
    "(a + x) ** 2 + I(a ** 2) + I(x ** 2) + d",
    "a/c + b + c:d",
    "z*d + a*c",  # z is constant
    "(a + s + d) ** 2",  # s is a copy of a, or a + b
    "0 + c*a + b",
    "a*b*d",
    "c*d + a",
)
FAR = "far_from_origin"


def hierarchical(seed):
    """The problem of a seed."""
    rng = np.random.default_rng([15, seed])
    squared = rng.random() < SQUARED
    loss = "squared" if squared else str(rng.choice([*LOSSES[1:], *FAMILIES]))
    kind = str(rng.choice([name for name in KINDS if name != "wide"]))
    rule, n = str(rng.choice(["strong", "weak"])), int(rng.integers(8, 41))
    # products of columns far from 0 that are not centered are near combinations in the user's units
    make = _polynomial if rng.random() < 0.5 or kind == FAR else _formula
    given, F, terms, options, tag = make(rng, n, kind, rule)
    p, units = F.shape[1], [list(at) for at in terms.values()]
    Z = F - F.mean(axis=0)
    Z /= np.where(Z.std(axis=0) > 1e-12, Z.std(axis=0), np.inf)
    signal = Z @ (rng.normal(size=p) * (rng.random(p) < 0.5))
    y = response(loss, np.clip(signal, -50, 50), rng)
    options |= {"loss": loss, "heredity": rule}
    penalties(rng, loss, options)
    record = {"X": F, "y": y, "loss": loss, "weights": None, "offset": None}
    record |= {"intercept": options.get("fit_intercept", "0 + " not in tag)}
    record |= {"standardize": bool(rng.random() < 0.75), "gamma": float(rng.choice([0.25, 1.0]))}
    record["delta"] = float(np.abs(y).mean() * rng.choice([0.1, 0.5, 1.345]) + 1e-3)
    options["standardize"] = record["standardize"]
    copies = weighted(rng, loss, record, options)
    if rng.random() < 0.2:
        options["offset"] = record["offset"] = rng.normal(size=n) * 0.4
    record = repeated(record, copies)
    if tag == "polynomial":
        _leave_out(record, terms)
    _box(rng, p, record, options, isinstance(given, str))
    held, barred = _held(rng, list(terms), rule, options)
    if loss in FAMILIES:
        numbers(rng, loss, record, options)
    options |= {"delta": record["delta"]} if loss == "huber" else {}
    options |= {"gamma": record["gamma"]} if loss == "smoothed_hinge" else {}
    _search(rng, len(units), loss, options)
    if isinstance(given, str):
        y = options.pop("data").assign(y=y)
    factor = np.where(np.isin(np.arange(len(units)), held), 0.0, 1.0)
    every = [j for g in held for j in units[g]]
    action = str(rng.choice(["none", "certify", "certify", "n_best"]))
    return Instance(
        seed, kind, record, sorted(every), [], factor, units, given, y, options, action,
        [rule, tag], held, barred, list(terms), rule,
    )  # fmt: skip


def _polynomial(rng, n, kind, rule):
    """(X for fit, features (n, p), {term: its columns}, options, what it is) of a polynomial."""
    X = KINDS[kind](rng, n, int(rng.integers(2, 4)))
    more = {
        "center": bool(rng.random() < 0.7) or kind == FAR,
        "interaction_only": bool(rng.random() < 0.3),
    }
    names = list("abx"[: X.shape[1]])
    design = l0path.designs.polynomial(X, names=names, **more)
    terms = {name: [j] for j, name in enumerate(design.names)}
    F = design.columns(np.arange(design.p))
    options = {"fit_intercept": bool(rng.random() < 0.8)}
    return design, F, terms, options, "polynomial"


def _leave_out(record, terms):
    """Products of columns that are constant in the rows in use are never features where there is an
    intercept: they are combinations of the others.
    """
    F, w = record["X"], record["weights"]
    rows = slice(None) if w is None else w > 0
    single = {term: at[0] for term, at in terms.items() if sum(parts(term).values()) == 1}
    constant = {term for term, j in single.items() if np.ptp(F[rows, j]) == 0}
    for term, at in terms.items():
        if record["intercept"] and term not in single and constant & parts(term).keys():
            F[:, at] = 0.0


def _formula(rng, n, kind, rule):
    """The same of a formula and a table, which is the option `data` on the way."""
    frame = pd.DataFrame(KINDS[kind](rng, n, 3), columns=list("abx"))
    frame["z"] = 1.0
    frame["s"] = frame.a if rng.random() < 0.5 else frame.a + frame.b
    for name, levels in (("c", "uvw"), ("d", "pq")):
        drawn = rng.choice(list(levels), n)
        drawn[: len(levels)] = list(levels)
        frame[name] = drawn
    text = str(rng.choice(TEXTS))
    made = formulaic.model_matrix(text, frame)
    at, first = made.model_spec.term_slices, int(not text.startswith("0"))
    terms = {
        str(term): list(range(columns.start - first, columns.stop - first))
        for term, columns in at.items()
        if str(term) != "1"
    }
    F = np.asarray(made, dtype=float)[:, first:]
    return f"y ~ {text}", F, terms, {"data": frame}, text


def _box(rng, p, record, options, one_number):
    record |= {"lower": np.full(p, -np.inf), "upper": np.full(p, np.inf)}
    if rng.random() > 0.2:
        return
    if one_number:
        low, high = rng.choice([0.0, -0.2, -np.inf]), rng.choice([np.inf, 0.5])
        record |= {"lower": np.full(p, low), "upper": np.full(p, high)}
        options |= {"lower": float(low), "upper": float(high)}
    else:
        record["lower"], record["upper"] = boxes(rng, p)
        options["lower"], options["upper"] = record["lower"], record["upper"]


def _held(rng, terms, rule, options):
    """(numbers of the terms in every model, of those in none) of some names in the options."""
    held, barred, needs = [], [], parents(terms, rule)
    draw = rng.random()
    if draw < 0.15:
        named = terms[rng.integers(len(terms))]
        inside = {named, *needs[named]} if rule == "strong" else {named, *needs[named][:1]}
        while rule == "weak" and not keeps(inside, terms, rule):
            inside |= {needs[term][0] for term in inside if needs[term]}
        options["always_include"] = [named] if rule == "strong" else sorted(inside)
        held = [g for g, term in enumerate(terms) if term in inside]
    elif draw < 0.3:
        barred = [int(rng.integers(len(terms)))]
        options["exclude"] = [terms[barred[0]]]
    return held, barred


def _search(rng, most, loss, options):
    sizes_or_values(rng, most, options)
    if rng.random() < 0.8 and "k" not in options:
        options["max_k"] = most
    if rng.random() < 0.15:
        options["algorithm"] = "exact"
    if rng.random() < OFTEN:
        options["certify"] = True
    elif loss == "squared" and rng.random() < 0.5:
        options["certify"] = False
