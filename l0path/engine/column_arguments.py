"""Arguments of `fit` with one entry for each column: choices of columns, bounds, penalty factors.
Every message names the argument, its value and the remedy.
"""

import numpy as np

from ..core.arguments import number, vector
from ..errors import refuse_masked
from ..problem.groups import by_label


def which(value, names, name):
    """Column indices (sorted, unique) from names, integer indices or a boolean mask."""
    p = len(names)
    if value is None:
        return np.empty(0, dtype=np.int64)
    refuse_masked(value, name)
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        value = [value]
    try:
        value = list(value)
    except TypeError as error:
        raise TypeError(
            f"{name} takes column names, integer indices or a boolean mask of length p = {p}, got "
            f"{value!r}"
        ) from error
    if len(value) == p and all(isinstance(v, (bool, np.bool_)) for v in value):
        return np.flatnonzero(value).astype(np.int64)
    at, out = _places([v for v in value if isinstance(v, str)], names), []
    for v in value:
        if isinstance(v, str):
            if v not in at:
                raise ValueError(
                    f"{name}: there is no column {v!r}; the columns are "
                    f"{', '.join(names[:8])}{', ...' if p > 8 else ''}"
                )
            out.append(at[v])
        elif isinstance(v, (int, np.integer)) and not isinstance(v, (bool, np.bool_)):
            if not -p <= v < p:
                raise ValueError(f"{name}: column index {v} is out of range for p = {p} columns")
            out.append(int(v) % p)
        else:
            raise TypeError(
                f"{name} takes column names, integer indices or a boolean mask of length p = {p}, "
                f"got {v!r}"
            )
    return np.unique(np.array(out, dtype=np.int64))


def _places(wanted, names):
    """{name: position}, the first of that name, for those of the wanted names that exist."""
    if isinstance(names, list):
        return {n: j for j, n in reversed(list(enumerate(names)))} if wanted else {}
    out = {}
    for name in wanted:
        try:
            out[name] = names.index(name)
        except ValueError:
            continue
    return out


def bound(value, names, name, default):
    """Bounds (p,) from a scalar, a vector, or a dict / Series by column name; NaN is refused."""
    p = len(names)
    if by_label(value):
        out = np.full(p, default)
        for key, v in dict(value).items():
            out[which(key, names, name)] = number(v, f"{name}[{key!r}]")
    else:
        out = vector(value, p, name, "column of X").copy()
    if np.isnan(out).any():
        raise ValueError(f"{name} contains NaN; use {default} for no bound")
    return out


def costs(penalty_factor, always_include, exclude, names):
    """(factor (p,), forced, excluded) of single columns: indices from names, masks and factors of 0
    and inf.
    """
    p = len(names)
    if by_label(penalty_factor):
        factor = np.ones(p)
        for key, value in dict(penalty_factor).items():
            factor[which(key, names, "penalty_factor")] = number(value, f"penalty_factor[{key!r}]")
    else:
        factor = (
            np.ones(p)
            if penalty_factor is None
            else vector(penalty_factor, p, "penalty_factor", "column of X").copy()
        )
    if np.isnan(factor).any() or (factor < 0).any():
        raise ValueError(
            "penalty_factor must be >= 0 (0: always in, inf: never in), got NaN or negative values"
        )
    forced = np.union1d(
        which(always_include, names, "always_include"), np.flatnonzero(factor == 0)
    ).astype(np.int64)
    out = np.union1d(which(exclude, names, "exclude"), np.flatnonzero(np.isinf(factor))).astype(
        np.int64
    )
    both = np.intersect1d(forced, out)
    if both.size:
        raise ValueError(
            f"always_include and exclude both name {', '.join(names[j] for j in both[:5])}; a "
            "column is either in or out"
        )
    factor[forced] = 0.0
    return factor, forced, out


def check_box(low, high, forced, excluded, names):
    bad = np.flatnonzero(low > high)
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"lower > upper for {bad.size} columns, the first {names[j]}: {low[j]:g} > "
            f"{high[j]:g}; swap them"
        )
    bad = np.flatnonzero((np.isposinf(low) | np.isneginf(high)) & ~excluded)
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"lower and upper leave no number for {names[j]}: [{low[j]:g}, {high[j]:g}]; give "
            "finite bounds, or -inf and inf for none"
        )
    free = ~excluded
    free[forced] = False
    bad = np.flatnonzero(free & ((low > 0) | (high < 0)))
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"the box of {names[j]} is [{low[j]:g}, {high[j]:g}] and leaves out 0, so the column "
            "could not be left out; widen it, or put the column into always_include"
        )
