"""Sums over rows of the piecewise-linear features of some columns, see `additive`: one pass over
the rows gives the features of a column all together.
"""

from typing import NamedTuple

import numpy as np

from l0path.core.dispatch import njit


class Entries(NamedTuple):
    """Entries of some columns: number ends[j] to ends[j + 1] - 1 of `values` are column j's, in
    rows `rows`, or if there are none in rows 0, 1, ...; `bins`: the step of the column that each
    lies in.
    """

    values: np.ndarray
    rows: np.ndarray
    ends: np.ndarray
    bins: np.ndarray


class Steps(NamedTuple):
    """Steps from low[l] to high[l], the features of some columns: column j has the features
    offsets[j] to offsets[j + 1] - 1.
    """

    offsets: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Tally(NamedTuple):
    """Of the rows with a positive weight, for each feature: the weight within its step, the least
    and the largest share of the step that lies below one, the weight below the step and above.
    """

    mass: np.ndarray
    least: np.ndarray
    most: np.ndarray
    below: np.ndarray
    above: np.ndarray


@njit
def _share(x, low, high):
    """The fraction, 0 to 1, of the step from low to high that lies below x."""
    return 0.0 if x <= low else 1.0 if x >= high else (x - low) / (high - low)


@njit
def sums(entries, steps, R, out):
    """out[l - offsets[0], :] = sum_i phi_l(x_i) R[i, :] for the features l of some columns."""
    values, rows, ends, bins = entries.values, entries.rows, entries.ends, entries.bins
    offsets, low, high = steps.offsets, steps.low, steps.high
    m, first = R.shape[1], offsets[0]
    above, total, inside = np.empty(m), np.empty(m), np.zeros((out.shape[0], m))
    for l in range(out.shape[0]):
        for k in range(m):
            out[l, k] = 0.0  # at first: sums of the rows within a step
    for j in range(ends.size - 1):
        start, stop = offsets[j] - first, offsets[j + 1] - first
        if start == stop:
            continue
        for t in range(ends[j], ends[j + 1]):
            l = start + bins[t]
            i = np.int64(rows[t]) if rows.size > 0 else t - ends[j]
            share = _share(values[t], low[first + l], high[first + l])
            for k in range(m):
                out[l, k] += R[i, k]
                inside[l, k] += share * R[i, k]
        for k in range(m):
            above[k], total[k] = 0.0, 0.0
        for l in range(start, stop):
            for k in range(m):
                total[k] += out[l, k]
        for l in range(stop - 1, start - 1, -1):
            zero, root = (
                _share(0.0, low[first + l], high[first + l]),
                np.sqrt(high[first + l] - low[first + l]),
            )
            for k in range(m):
                here = out[l, k]
                out[l, k] = root * (above[k] + inside[l, k] - zero * total[k])
                above[k] += here


@njit
def _scale(tally, steps, l, center, mean, second):
    """Turn the mean and second moment of the share of a step that lies below x into those of the
    step's feature, number l of `mean` and `second`.
    """
    low, high = steps.low[steps.offsets[0] + l], steps.high[steps.offsets[0] + l]
    root, origin = np.sqrt(high - low), _share(0.0, low, high)
    below, above = tally.below[l], tally.above[l]
    second[l] = root * root * (second[l] + below * mean[l] ** 2 + above * (1.0 - mean[l]) ** 2)
    bottom, top = 0.0 if below > 0.0 else tally.least[l], 1.0 if above > 0.0 else tally.most[l]
    if center and bottom >= top:
        # a constant; with no row within the step `least` is 1 and `most` 0
        mean[l], second[l] = bottom, 0.0
    mean[l] = root * (mean[l] - origin)


@njit
def moments(entries, steps, weights, center, mean, second):
    """Weighted mean (0 unless center) and second moment about it of the features of some columns,
    by sums of positive terms. Zeros of X that are not stored count too.
    """
    values, rows, ends, bins = entries.values, entries.rows, entries.ends, entries.bins
    offsets, low, high = steps.offsets, steps.low, steps.high
    first, size = offsets[0], mean.size
    mass, least, most = np.zeros(size), np.ones(size), np.zeros(size)
    below, above = np.zeros(size), np.zeros(size)
    tally = Tally(mass, least, most, below, above)
    positive, total = 0, 0.0
    for i in range(weights.size):
        total += weights[i]
        positive += weights[i] > 0.0
    for l in range(size):
        mean[l], second[l] = 0.0, 0.0
    for j in range(ends.size - 1):
        start, stop = offsets[j] - first, offsets[j + 1] - first
        if start == stop:
            continue
        seen, stored, zero = 0, 0.0, start
        while zero < stop - 1 and high[first + zero] < 0.0:
            zero += 1
        for moment in range(2):  # means, then squares about them
            for t in range(ends[j], ends[j + 1] + 1):
                if t < ends[j + 1]:
                    w, l, x = (
                        weights[np.int64(rows[t]) if rows.size > 0 else t - ends[j]],
                        start + bins[t],
                        values[t],
                    )
                    if moment == 0 and w > 0.0:
                        seen += 1
                        stored += w
                else:
                    w, l, x = max(total - stored, 0.0) if seen < positive else 0.0, zero, 0.0
                if w > 0.0:
                    share = _share(x, low[first + l], high[first + l])
                    if moment == 0:
                        mass[l] += w
                        mean[l] += w * share
                        least[l], most[l] = min(least[l], share), max(most[l], share)
                    else:
                        second[l] += w * (share - mean[l]) ** 2
            if moment == 0:
                for l in range(start + 1, stop):
                    below[l] = below[l - 1] + mass[l - 1]
                for l in range(stop - 2, start - 1, -1):
                    above[l] = above[l + 1] + mass[l + 1]
                for l in range(start, stop):
                    origin = _share(0.0, low[first + l], high[first + l])
                    mean[l] = (mean[l] + above[l]) / total if center else origin
        for l in range(start, stop):
            _scale(tally, steps, l, center, mean, second)
