"""The rows, risk sets and deaths of survival times."""

from typing import NamedTuple

import numpy as np

MOST_TERMS = 1 << 22  # deaths, with copies, up to which Efron's method keeps a term for each


class EventTimes(NamedTuple):
    """The rows at risk in (start, stop], g event times in s strata, and the deaths there."""

    start: np.ndarray  # (n,), or (0,) where all begin at minus infinity
    stop: np.ndarray  # (n,)
    stratum: np.ndarray  # (n,)
    efron: bool  # whether ties are treated by Efron's method
    level: float  # log of the number of rows
    order: np.ndarray  # (n,), rows by stratum and stop
    leave: np.ndarray  # (n,) or (0,), rows by stratum and start
    edges: np.ndarray  # (s + 1,), where strata begin in both
    deaths: np.ndarray  # rows by stratum and time
    first: np.ndarray  # (g + 1,), where event times begin in deaths
    block: np.ndarray  # (s + 1,), the event times of strata
    upto: np.ndarray  # (g,), where order has the rows of the risk set from
    gone: np.ndarray  # (g,), where leave has those that are to come
    since: np.ndarray  # (n,), the first event time at which a row is at risk
    until: np.ndarray  # (n,), the one after the last such
    term: np.ndarray  # (g + 1,), the terms of event times
    fraction: np.ndarray  # f_t
    share: np.ndarray  # v_t / sum_{D_g} w_i
    counts: np.ndarray  # (n,), how many rows each row stands for; (0,) where it is one

    def risk_sets(self):
        """(deaths, rows at risk) of every event time: indices."""
        for s in range(self.block.size - 1):
            for g in range(self.block[s], self.block[s + 1]):
                tied = self.deaths[self.first[g] : self.first[g + 1]]
                at = self.order[self.upto[g] : self.edges[s + 1]]
                yield tied, at[self.start[at] < self.stop[tied[0]]] if self.start.size else at


# places of the arrays of `EventTimes`, for `numbers_at` and `indices_at`
_ARRAYS = [name for name in EventTimes._fields if name not in ("efron", "level")]
START, STOP, ORDER, LEAVE, EDGES, DEATHS, FIRST, BLOCK, UPTO, GONE, SINCE, UNTIL, TERM = map(
    _ARRAYS.index,
    "start stop order leave edges deaths first block upto gone since until term".split(),
)
FRACTION, SHARE = map(_ARRAYS.index, ("fraction", "share"))
LEVEL = 1  # its place among the numbers


def event_times(start, stop, event, *, stratum=None, efron=True, level=0.0, counts=None):
    """The `EventTimes` of rows at risk in (start, stop] (n,); event (n,): 1 where one happened at
    stop. start: empty where all rows are at risk from the beginning. stratum (n,): whole numbers
    from 0. counts (n,): how many rows each row stands for, by default one; tied deaths of Efron's
    method count as often.
    """
    n = stop.size
    stratum = np.zeros(n, np.int64) if stratum is None else np.asarray(stratum, np.int64)
    number = int(stratum.max(initial=-1)) + 1
    order = np.lexsort((stop, stratum))
    leave = np.lexsort((start, stratum)) if start.size else np.empty(0, np.int64)
    edges = np.searchsorted(stratum[order], np.arange(number + 1))
    deaths = order[event[order] > 0]
    if not deaths.size:
        raise ValueError(
            "there is no event in the rows of this fit, and a partial likelihood needs one; look "
            "at how events are coded (1: it happened, 0: censored), or take fewer folds or larger "
            "subsamples"
        )
    new = np.append(True, (np.diff(stop[deaths]) > 0) | (np.diff(stratum[deaths]) > 0))
    first = np.append(np.flatnonzero(new[: deaths.size]), deaths.size)
    at, of = stop[deaths[first[:-1]]], stratum[deaths[first[:-1]]]
    block = np.searchsorted(of, np.arange(number + 1))
    upto = _places(order, stop, at, of, edges)
    gone = _places(leave, start, at, of, edges) if start.size else np.zeros_like(upto)
    since, until = block[stratum], np.empty(n, np.int64)
    for s in range(number):
        mine, times = stratum == s, at[block[s] : block[s + 1]]
        until[mine] = block[s] + np.searchsorted(times, stop[mine], "right")
        if start.size:
            since = since.copy()
            since[mine] = block[s] + np.searchsorted(times, start[mine], "right")
    size = np.diff(first)
    if counts is not None:
        size = np.add.reduceat(counts[deaths], first[:-1]).astype(np.int64)
    many = size if efron else np.ones_like(size)
    if many.sum() > MOST_TERMS:
        raise ValueError(
            f"Efron's method has a term for each of {many.sum():.3g} deaths, copies among them; "
            "pass ties='breslow'"
        )
    term = np.append(0, np.cumsum(many))
    within = np.arange(term[-1]) - np.repeat(term[:-1], many)
    whole = [order, leave, edges, deaths, first, block, upto, gone, since, until]
    return EventTimes(
        np.ascontiguousarray(start, dtype=np.float64),
        np.ascontiguousarray(stop, dtype=np.float64),
        np.ascontiguousarray(stratum),
        bool(efron),
        float(level),
        *(np.ascontiguousarray(one, dtype=np.int64) for one in whole),
        np.ascontiguousarray(term, dtype=np.int64),
        within / np.repeat(many, many),
        1.0 / np.repeat(many, many),
        np.empty(0) if counts is None else np.ascontiguousarray(counts, dtype=np.float64),
    )


def _places(order, time, at, of, edges):
    """The first of the rows `order`, sorted by stratum and time, with a time of at least `at` in
    stratum `of`.
    """
    out = np.empty(at.size, np.int64)
    for s in range(edges.size - 1):
        mine = of == s
        rows = order[edges[s] : edges[s + 1]]
        out[mine] = edges[s] + np.searchsorted(time[rows], at[mine])
    return out
