"""The best exchanges of one fit with the working groups, by the quadratic at it."""

from typing import NamedTuple

import numpy as np

from ..core import threads
from ..working_set.curvature import OF_ALL, InverseHessian, LocalTable, with_intercept
from . import group_table
from .table import EQUAL, in_order

STRIP_COLUMNS = 256  # columns of working groups in one task of a table


class GroupTable(NamedTuple):
    """The best exchanges of a fit with the first `width` working groups: additions [(change,
    group)], swaps [(change, group out, group in)], ascending; drops {group: increase of F}.
    """

    width: int
    additions: list
    swaps: list
    drops: dict


def _removals(quadratic):
    """The Removals of all members of a fit."""
    members, K = quadratic.members, quadratic.at.size
    widest = max(int(np.diff(members).max(initial=1)), 1)
    out = group_table.Removals(
        members,
        np.empty((K, widest)),
        np.empty(quadratic.b.shape),
        np.empty(quadratic.ids.size),
    )
    group_table.drops(quadratic.B, quadratic.b, out)
    return out


def drops(model, fit):
    """{group: increase of F by its removal}, by the quadratic at the fit."""
    quadratic = model.quadratic(fit)
    loss = _removals(quadratic).loss
    return dict(zip(quadratic.ids.tolist(), loss.tolist(), strict=True))


def table(model, fit, previous, keep, hierarchy, whole=False):
    """The GroupTable of those exchanges of a fit that keep a hierarchy, over all working groups:
    `previous` (None, or that over the first of them) and those that came later; the quadratic at
    the fit, and its Crossing with these if they are looked at as a `whole`.
    """
    quadratic, width = model.quadratic(fit), model.W.size
    order = in_order(EQUAL * abs(fit.value))
    model.model.tables += 1
    removals, crossings = _removals(quadratic), []
    additions, swaps = (
        ([], []) if previous is None else (list(previous.additions), list(previous.swaps))
    )
    first = 0 if previous is None else previous.width
    inside = np.zeros(model.free.size, dtype=bool)
    inside[fit.groups] = True
    may_enter = model.free & ~inside & hierarchy.met(inside)
    # what may come for a member that leaves is among what may be added
    instead = hierarchy.exchanges(quadratic.ids, inside)

    def part(start, stop):
        own = slice(start, stop)
        W, crossing = model.W[own], _crossing(model, quadratic, own)
        skip = np.ascontiguousarray(~np.vstack([may_enter[W], instead[:, W]]).T)
        plus, change = _best(model, fit, (quadratic, removals, crossing), keep, W, skip)
        additions.extend(plus)
        swaps.extend(change)
        crossings.append(crossing)

    threads.run(part, [first, width] if whole else _tasks(model.starts, first, width))
    found = GroupTable(
        width,
        sorted(additions, key=order)[:keep],
        sorted(swaps, key=lambda s: order((s[0], s[2], s[1])))[:keep],
        dict(zip(quadratic.ids.tolist(), removals.loss.tolist(), strict=True)),
    )
    return found, quadratic, crossings[0] if whole else None


def own_table(model, fit, quadratic, crossing):
    """The `LocalTable` of a fit whose groups are single columns, by its quadratic and the Crossing
    of this with all working groups; None where these are not in the order of the working columns,
    or some are dependent.
    """
    at, width, v = quadratic.at, crossing.c.size, quadratic.curvature.v
    along = np.array_equal(model.places, np.arange(width))
    if not along or not np.array_equal(model.model.W[at], fit.support):
        return None
    x, B, center = fit.b, np.ascontiguousarray(quadratic.B), np.zeros(width)
    inverse = InverseHessian(B, np.arange(at.size))
    if model.problem.intercept:
        total = max(float(v.sum()), 1e-300)
        center = model.model.Z[:width] @ v / total
        x, inverse = np.append(x, fit.b0 + center[at] @ x), with_intercept(*inverse, total)
    return LocalTable(
        S=at,
        x=x,
        B=inverse.B,
        lambda2=model.lambda2,
        scale=1.0,
        curvatures=v[None],
        center=center,
        place=OF_ALL,
        c=crossing.c[0],
        diagonal=crossing.blocks.values,
        rows=crossing.rows,
        index=inverse.index,
    )


def _crossing(model, quadratic, which):
    """The Crossing of the quadratic at a fit with the working groups `which`, a slice."""
    part = model.against(quadratic, which)
    if model.lambda1:
        c = np.sign(part.c) * np.maximum(np.abs(part.c) - model.lambda1, 0.0)
        part = part._replace(c=c)
    return part


def _best(model, fit, at_fit, keep, W, skip):
    """The `keep` best additions [(change, group)] and swaps [(change, group out, group in)] of a
    fit with some working groups W, but for those marked in `skip`, see `group_table.exchanges`.
    at_fit: the quadratic at it, its Removals, and its Crossing with W.
    """
    quadratic, removals, part = at_fit
    best = group_table.BestOfGroups(
        np.empty(keep),
        np.empty(keep, np.int64),
        np.empty(keep),
        np.empty(keep, np.int64),
        np.empty(keep, np.int64),
        EQUAL * abs(float(fit.value)),
    )
    count, number = group_table.exchanges(
        removals,
        part,
        np.ascontiguousarray(quadratic.B @ part.rows),
        skip,
        2.0 * model.lambda2,
        model.widest,
        0.0 if model.exact else 1e300,
        best,
    )
    ids = quadratic.ids
    added, group = W[best.added[:count]], W[best.group[:number]]
    out = ids[best.member[:number]]
    return (
        list(zip(best.gain[:count].tolist(), added.tolist(), strict=True)),
        list(zip(best.change[:number].tolist(), out.tolist(), group.tolist(), strict=True)),
    )


def _tasks(starts, first, last):
    """Bounds of ranges of the working groups first..last with about STRIP_COLUMNS columns each."""
    bounds = [first]
    for g in range(first, last):
        if starts[g + 1] - starts[bounds[-1]] > STRIP_COLUMNS and g > bounds[-1]:
            bounds.append(g)
    return bounds if first == last else [*bounds, last]
