"""Sweeps over the sizes, oscillations and restarts on the exact table, in kernels. A kernel returns
to Python after some 10 ms of work, so that Python can see whether it has to stop.

`BestSupports` has the best support of each size (unforced columns); a `table.State` goes from one
to the next by rank-one updates.
"""

from typing import NamedTuple

import numpy as np

from ..core.dispatch import njit
from .table import (
    REFRESH,
    add,
    add_best,
    build,
    cheapest_drop,
    coefficient_size,
    drop,
    fitted_part,
    polish,
    refine,
)

BUDGET = 2e7  # entries of V touched before a kernel returns: some 20 ms
IMPROVED, WORK, TABLES, LAST, SATURATED = range(5)  # places in BestSupports.counters
UP, DOWN, OSCILLATE, RESTART = range(4)  # kinds of Move


class BestSupports(NamedTuple):
    """The best support of each of the sizes 0 .. K."""

    S: np.ndarray  # (K + 1, capacity), positions in W
    b: np.ndarray  # (K + 1, capacity, q), coefficients
    value: np.ndarray  # (K + 1,), F; inf where there is none
    fresh: np.ndarray  # (3, K + 1): no step up, no step down was taken from it; not seen by Python
    # whether a size improved; entries touched; tables of swaps; the last size that is searched;
    # whether no column was independent of the last support
    counters: np.ndarray


class Limits(NamedTuple):
    """The numbers by which values are compared, and the work is limited."""

    empty: float  # F of the empty quadratic
    relative: float  # share of F that counts as an improvement
    least: float  # least improvement
    perfect: float  # F of a perfect fit
    forced: int  # number of forced columns
    max_swaps: int  # most swaps in a polish


class Move(NamedTuple):
    """A move of `make_move`: `kind` UP or DOWN, a sweep over the sizes; OSCILLATE, up to `top`
    unforced columns and down again; RESTART, each size with counts[k] members dropped (K + 1,), by
    the rank of |b| times noise (K + 1, K + 1), so that chance does not fall on column numbers.
    """

    kind: int
    top: int
    counts: np.ndarray
    noise: np.ndarray


def sweep(up):
    """One step up, or down, from every size."""
    return Move(UP if up else DOWN, 0, np.empty(0, np.int64), np.empty((0, 0)))


def oscillation(top):
    """The move that goes up to `top` unforced columns, then down."""
    return Move(OSCILLATE, top, np.empty(0, np.int64), np.empty((0, 0)))


def restarts(counts, noise):
    """The move that restarts every size with some members dropped at random, see `Move`."""
    return Move(RESTART, 0, counts, noise)


def new_best_supports(max_k, capacity, responses=1):
    """An empty record of the best supports of sizes 0..max_k, with room for `capacity` columns."""
    counters = np.zeros(5)
    counters[LAST] = max_k
    return BestSupports(
        np.zeros((max_k + 1, capacity), np.int64),
        np.zeros((max_k + 1, capacity, responses)),
        np.full(max_k + 1, np.inf),
        np.ones((3, max_k + 1), np.bool_),
        counters,
    )


@njit
def _move_to(state, best, columns, limits, k):
    """Bring the state to the support of size k: by rank-one updates where a few of them suffice,
    otherwise by building it anew.
    """
    size, have = k + limits.forced, state.count[0]
    mark = state.scratch[4]
    n_new = 0
    for i in range(size):
        n_new += not state.member[best.S[k, i]]
    surplus = have - size + n_new
    if n_new == 0 and surplus == 0:
        return
    if state.count[1] + n_new + surplus > REFRESH or 2 * (n_new + surplus) > size:
        for i in range(size):
            state.S[i] = best.S[k, i]
        build(state, columns, size)
        best.counters[WORK] += (0.5 * size + 2.0) * size * columns.w
        return
    for i in range(have):
        mark[state.S[i]] = 0.0
    for i in range(size):
        mark[best.S[k, i]] = 1.0
    for i in range(have - 1, -1, -1):
        if mark[state.S[i]] == 0.0:
            drop(state, columns, i)
    for i in range(size):
        if not state.member[best.S[k, i]]:
            add(state, columns, best.S[k, i])
    best.counters[WORK] += 3.0 * (n_new + surplus) * size * columns.w


@njit
def _tie(state, columns, limits):
    """The largest difference between exchanges that count as equal, at the F of a state."""
    return max(limits.relative * abs(limits.empty - fitted_part(state, columns)), limits.least)


@njit
def _record_best(state, best, columns, limits, polished):
    """Polish the state if `polished`, and record it if it is the best of its size."""
    size = state.count[0]
    best.counters[WORK] += 3.0 * size * columns.w  # the step that led here
    value = limits.empty - fitted_part(state, columns)
    if polished:
        tables = polish(
            state, columns, max(limits.relative * abs(value), limits.least), limits.max_swaps
        )
        best.counters[TABLES] += 1
        best.counters[WORK] += 3.0 * abs(tables) * size * columns.w
        value = limits.empty - fitted_part(state, columns)
    k = size - limits.forced
    if k > best.counters[LAST]:
        return
    bar = (
        best.value[k] - max(limits.relative * abs(best.value[k]), limits.least)
        if best.value[k] < np.inf
        else np.inf
    )
    if not value < bar:
        return
    # rounding of the updates: one step of refinement, or built anew where that is not small
    if state.count[1] > 0:
        if not refine(state, columns) <= 1e-9:
            build(state, columns, size)
        value = limits.empty - fitted_part(state, columns)
        if not value < bar:
            return
    best.value[k] = value
    for i in range(size):
        best.S[k, i] = state.S[i]
        for r in range(state.b.shape[0]):
            best.b[k, i, r] = state.b[r, i]
    for i in range(3):
        best.fresh[i, k] = True
    best.counters[IMPROVED] = 1
    if k > 0 and value <= limits.perfect:
        best.counters[LAST] = k


