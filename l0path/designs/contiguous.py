"""Blocks of whole columns, one after another, in float32 or float64: moments and products by kernels that read every column once from memory, with sums in float64.

For a block that fits the cache they replace a dozen array operations, between which threads wait for each other; products take half the time of a cast and BLAS, a third for a few right-hand sides.
"""
import numpy as np

from l0path._generic import njit
from l0path.designs.checks import right_hand_sides
from l0path.designs.dense import Dense

ROWS = 2048  # that six columns and their right-hand sides are multiplied in before the next: they stay in the cache
LEVEL = 1e-24  # second moments up to this share of the squared mean may be rounding: are all entries equal?


@njit
def _products(X, R, out):
    """out[k, c] = x_c'r_k for X (q, n), a column of the design in each row, R (m, n), out (m, q) zeros. Six columns by two right-hand sides at a time, twelve sums that registers hold.

    At the ends the last column or side is taken again: every sum has the same order of its terms, wherever a block begins.
    """
    q, m = X.shape[0], R.shape[0]
    for top in range(0, X.shape[1], ROWS):
        stop = min(top + ROWS, X.shape[1])
        for c in range(0, q, 6):
            c1, c2, c3, c4, c5 = min(c + 1, q - 1), min(c + 2, q - 1), min(c + 3, q - 1), min(c + 4, q - 1), min(c + 5, q - 1)
            x0, x1, x2, x3, x4, x5 = X[c, top:stop], X[c1, top:stop], X[c2, top:stop], X[c3, top:stop], X[c4, top:stop], X[c5, top:stop]
            for k in range(0, m, 2):
                l = min(k + 1, m - 1)
                r, s = R[k, top:stop], R[l, top:stop]
                a0 = a1 = a2 = a3 = a4 = a5 = b0 = b1 = b2 = b3 = b4 = b5 = 0.0
                for i in range(stop - top):
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
                (out[k, c], out[k, c1], out[k, c2], out[k, c3], out[k, c4], out[k, c5], out[l, c], out[l, c1], out[l, c2], out[l, c3], out[l, c4], out[l, c5]) = (
                    out[k, c] + a0, out[k, c1] + a1, out[k, c2] + a2, out[k, c3] + a3, out[k, c4] + a4, out[k, c5] + a5,
                    out[l, c] + b0, out[l, c1] + b1, out[l, c2] + b2, out[l, c3] + b3, out[l, c4] + b4, out[l, c5] + b5)


@njit
def _moments(X, weights, center, level, mean, second):
    """Weighted mean (0 unless center) and second moment about it of each row of X (q, n); weights sum to one. Two passes over a column, the second with what rounding left of the mean."""
    n = weights.size
    for c in range(X.shape[0]):
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
        mean[c], second[c] = middle + shift, max(spread - shift * shift, 0.0) if spread == spread else spread
        if second[c] <= level * mean[c] * mean[c]:
            first, equal, value = True, True, 0.0
            for i in range(n):
                if weights[i] > 0.0:
                    if first:
                        first, value = False, np.float64(x[i])
                    elif np.float64(x[i]) != value:
                        equal = False
            if equal:
                mean[c], second[c] = value, 0.0


class Contiguous(Dense):
    """`Dense` over a float32 or float64 array in Fortran order, read by one thread."""

    @right_hand_sides
    def correlate(self, R, start=0, stop=None):
        """See `Dense.correlate`."""
        X = self.X.T[start:stop]
        out = np.zeros((R.shape[1], X.shape[0]))
        _products(X, np.ascontiguousarray(R.T), out)
        return out.T

    def moments(self, weights, center):
        """See `Dense.moments`."""
        weights, (mean, second) = np.ascontiguousarray(weights, dtype=np.float64), np.empty((2, self.p))
        _moments(self.X.T, weights, bool(center), LEVEL, mean, second)
        wild = np.flatnonzero(~np.isfinite(second))
        if wild.size and not weights.all():  # perhaps only in rows of weight 0, which take no part
            mean[wild], second[wild] = Dense(self.X[:, wild]).moments(weights, center)
        return mean, second


def block_of(X):
    """The design of a block."""
    fits = X.flags.f_contiguous and X.flags.aligned and X.flags.writeable and X.dtype in (np.dtype(np.float32), np.dtype(np.float64)) and X.dtype.isnative
    return Contiguous(X) if fits else Dense(X)
