"""Columns that equal another one: how they are found, and which of them may be left out, because no
optimum changes.

A column j that equals a column i can be left out where every model with j has one with i in its
place that is as good. Moving b_j over to b_i changes neither the loss nor, at best, lambda1 |b|_1,
and the model has no more columns than before. It takes:

* lambda2 = 0 in every slice: a ridge rewards a pair that shares one coefficient;
* no finite bound on j or i: two columns in a box reach twice as far as one;
* i may be chosen, and costs no more (penalty_factor, 0 where it is always included);
* no groups: a column that equals one of another group is needed by its own.

Everywhere else an equal column is a column like any other.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from ..core.types import Design
from .protocol import traits_of

PART = 1 << 16  # columns that `duplicates` compares at a time
SEED = 8128  # of the two random directions that `duplicates` looks along


def equal_columns(data, usable, second):
    """Lists of usable columns that are equal entry by entry, two or more each; second (p,): their
    mean squares, as they are in X, by which most columns are told apart.
    """
    if data.groups is not None:
        return []
    equal = {}
    for j, first in duplicates(data.design, second):
        equal.setdefault(first, [first]).append(j)
    classes = ([j for j in columns if usable[j]] for _, columns in sorted(equal.items()))
    return [columns for columns in classes if len(columns) > 1]


def spare_copies(data, classes, ridge):
    """Pairs (m, 2) of a column that may be left out and the one that stands for it; ridge: whether
    lambda2 > 0 in any slice.
    """
    pairs = []
    unbounded = np.isneginf(data.lower) & np.isposinf(data.upper)
    forced = set(data.forced.tolist())
    for columns in classes if not ridge else ():
        free = [j for j in columns if unbounded[j]]
        if free:
            kept = min(free, key=lambda j: (j not in forced, data.factor[j], j))
            pairs += [(j, kept) for j in free if j != kept and j not in forced]
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def copy_notes(classes, pairs, names):
    """Notes: which columns were left out in favor of which, and which equal ones were not."""
    notes, out = [], dict(pairs.tolist())
    if out:
        some = [f"{names[j]} (equal to {names[i]})" for j, i in list(out.items())[:5]]
        notes.append(
            f"{len(out)} feature{'s' if len(out) > 1 else ''} left out, which changes no optimum: "
            + ", ".join(some)
            + (", ..." if len(out) > 5 else "")
        )
    rest = [[names[j] for j in columns if j not in out] for columns in classes]
    rest = [" = ".join(few[:5]) for few in rest if len(few) > 1]
    if rest:
        notes.append(
            "equal features that are chosen like any others, because with a ridge, a bound or "
            "always_include a model may need more than one of them: "
            + ", ".join(rest[:5])
            + (", ..." if len(rest) > 5 else "")
        )
    return notes


def without_copies(data, problem, ridge):
    """(pairs as in `spare_copies`, notes) of the data of a problem."""
    classes = equal_columns(data, problem.usable, problem.square * problem.X.scale**2)
    pairs = spare_copies(data, classes, ridge)
    return pairs, copy_notes(classes, pairs, data.names)


def directions(n: int) -> np.ndarray:
    """Two random vectors, always the same vectors; equal columns have equal products with them.

    Parameters
    ----------
    n : int
        The number of rows.

    Returns
    -------
    ndarray of shape (n, 2)
        The directions.
    """
    return np.random.default_rng(SEED).standard_normal((n, 2))


def duplicates(design: Design, second: np.ndarray | None = None) -> list[tuple[int, int]]:
    """Pairs of columns that are equal entry by entry; constant columns are left out.

    Columns with the same second moment, where it is known, and the same products with two random
    vectors may be equal; these are compared exactly (by a 128-bit digest). Pass the unscaled
    design.

    Parameters
    ----------
    design : design
        The columns.
    second : ndarray of shape (p,), optional
        Their second moments. None if they are not known.

    Returns
    -------
    list of (int, int)
        Sorted pairs (j, first), j > first: column j equals column `first`.
    """
    J = np.arange(design.p) if second is None else _close(second)
    if J.size > 64:
        sketches = design.correlate(directions(design.n))[J]
        J = J[
            np.union1d(*(_close(sketch) for sketch in sketches.T))
            # equal columns may differ here by rounding; with a sum near zero that may be much, but
            # not
            # along both directions
        ]
    first, pairs = {}, []
    contents = design.contents(J) if traits_of(design).contents else _contents(design, J)
    for j, content in zip(J.tolist(), contents, strict=True):
        if content is None:
            continue
        earlier = first.setdefault(blake2b(content, digest_size=16).digest(), j)
        if earlier != j:
            pairs.append((j, earlier))
    return pairs


def _contents(design, J):
    """Bytes that are equal where columns are, one after the other; None for a constant column."""
    width = max(1, (1 << 21) // design.n)
    for start in range(0, J.size, width):
        for column in design.columns(J[start : start + width]).T + 0.0:  # + 0.0 turns -0.0 into 0.0
            yield None if (column == column[0]).all() else column.tobytes()


def _close(x):
    """Positions, sorted, of the entries of x that have another one within 1e-9, relative."""
    order, found = np.argsort(x), [np.empty(0, dtype=np.intp)]
    for start in range(
        0, x.size, PART
    ):  # in parts: new memory for vectors of length p costs more than what is done with them
        here = order[start : start + PART + 1]
        value = x[here]
        close = np.flatnonzero(
            np.diff(value) <= 1e-9 * np.maximum(np.abs(value[1:]), np.abs(value[:-1]))
        )
        found += [here[close], here[close + 1]]
    return np.unique(np.concatenate(found))