@njit
def _sweep(state, best, columns, limits, up, start):
    """Steps from sizes `start` on, up (best addition) or down (cheapest removal), each polished and
    kept if it improves; only from supports whose step was not taken before.

    Returns the size to go on from once BUDGET is spent, -1 at the end.
    """
    k = start
    while (up and k < best.counters[LAST]) or (not up and k > 1):
        if best.counters[WORK] > BUDGET:
            return k
        side = 0 if up else 1
        if best.value[k] < np.inf and best.fresh[side, k]:
            _move_to(state, best, columns, limits, k)
            best.fresh[side, k] = False
            moved = False
            if up:
                moved = add_best(state, columns, _tie(state, columns, limits))
                if not moved and best.value[k + 1] == np.inf:
                    best.counters[LAST], best.counters[SATURATED] = k, 1
                    return -1
            else:
                i = cheapest_drop(state, columns, _tie(state, columns, limits))
                moved = i >= 0
                if moved:
                    drop(state, columns, i)
            if moved:
                # moved, not True: a constant would compile a second kernel
                _record_best(state, best, columns, limits, moved)
        k += 1 if up else -1
    return -1


@njit
def _oscillate(state, best, columns, limits, top, stage):
    """Add columns to the last size up to `top`, then remove the cheapest, polished from the last
    size down.

    stage: 0 at first; the state carries the rest: returns the stage to go on from once BUDGET is
        spent (1 up, 2 down), 0 at the end.
    """
    last = int(best.counters[LAST])
    if stage == 0:
        _move_to(state, best, columns, limits, last)
    while stage < 2 and state.count[0] - limits.forced < top:
        if best.counters[WORK] > BUDGET:
            return 1
        if not add_best(state, columns, _tie(state, columns, limits)):
            break
        best.counters[WORK] += 3.0 * state.count[0] * columns.w
    while state.count[0] - limits.forced > 1:
        if best.counters[WORK] > BUDGET:
            return 2
        i = cheapest_drop(state, columns, _tie(state, columns, limits))
        if i < 0:
            return 0
        polished = state.count[0] - limits.forced <= last + 1
        drop(state, columns, i)
        best.counters[WORK] += 2.0 * state.count[0] * columns.w
        if polished:
            _record_best(state, best, columns, limits, polished)
    return 0


@njit
def _restart(state, best, columns, limits, move, start):
    """Restart the support of each size, from `start` on: drop move.counts[k] members, preferably
    those of small coefficients, add the best columns instead, and polish. Every size on the way is
    recorded if it is the best. Returns the size to go on from once BUDGET is spent, -1 at the end.
    """
    order, cost = np.empty(best.S.shape[1], np.int64), np.empty(best.S.shape[1])
    for k in range(start, best.value.size):
        if k > best.counters[LAST]:
            break
        if best.counters[WORK] > BUDGET:
            return k
        if best.value[k] == np.inf:
            continue
        _move_to(state, best, columns, limits, k)
        free = 0
        for i in range(state.count[0]):  # unlocked members by |b|
            if not columns.locked[state.S[i]]:
                at, size = free, coefficient_size(state, i)
                while at > 0 and cost[at - 1] > (1.0 + limits.relative) * size:
                    cost[at], order[at] = cost[at - 1], order[at - 1]
                    at -= 1
                cost[at], order[at] = size, state.S[i]
                free += 1
        for i in range(free):
            cost[i] *= move.noise[k, i]
        dropped = min(move.counts[k], free)
        for step in range(dropped):
            low = -1
            for i in range(free):
                if cost[i] < np.inf and state.holding[order[i]] == 0:
                    if low < 0 or cost[i] < cost[low]:
                        low = i
            if low < 0:  # members that are left need each other
                dropped = step
                break
            cost[low] = np.inf
            for i in range(state.count[0]):
                if state.S[i] == order[low]:
                    drop(state, columns, i)
                    break
            state.member[order[low]] = True  # others come in its place; it may return in the polish
        best.counters[WORK] += 2.0 * dropped * state.count[0] * columns.w
        for step in range(dropped):
            more = add_best(state, columns, _tie(state, columns, limits))
            if step == dropped - 1 or not more:
                for i in range(free):
                    state.member[order[i]] = False
                for i in range(state.count[0]):
                    state.member[state.S[i]] = True
            if not more:
                break
            _record_best(state, best, columns, limits, step == dropped - 1)
    return -1


@njit
def make_move(state, best, columns, limits, move, at):
    """Make a `Move` from the place `at` on: a size, 0 at first for an oscillation. Returns the
    place to go on from once BUDGET is spent; at the end -1, of an oscillation 0.

    This is the only kernel here that Python enters, so that what all moves share is compiled once.
    """
    best.counters[WORK] = 0.0
    if move.kind == OSCILLATE:
        return _oscillate(state, best, columns, limits, move.top, at)
    if move.kind == RESTART:
        return _restart(state, best, columns, limits, move, at)
    return _sweep(state, best, columns, limits, move.kind == UP, at)
