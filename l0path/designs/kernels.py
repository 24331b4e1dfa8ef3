"""Moments and products of float32 and float64 matrices without a copy or cast, sums in float64:
what is read comes from memory once.

Against array operations and BLAS (one processor with AVX-512, columns one after another): moments
take a fifth of the time, products of float32 a half, of float64 between a half and all of it.
"""

import numpy as np

from l0path.core.dispatch import njit

# that six columns and their right-hand sides are multiplied in before the next: they stay in the
# cache
ROWS = 2048
SIDE_BY_SIDE = 256  # columns whose moments are taken together where rows lie one after another
ROW_TILE = 256  # rows of them that are read twice before the next
# second moments up to this share of the squared mean may be rounding: are all entries equal?
LEVEL = 1e-24


@njit
def products(X, R, start, stop, first, out):
    """out[k, c - first] = x_c'r_k for columns start <= c < stop of a design, the rows of X (p, n);
    R (m, n). Six columns by two right-hand sides at a time, twelve sums that registers hold.

    At the ends the last column or side is taken again: every sum has the same order of its terms,
    wherever a range begins.
    """
    n, last, final = X.shape[1], stop - 1, R.shape[0] - 1
    for k in range(R.shape[0]):
        out[k, start - first : stop - first] = 0.0
    for top in range(0, n, ROWS):
        end = min(top + ROWS, n)
        for c in range(start, stop, 6):
            c1, c2, c3 = min(c + 1, last), min(c + 2, last), min(c + 3, last)
            c4, c5 = min(c + 4, last), min(c + 5, last)
            x0, x1, x2, x3, x4, x5 = (
                X[c, top:end],
                X[c1, top:end],
                X[c2, top:end],
                X[c3, top:end],
                X[c4, top:end],
                X[c5, top:end],
            )
            d, d1, d2 = c - first, c1 - first, c2 - first
            d3, d4, d5 = c3 - first, c4 - first, c5 - first
            for k in range(0, R.shape[0], 2):
                l = min(k + 1, final)
                r, s = R[k, top:end], R[l, top:end]
                a0 = a1 = a2 = a3 = a4 = a5 = b0 = b1 = b2 = b3 = b4 = b5 = 0.0
                for i in range(end - top):
                    u, v = r[i], s[i]
                    x = np.float64(x0[i])
                    a0 += x * u
                    b0 += x * v
                    x = np.float64(x1[i])
                    a1 += x * u
                    b1 += x * v
                    x = np.float64(x2[i])
                    a2 += x * u
                    b2 += x * v
                    x = np.float64(x3[i])
                    a3 += x * u
                    b3 += x * v
                    x = np.float64(x4[i])
                    a4 += x * u
                    b4 += x * v
                    x = np.float64(x5[i])
                    a5 += x * u
                    b5 += x * v
                # places and rows may repeat at the ends: all are read before one is written
                a0, a1, a2 = out[k, d] + a0, out[k, d1] + a1, out[k, d2] + a2
                a3, a4, a5 = out[k, d3] + a3, out[k, d4] + a4, out[k, d5] + a5
                b0, b1, b2 = out[l, d] + b0, out[l, d1] + b1, out[l, d2] + b2
                b3, b4, b5 = out[l, d3] + b3, out[l, d4] + b4, out[l, d5] + b5
                out[k, d], out[k, d1], out[k, d2] = a0, a1, a2
                out[k, d3], out[k, d4], out[k, d5] = a3, a4, a5
                out[l, d], out[l, d1], out[l, d2] = b0, b1, b2
                out[l, d3], out[l, d4], out[l, d5] = b3, b4, b5


@njit
def moments_of_columns(X, weights, center, start, stop, mean, second):
    """Weighted mean (0 unless center) and second moment about it of columns start..stop of a
    design, the rows of X (p, n), in mean, second (p,); weights sum to one.

    Two passes over a column, the second with what rounding left of the mean. A column whose entries
    of positive weight are all equal has second moment 0.
    """
    n = weights.size
    for c in range(start, stop):
        x, middle, spread, shift = X[c], 0.0, 0.0, 0.0
        if center:
            for i in range(n):
                middle += weights[i] * np.float64(x[i])
        for i in range(n):
            gap = np.float64(x[i]) - middle
            step = weights[i] * gap
            shift += step
            spread += step * gap
        if not center:
            mean[c], second[c] = 0.0, spread
            continue
        mean[c], second[c] = (
            middle + shift,
            max(spread - shift * shift, 0.0) if spread == spread else spread,
        )
        if second[c] <= LEVEL * mean[c] * mean[c]:
            first, equal, value = True, True, 0.0
            for i in range(n):
                if weights[i] > 0.0:
                    if first:
                        first, value = False, np.float64(x[i])
                    elif np.float64(x[i]) != value:
                        equal = False
            if equal:
                mean[c], second[c] = value, 0.0


@njit
def moments_of_rows(X, weights, center, start, stop, mean, second):
    """`moments_of_columns` for X (n, p) whose rows lie one after another, except for columns of
    equal entries. Two passes over a tile that the cache holds, tiles merged as in `Dense.moments`.
    """
    pivot, middle, shift, spread = (
        np.empty(SIDE_BY_SIDE),
        np.empty(SIDE_BY_SIDE),
        np.empty(SIDE_BY_SIDE),
        np.empty(SIDE_BY_SIDE),
    )
    for first in range(start, stop, SIDE_BY_SIDE):
        m, mass = min(SIDE_BY_SIDE, stop - first), 0.0
        whole, square = mean[first : first + m], second[first : first + m]
        whole[:], square[:] = 0.0, 0.0
        for top in range(0, weights.size, ROW_TILE):
            end, total = min(top + ROW_TILE, weights.size), 0.0
            middle[:], shift[:], spread[:] = 0.0, 0.0, 0.0
            for i in range(top, end):
                row, w = X[i, first : first + m], weights[i]
                total += w
                for c in range(m if center else 0):
                    middle[c] += w * np.float64(row[c])
            if not total > 0.0:
                continue
            for c in range(m):
                middle[c] /= total
            for i in range(top, end):
                row, w = X[i, first : first + m], weights[i]
                for c in range(m):
                    gap = np.float64(row[c]) - middle[c]
                    step = w * gap
                    shift[c] += step
                    spread[c] += step * gap
            if not center:
                for c in range(m):
                    square[c] += spread[c]
                continue
            for c in range(m):
                if mass == 0.0:
                    pivot[c] = middle[c]
                moved = shift[c] / total
                step = middle[c] - pivot[c] + moved - whole[c]
                square[c] += (
                    spread[c] - shift[c] * moved + step * step * (mass * total / (mass + total))
                )
                whole[c] += step * (total / (mass + total))
            mass += total
        if center:
            for c in range(m):
                whole[c] += pivot[c]
