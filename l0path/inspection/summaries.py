"""`Model.summary` and `Model.alternatives`: what each feature of a model is worth, what could stand
in for it, and the models next to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import forward
from ..core.arguments import is_whole
from ..core.describing import gap_text
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.status import FitStatus
from ..core.types import Matrix
from ..paths import Model
from ..paths.predicting import linear_predictor
from ..problem.solution import present
from .group_neighbors import GroupNeighbors
from .neighbors import ExchangePairs, Neighbors
from .response_neighbors import ResponseGroupNeighbors, ResponseNeighbors

N_REFITTED = 20  # exchanges of a feature that refits decide where the table only ranks
SPARE = 100  # exchanges refitted beyond those asked for, likewise
EVERY, COST = (
    20_000,
    5e8,
)  # where so many exchanges or fewer, of at most COST operations in all, are all refitted, likewise

NOTE = (
    "increase_if_dropped: increase of loss + shrinkage when the feature is left out and the rest "
    "is fitted again; best_exchange: the feature outside that could best stand in for it, and "
    "exchange_change what that does to the objective (negative: it would improve)."
)


@dataclass(frozen=True)
class Summary:
    """One model in a table, as `Model.summary` returns it.

    Attributes
    ----------
    table : DataFrame
        One row per feature: coef, standardized, increase_if_dropped, best_exchange and
        exchange_change. With groups one row per group: columns and norm take the place of the first
        two. With several responses or classes norm does, that of the standardized coefficients.
    header : dict
        {name: value} of the model.
    coef : DataFrame or None
        With groups one row per feature (group, coef, standardized), with several responses or
        classes the coefficients, features by responses; else None.
    """

    table: pd.DataFrame
    header: dict
    coef: pd.DataFrame | None = None

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name)

    def lines(self) -> list[str]:
        """The header as lines of text.

        Returns
        -------
        list of str
            One line per subject.
        """
        h = self.header
        size = (
            f"k = {h['k']} of p = {h['p']} features"
            if h["groups"] is None
            else f"k = {h['k']} of {h['groups']} groups, {h['columns']} of p = {h['p']} features"
        )
        n = f"n = {h['n']} rows" + ("" if h["events"] is None else f", {h['events']:g} events")
        first = f"{h['loss_name']} loss, penalty {h['penalty']}: {size}, {n}"
        about = f"{h['about']}; " if h["about"] else ""
        tried = f" ({h['exchanges']} exchanges tried)" if h["exchanges"] else ""
        tried += f" among models of {h['heredity']} heredity" if h["heredity"] else ""
        gap = gap_text(h["gap"], h["optimality"] == "global")
        second = (
            f"{about}loss {h['loss']:.6g}, deviance ratio {h['deviance_ratio']:.4f}, optimality "
            f"{h['optimality']}{tried}" + (f", gap {gap}" if np.isfinite(h["gap"]) else "")
        )
        shrink = [
            f"{name} = {h[name]:.4g}"
            for name in ("lambda0", "lambda1", "lambda2")
            if np.isfinite(h[name]) and h[name] > 0
        ]
        if h["relax"] < 1.0:
            shrink.append(f"relax = {h['relax']:.4g}")
        if np.isfinite(h["lambda0_high"]) or h["lambda0_low"] > 0:
            shrink.append(f"best for lambda0 in [{h['lambda0_low']:.4g}, {h['lambda0_high']:.4g})")
        flags = [f"flags: {h['flags']}"] if h["flags"] else []
        if h["variables"] is not None:
            names = ", ".join(h["variables"]) or "none"
            flags.append(f"predictions need the columns {names} of the data")
        if h["delta"] is not None:
            flags.append(
                f"delta = {h['delta']:.4g}: {h['beyond_delta']} of {h['n']} rows are beyond"
                + (" in a response or more" if "norm" in self.table else "")
            )
        return [
            first,
            second,
            *([", ".join(shrink)] if shrink else []),
            *flags,
            *_first_terms(h["intercept"], h["thresholds"], h["shape"]),
        ]

    @property
    def one_table(self) -> bool:
        """Whether each group, or term, is one column with one coefficient: one table says all."""
        coef = self.coef
        if coef is None or "group" not in coef or "coef" not in coef:
            return False
        return len(coef) == len(self.table) and set(coef["group"]) == set(
            map(str, self.table.index)
        )

    def formatted(self) -> pd.DataFrame:
        """The table as short text.

        Returns
        -------
        DataFrame
            The cells of `table` as text.
        """
        table = self.table
        if self.one_table:  # their coefficients say more than norms
            own = self.coef.set_index("group").loc[list(map(str, table.index))]
            pair = own[["coef", "standardized"]].set_axis(table.index)
            table = pd.concat([pair, table.drop(columns=["columns", "norm"])], axis=1)
        out = table.copy().astype(object)
        for name in out.columns:
            if name not in ("best_exchange", "columns"):
                out[name] = [f"{x:.4g}" if np.isfinite(x) else "" for x in table[name]]
        out["best_exchange"] = ["" if x is None else _cut(str(x)) for x in table["best_exchange"]]
        out.index = [_cut(str(name)) for name in self.table.index]
        return out

    def _repr_html_(self):
        return forward.summary_html(self)

    def __repr__(self):
        body = self.formatted().to_string() if len(self.table) else "(intercept only)"
        if self.coef is not None and len(self.coef) and not self.one_table:
            own = self.coef.set_axis([_cut(name) for name in self.coef.index])
            body += "\n\n" + own.to_string(float_format=lambda x: f"{x:.4g}")
        return "\n".join([*self.lines(), "", body])

    __str__ = __repr__


def _first_terms(value, thresholds, shape):
    """The line on intercepts, with a shape, or thresholds; none for partial likelihoods."""
    if value is None:
        return []
    if np.ndim(value) == 0:
        return [f"intercept {value:.6g}" + (f", shape {shape:.6g}" if shape else "")]
    what = "thresholds " if thresholds else "intercepts "
    return [what + ", ".join(f"{name} {t:.6g}" for name, t in value.items())]


def _cut(name):
    """A name for a printed table: the middle of a long one is left out."""
    return name if len(name) <= 40 else f"{name[:27]}…{name[-12:]}"


def summary(model: Model, X: Matrix | None = None, y: ArrayLike | None = None) -> Summary:
    """The `Summary` of a model, for `Model.summary`."""
    self = model.path
    near, row = neighbors_of(self, model._index, X, y), self._row(model._solution)
    solution, groups = near.solution, self._meta.groups
    coef, own = _coefficients(self, solution)
    count = None
    if groups is not None:
        count, own = len(groups.labels), _of_groups(self, solution)
        coef.insert(0, "group", _groups_of(solution, groups))
    exchange, change = _best_exchanges(near)
    table = Table(
        {
            **{name: own[name].to_numpy() for name in own},
            "increase_if_dropped": [_dropped(near, i) for i in range(near.units.size)],
            "best_exchange": pd.Series(
                [None if j < 0 else near.names[j] for j in exchange], dtype=object
            ),
            "exchange_change": np.asarray(change, dtype=float),
        }
    )
    table.index = pd.Index(
        [near.names[j] for j in near.units],
        name=self._meta.units.unit,
        dtype=object,
    )
    header = {
        "loss_name": self._meta.loss,
        "events": self._meta.n_events,
        "about": self._meta.about,
        "exchanges": model._solution.exchanges,
        "heredity": self._meta.heredity,
        "penalty": self._meta.penalty,
        "n": self.n,
        "p": self.p,
        "groups": count,
        "columns": int(present(solution.beta).sum()),
        "variables": self._variables(solution.support) if self._meta.formula is not None else None,
        "delta": self._meta.number("delta"),
        "beyond_delta": _beyond(self, solution, self._data(X, y)),
        **{name: row[name] for name in SHOWN_OF_MODEL},
        "intercept": model.intercept if self._meta.first_names else None,
        "thresholds": self._meta.ordered,
        "shape": solution.shape,
    }
    return Summary(table, header, None if own is coef else coef)


def _coefficients(path, solution):
    """(coefficients of a solution, what the table of its features shows of them), two DataFrames;
    the same one twice where it shows all.
    """
    names = [path._meta.names[j] for j in solution.support]
    index, size = pd.Index(names, name="feature", dtype=object), _standardized(path, solution)
    if path._meta.responses is not None:
        coef = pd.DataFrame(solution.beta, index=index, columns=path._meta.response_index)
        return coef, pd.DataFrame({"norm": np.linalg.norm(size, axis=1)}, index=index)
    coef = pd.DataFrame({"coef": solution.beta, "standardized": size}, index=index)
    return coef, coef


def _standardized(path, solution):
    """The coefficients of a solution times the scales of their columns."""
    return (solution.beta.T * path._meta.scale[solution.support]).T


SHOWN_OF_MODEL = (
    "k",
    "n_features",
    "loss",
    "objective",
    "deviance_ratio",
    "optimality",
    "gap",
    "lambda0",
    "lambda1",
    "lambda2",
    "relax",
    "lambda0_low",
    "lambda0_high",
    "flags",
)


def _of_groups(path, solution):
    """Number of columns of each chosen group with a coefficient that is not zero, and the norm of
    the standardized ones.
    """
    groups, b = path._meta.groups, _standardized(path, solution)
    inside = [np.isin(solution.support, groups.of(g)) for g in solution.groups]
    return pd.DataFrame(
        {
            "columns": [int(present(solution.beta[own]).sum()) for own in inside],
            "norm": [float(np.linalg.norm(b[own])) for own in inside],
        }
    )


def _groups_of(solution, groups):
    """The labels of the chosen groups of each column of the support, as text."""
    labels = {g: str(groups.labels[g]) for g in solution.groups}
    members = {g: set(groups.of(g)) for g in solution.groups}
    return np.array(
        [
            ", ".join(labels[g] for g in solution.groups if j in members[g])
            for j in solution.support
        ],
        dtype=object,
    )


def neighbors_of(path, index, X=None, y=None):
    """The exchanges around a solution, of columns or of groups."""
    kinds = (Neighbors, GroupNeighbors)
    if path._meta.responses is not None:
        kinds = (ResponseNeighbors, ResponseGroupNeighbors)
    return kinds[path._meta.groups is not None](path, index, X, y)


def _beyond(path, s, data):
    """Number of rows of positive weight that a Huber fit counts linearly, of several responses in
    one of them at least; None for other losses.
    """
    if path._meta.number("delta") is None:
        return None
    residual = np.abs(data.y - linear_predictor(data.design, data.offset, s)).reshape(
        len(data.y), -1
    )
    beyond = (residual > path._meta.number("delta")).any(axis=1)
    return int(np.count_nonzero(beyond & (data.weights > 0)))


def _all_refitted(near):
    """Whether the exchanges, where a table only ranks them, are so few and cheap that each is
    refitted.
    """
    return not near.exact and near.total <= EVERY and near.cost <= COST


def _dropped(near, i):
    """Increase of loss + shrinkage without member i."""
    fit = near.without(i)
    return np.nan if fit is None else fit.value - near.value


def _best_exchanges(near):
    """For each member the best column to exchange it for (-1: none), and the change of the
    objective: two lists.
    """
    exchange, change = [], []
    if _all_refitted(near):
        pairs = near.every()
        each = [ExchangePairs(*(part[pairs.out == j] for part in pairs)) for j in near.units]
    else:
        each = near.ranked_each(1 if near.exact else N_REFITTED) if near.units.size else []
    for pairs in each:
        best, into = np.inf, -1
        for out, j, predicted in zip(*pairs, strict=True):
            if near.exact:
                value = predicted
            else:
                cost = near.cost_change(out, j)
                fit = near.swapped(out, j, near.value + best - cost)
                value = np.inf if fit is None else fit.value + cost - near.value
            if value < best:
                best, into = value, int(j)
        exchange.append(into)
        change.append(best if into >= 0 else np.nan)
    return exchange, change


def alternatives(
    model: Model, n: int = 10, X: Matrix | None = None, y: ArrayLike | None = None
) -> pd.DataFrame:
    """The nearest models, for `Model.alternatives`."""
    if not is_whole(n) or n < 1:
        raise ValueError(f"n={n!r} must be a whole number >= 1")
    self = model.path
    near = neighbors_of(self, model._index, X, y)
    s = model._solution
    base = model.objective - (s.loss + s.shrinkage) + near.value  # of a mixture: of the optimum
    every = _all_refitted(near)
    rows, kept, sound = [], [], True
    pairs = near.every() if every or not near.total else near.ranked(n if near.exact else n + SPARE)
    for out, into, _ in zip(*pairs, strict=True):
        cost = near.cost_change(out, into)
        # of objectives without lambda0; with it the cost may change the order
        limit = sorted(kept)[n - 1] if len(kept) >= n else np.inf
        fit = near.swapped(out, into, limit if not near.lambda0 else np.inf)
        if fit is None:
            continue
        sound &= FitStatus.NOT_CONVERGED not in fit.flags
        kept.append(fit.value)
        rows.append(
            (near.names[out], near.names[into], base + (fit.value - near.value) + cost, into)
        )
    rows = sorted(rows, key=lambda row: (row[2], row[3]))[:n]
    frame = pd.DataFrame(
        [row[:3] for row in rows], columns=["dropped", "added", "objective"]
    ).astype({"dropped": object, "added": object, "objective": float})
    floor = self._meta.floor
    above = base - floor if np.isfinite(floor) else abs(base)
    frame["relative"] = (frame["objective"] - base) / max(above, 1e-12)
    frame["proven"] = bool(sound and (near.exact or every))
    return Table(frame)
