"""Groups of columns: what `fit(groups=)` takes, as arrays.

With groups the penalty counts groups. Let C be the chosen ones; columns may belong to several
groups, and the coefficients are sums of one part for each chosen group,

    beta = sum_{g in C} v^(g),   v^(g)_j = 0 for j not in g
    (latent groups: Jacob, Obozinski & Vert, ICML 2009, eq. (2)),

so that a column may be used as soon as one of its groups is chosen. Shrinkage and bounds are those
of beta, which parts of a sum cannot change; without overlap v^(g) is beta on g.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..designs.names import column_index, places_of
from ..errors import refuse_masked
from ..formula.hierarchy import Hierarchy

LABEL_TYPES = (str, bool, int, float, np.generic)


class Groups(NamedTuple):
    """G groups. Every column is in one group or more. They are the units that sizes count; without
    groups these are the columns, `one_each`.
    """

    labels: list  # [G]
    columns: np.ndarray  # group g has columns[start[g] : start[g + 1]], ascending
    start: np.ndarray  # (G + 1,)
    factor: np.ndarray  # (G,), multiplies lambda0; 0: always in, inf: never
    hierarchy: Hierarchy | None = None  # which groups need others in a model
    unit: str = "group"  # what messages call one of them

    def of(self, g):
        """Columns of a group."""
        return self.columns[self.start[g] : self.start[g + 1]]

    def owners(self):
        """(G,)-numbers of the groups that the entries of `columns` belong to."""
        return np.repeat(np.arange(len(self.labels)), np.diff(self.start))

    def having(self, columns):
        """Groups that have one of these columns, ascending."""
        return np.unique(self.owners()[np.isin(self.columns, columns)])

    def selectable(self, usable):
        """(G,) groups that may be chosen: neither forced nor excluded, with a column that is
        `usable` (p,).
        """
        return np.isfinite(self.factor) & (self.factor > 0) & self.with_columns(usable)

    def with_columns(self, usable):
        """(G,) groups that have a column that is `usable` (p,)."""
        owners = self.owners()[usable[self.columns]]
        return np.bincount(owners, minlength=len(self.labels)) > 0

    def alone(self, free, forced):
        """(G,) those of the groups `free` (G,) that the forced ones let into a model."""
        if self.hierarchy is None:
            return free
        return free & self.hierarchy.met(np.isin(np.arange(free.size), forced))

    @property
    def overlap(self):
        """Whether a column is in more than one group."""
        return np.bincount(self.columns).max() > 1

    def named(self, label):
        """Number of the group of a label, -1 for none."""
        return next(
            (g for g, own in enumerate(self.labels) if type(own) is type(label) and own == label),
            -1,
        )


def one_each(labels, factor):
    """The columns as units, `Groups` of one column each; labels: their names; factor (p,)."""
    p = factor.size
    return Groups(labels, np.arange(p), np.arange(p + 1), factor, unit="feature")


def make_groups(value, names):
    """`Groups` with factor 1 from p labels, {label: columns} or a list of columns each; columns are
    names or indices. A column in no group is a group of its own, under its name.
    """
    p, place = len(names), places_of(names)
    if isinstance(value, dict):
        pairs = [
            (label, _columns(columns, names, f"groups[{label!r}]", place))
            for label, columns in value.items()
        ]
    elif isinstance(value, (str, bytes)) or not np.iterable(value):
        raise TypeError(
            f"groups={value!r} must be labels, one for each of the p = {p} columns, {{label: "
            f"columns}}, or a list of lists of columns"
        )
    else:
        listed = _listed(value, names)
        nested = (
            []
            if isinstance(listed, np.ndarray)
            else [
                isinstance(v, (list, tuple, set, range, np.ndarray, pd.Index, pd.Series))
                for v in listed
            ]
        )
        if nested and all(nested):
            pairs = [
                (i, _columns(columns, names, f"groups[{i}]", place))
                for i, columns in enumerate(listed)
            ]
        elif any(nested):
            raise TypeError(
                f"groups mixes labels and lists of columns (entry {nested.index(True)} is a list); "
                f"give p = {p} labels, or lists only"
            )
        else:
            pairs = _labeled(listed, p)
    return _assemble(pairs, names)


def _listed(value, names):
    """The entries of a sequence; a Series that is labeled by the column names is brought into
    their order.
    """
    if (
        isinstance(value, pd.Series)
        and not value.index.equals(pd.RangeIndex(len(value)))
        and value.index.is_unique
        and set(map(str, value.index)) == set(names)
    ):
        value = value.rename(index=str).loc[names]
    refuse_masked(value, "groups")
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise ValueError(
            f"groups has shape {value.shape}; give one label per column, a vector, or lists of "
            "columns"
        )
    return (
        np.asarray(value)
        if isinstance(value, (np.ndarray, pd.Series, pd.Index)) and value.dtype.kind in "iufb"
        else list(value)
    )


def _labeled(labels, p):
    """(label, columns) pairs of p labels, in order of first appearance; None and NaN: no group."""
    if len(labels) != p:
        raise ValueError(
            f"groups has {len(labels)} labels, but X has p = {p} columns; give one label per "
            f"column, {{label: columns}}, or a list of lists of columns"
        )
    if isinstance(labels, list):
        values = np.empty(p, dtype=object)
        values[:] = labels
        labels = values
    codes, own = pd.factorize(labels)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(own) + 1))
    return [(own[g], order[bounds[g] : bounds[g + 1]]) for g in range(len(own))]


def _columns(value, names, what, place):
    """Ascending column indices of one group from names and indices; place: of `places_of`, which
    many groups share.
    """
    value = (
        [value]
        if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
        else value
    )
    if not np.iterable(value):
        raise TypeError(f"{what}={value!r} must be column names or indices")
    out = []
    for v in value:
        j = column_index(v, names, place, what)
        if j is None:
            raise TypeError(f"{what} has the entry {v!r}; give column names or indices")
        out.append(j)
    if not out:
        raise ValueError(f"{what} is empty; leave the group out, or give it columns")
    if len(set(out)) < len(out):
        repeated = next(j for j in out if out.count(j) > 1)
        raise ValueError(f"{what} has column {names[repeated]} twice; list each column once")
    return np.array(sorted(out), dtype=np.int64)


def _assemble(pairs, names):
    """`Groups` of (label, columns) pairs, lone columns behind them."""
    for label, _ in pairs:
        if not isinstance(label, LABEL_TYPES):
            raise TypeError(
                f"groups has the label {label!r} of type {type(label).__name__}; use strings, "
                "numbers or bools as labels"
            )
    covered = np.zeros(len(names), dtype=bool)
    if pairs:
        covered[np.concatenate([columns for _, columns in pairs])] = True
    pairs = [
        *pairs,
        *((names[j], np.array([j], dtype=np.int64)) for j in np.flatnonzero(~covered).tolist()),
    ]
    texts = [str(label) for label, _ in pairs]
    if len(set(texts)) < len(texts):
        label = next(label for i, (label, _) in enumerate(pairs) if texts[i] in texts[:i])
        raise ValueError(
            f"groups has the label {label!r} twice (as text; a column in no group is a group under "
            "its own name); rename one"
        )
    start = np.concatenate([[0], np.cumsum([columns.size for _, columns in pairs])]).astype(
        np.int64
    )
    labels = [label.item() if isinstance(label, np.generic) else label for label, _ in pairs]
    return Groups(
        labels, np.concatenate([columns for _, columns in pairs]), start, np.ones(len(pairs))
    )


def with_factors(groups, factor, always_include, exclude, by_columns):
    """(Groups with their factors, factor (p,), forced (indices), excluded (indices)) from factors
    of groups and what `always_include` and `exclude` name.

    Labels name groups, whatever else a string could name; other entries name columns, by
    by_columns(value, name) -> indices. A column to be included brings in all its groups; a column
    to be excluded leaves every group, one of an excluded label stays where it is in other groups
    too.
    """
    labels, rest = _split(always_include, groups)
    inside = np.union1d(groups.having(by_columns(rest, "always_include")), labels).astype(np.int64)
    labels, rest = _split(exclude, groups)
    outside = np.union1d(np.flatnonzero(np.isinf(factor)), labels).astype(np.int64)
    out = by_columns(rest, "exclude")
    inside = np.union1d(inside, np.flatnonzero(factor == 0)).astype(np.int64)
    both = np.intersect1d(
        inside,
        np.union1d(
            outside,
            np.flatnonzero([np.isin(groups.of(g), out).all() for g in range(len(groups.labels))])
            if out.size
            else [],
        ),
    )
    if both.size:
        raise ValueError(
            f"always_include and exclude both name group {groups.labels[int(both[0])]!r}; a group "
            "is either in or out"
        )
    factor = factor.copy()
    factor[inside], factor[outside] = 0.0, np.inf
    return _by_column(groups, factor, out)


def _by_column(groups, factor, out):
    """What `with_factors` returns, from factors of groups and excluded columns `out`."""
    each = np.full(int(groups.columns.max()) + 1, np.inf)
    np.minimum.at(each, groups.columns, factor[groups.owners()])
    out = np.union1d(out, np.flatnonzero(np.isinf(each))).astype(np.int64)
    forced = np.setdiff1d(np.flatnonzero(each == 0), out)
    return groups._replace(factor=factor), each, forced, out


def with_hierarchy(groups, out, hierarchy):
    """(what `with_factors` returned, notes) where the groups keep a hierarchy: a group that cannot
    have what it needs is excluded too, and what an included one needs is included.
    """
    held, owners = groups.factor == 0, groups.owners()
    empty = np.bincount(owners[~np.isin(groups.columns, out)], minlength=held.size) == 0
    banned = np.isinf(groups.factor) | empty
    inside, outside = hierarchy.with_parents(held), hierarchy.without(banned)

    def labels(which):
        return ", ".join(str(groups.labels[g]) for g in np.flatnonzero(which))

    rule = f"heredity={hierarchy.rule!r}"
    if (inside & banned).any():
        raise ValueError(
            f"{rule}: always_include={labels(held)} needs {labels(inside & banned)}, which "
            "exclude= keeps out; change one of them, or pass heredity=None"
        )
    if not hierarchy.closed(inside):
        bad = int(np.flatnonzero(inside & ~hierarchy.met(inside))[0])
        raise ValueError(
            f"{rule}: always_include names {groups.labels[bad]} and none of "
            f"{labels(hierarchy.needs[bad])}, of which it needs one; name one of them too, or pass "
            "heredity=None"
        )
    notes = []
    if (inside & ~held).any():
        notes.append(f"{rule}: always_include brings in {labels(inside & ~held)} as well")
    if (outside & ~banned).any():
        notes.append(f"{rule}: exclude keeps out {labels(outside & ~banned)} as well")
    factor = np.where(inside, 0.0, np.where(outside, np.inf, groups.factor))
    return _by_column(groups._replace(hierarchy=hierarchy), factor, out), notes


def posed_groups(groups, usable, excluded):
    """The `Groups` of a problem, whose hierarchy asks for nothing that is in every model, or
    constant; usable, excluded (p,).
    """
    if groups is None or groups.hierarchy is None:
        return groups
    owners, count = groups.owners(), len(groups.labels)
    kept = np.bincount(owners[usable[groups.columns]], minlength=count) > 0
    allowed = np.bincount(owners[~excluded[groups.columns]], minlength=count) > 0
    present = (groups.factor == 0) | (np.isfinite(groups.factor) & allowed & ~kept)
    return groups._replace(hierarchy=groups.hierarchy.less(present))


def _split(value, groups):
    """(numbers of the groups that string entries name, what is left)."""
    if value is None:
        return [], None
    entries = [value] if isinstance(value, str) else value
    if isinstance(entries, (int, np.integer)) or not np.iterable(entries):
        return [], value
    entries = list(entries)
    found = [groups.named(v) if isinstance(v, str) else -1 for v in entries]
    return [g for g in found if g >= 0], [v for v, g in zip(entries, found, strict=True) if g < 0]


def by_label(value):
    """Whether values come by name: a dict, or a Series that names labels it."""
    return isinstance(value, dict) or (
        isinstance(value, pd.Series) and not pd.api.types.is_integer_dtype(value.index)
    )


def _named_factor(value, groups, names):
    """(G,) penalty factors from {label of a group, or column: factor}, 1 for those not named; the
    columns of a group are named together or not at all.
    """
    out, each, place = np.ones(len(groups.labels)), np.full(len(names), np.nan), places_of(names)
    for key, factor in dict(value).items():
        if (
            isinstance(factor, bool)
            or not isinstance(factor, (int, float, np.number))
            or not factor >= 0
        ):
            raise ValueError(
                f"penalty_factor[{key!r}]={factor!r} must be a number >= 0 (0: always in, inf: "
                "never in)"
            )
        g = groups.named(key)
        if g >= 0:
            out[g] = factor
        else:
            each[_columns(key, names, "penalty_factor", place)] = factor
    for g in groups.having(np.flatnonzero(~np.isnan(each))):
        own = each[groups.of(g)]
        if not (own == own[0]).all():
            raise ValueError(
                f"penalty_factor differs among the columns of group {groups.labels[g]!r}; a group "
                "has one factor: name it by its label"
            )
        out[g] = own[0]
    return out


def group_factor(value, groups, names):
    """(G,) penalty factors from p values that agree within every group, from one per group, or by
    label.
    """
    p = len(names)
    if value is None:
        return np.ones(len(groups.labels))
    if by_label(value):
        return _named_factor(value, groups, names)
    refuse_masked(value, "penalty_factor")
    try:
        out = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"penalty_factor={value!r} must be numbers, one per group or per column: {error}"
        ) from error
    count = len(groups.labels)
    if out.size == 1:
        out = np.full(p, out[0])
    if out.size not in (p, count):
        raise ValueError(
            f"penalty_factor has {out.size} values; give one per group ({count}), or one per "
            f"column ({p}) with equal values within each group"
        )
    if np.isnan(out).any() or (out < 0).any():
        raise ValueError(
            "penalty_factor must be >= 0 (0: always in, inf: never in), got NaN or negative values"
        )
    if out.size != p:
        return out.copy()
    each = [out[groups.of(g)] for g in range(count)]
    uneven = next((g for g, values in enumerate(each) if (values != values[0]).any()), -1)
    if uneven >= 0:
        raise ValueError(
            f"penalty_factor differs among the columns of group {groups.labels[uneven]!r}; with "
            f"groups= a group has one factor: give {count} values, one per group"
        )
    return np.array([values[0] for values in each])
