"""Weights of the rows of random small problems: importance on any scale, copies, trials of shares.

`sample_weight` is handed over times a constant, which means nothing, and rows with copies are
written as often as these say, which is the definition of `freq_weight`.
"""

import numpy as np
import survival
from oracles import CLASSES

OFTEN, SELDOM = 0.35, 0.12
MOST_ROWS = 200  # beyond, copies are weights of the oracle (equal but for tied deaths)
COUNTS = ("poisson", "negative_binomial", "tweedie")


def weighted(rng, loss, record, options):
    """Draw weights into the options, and the weights of rows into the record; copies (n,) or
    None.
    """
    n, drawn = len(record["X"]), {}
    if loss == "binomial" and rng.random() < 0.5:
        drawn["trials"] = 4.0 * rng.integers(1, 6, n) if rng.random() < 0.7 else _importance(rng, n)
    if rng.random() < OFTEN:
        drawn["sample_weight"] = _importance(rng, n)
    if rng.random() < 0.2:
        drawn["freq_weight"] = _copies(rng, n, loss)
    if not drawn:
        return None
    each = record["y"].T if np.ndim(record.get("v")) and loss != "several" else [record["y"]]
    for rows in [rows for y in each for rows in _needed(loss, y, n)]:  # one of each has weight
        if not np.prod([part[rows] for part in drawn.values()], axis=0).any():
            for part in drawn.values():
                part[rows[0]] = max(part[rows[0]], 1.0)
    copies = drawn.pop("freq_weight", None)
    if drawn:
        record["weights"] = np.prod(list(drawn.values()), axis=0)
    if "sample_weight" in drawn:
        drawn["sample_weight"] = drawn["sample_weight"] * 10.0 ** rng.integers(-9, 10)
    options |= drawn
    if copies is not None:
        options["freq_weight"] = copies
    return copies


def _importance(rng, n):
    how = rng.choice(["real", "whole", "zeros", "wide", "extreme", "heavy rows"])
    w = {
        "real": rng.uniform(0.2, 2, n),
        "whole": rng.integers(1, 4, n).astype(float),
        "zeros": rng.integers(0, 3, n).astype(float),
        "wide": 10.0 ** rng.uniform(-2, 2, n),
        "extreme": 10.0 ** rng.uniform(-4, 4, n),
        "heavy rows": np.where(rng.random(n) < 0.3, 10.0 ** rng.integers(6, 11), 1.0),
    }[how]
    return w


def _copies(rng, n, loss):
    if loss != "cox" and rng.random() < 0.2:
        return 10.0 ** rng.integers(0, 8, n)
    return rng.integers(rng.integers(2), 4, n).astype(float)


def _needed(loss, y, n):
    """Sets of rows each of which needs a positive weight."""
    if loss in CLASSES or loss in ("multinomial", "ordinal"):
        sets = [y == label for label in np.unique(y)]
    elif loss in ("cox", "weibull"):
        sets = [y.event > 0]
    elif loss in COUNTS:
        sets = [y > 0]
    elif loss == "binomial":
        sets = [(y > 0) & (y < 1)]
    else:
        sets = []
    return [*map(np.flatnonzero, sets), np.arange(n // 2), np.arange(n // 2, n)]


def repeated(record, copies):
    """The record with each row as often as its copies say."""
    if copies is None:
        return record
    if record["loss"] != "cox" and copies.sum() > MOST_ROWS:
        w = record["weights"]
        return record | {"weights": copies if w is None else w * copies}
    rows = np.repeat(np.arange(copies.size), copies.astype(int))
    out = dict(record)
    for name in ("X", "y", "weights", "offset"):
        part = record[name]
        if isinstance(part, survival.Times):
            out[name] = part._replace(**{f: a[rows] for f, a in part._asdict().items()})
        elif part is not None:
            out[name] = part[rows]
    return out
