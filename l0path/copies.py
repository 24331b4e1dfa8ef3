"""Columns that equal another one: which of them may be left out, because no optimum changes.

A column j that equals a column i can be left out where every model with j has one with i in its
place that is as good. Moving b_j over to b_i changes neither the loss nor, at best, lambda1 ||b||_1,
and the model has no more columns than before. It takes:

* lambda2 = 0 in every slice: a ridge rewards a pair that shares one coefficient;
* no finite bound on j or i: two columns in a box reach twice as far as one;
* i may be chosen, and costs no more (penalty_factor, 0 where it is always included);
* no groups: a column that equals one of another group is needed by its own.

Everywhere else an equal column is a column like any other.
"""

from itertools import groupby

import numpy as np

from .designs import duplicates


def equal_columns(data, usable, second):
    """Lists of usable columns that are equal entry by entry, two or more each; second (p,): their
    mean squares, as they are in X, by which most columns are told apart.
    """
    if data.groups is not None:
        return []
    J = np.flatnonzero(usable)
    first = {j: i for j, i in duplicates(data.design, second)}
    members = sorted((first.get(j, j), j) for j in J.tolist() if j in first or j in first.values())
    classes = [[j for _, j in part] for _, part in groupby(members, key=lambda pair: pair[0])]
    return [columns for columns in classes if len(columns) > 1]


def spare_copies(data, classes, ridge):
    """Pairs (m, 2) of a column that may be left out and the one that stands for it; ridge: whether
    lambda2 > 0 in any slice.
    """
    pairs = []
    loose = np.isneginf(data.lower) & np.isposinf(data.upper)
    forced = set(data.forced.tolist())
    for columns in classes if not ridge else ():
        free = [j for j in columns if loose[j]]
        if free:
            kept = min(free, key=lambda j: (j not in forced, data.factor[j], j))
            pairs += [(j, kept) for j in free if j != kept and j not in forced]
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def copy_notes(classes, pairs, names):
    """Notes: which columns were left out in favour of which, and which equal ones were not."""
    notes, out = [], dict(pairs.tolist())
    if out:
        some = [f"{names[j]} (equal to {names[i]})" for j, i in list(out.items())[:5]]
        notes.append(
            f"{len(out)} column{'s' if len(out) > 1 else ''} left out, which changes no optimum: "
            + ", ".join(some)
            + (", ..." if len(out) > 5 else "")
        )
    rest = [[names[j] for j in columns if j not in out] for columns in classes]
    rest = [" = ".join(few[:5]) for few in rest if len(few) > 1]
    if rest:
        notes.append(
            "equal columns that are chosen like any others, because with a ridge, a bound or "
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
