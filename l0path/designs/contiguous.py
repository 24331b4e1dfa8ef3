"""Blocks of whole columns, one after another, in float32 or float64: moments and a few products by kernels that read every column once from memory, with sums in float64.

For a block that fits the cache these replace a dozen array operations, between which threads wait for each other.
"""
import numpy as np

from l0path._generic import njit
from l0path.designs.dense import Dense

FEW, CACHED = 12, 1 << 15  # right-hand sides, and entries of them, up to which the kernel is faster than a cast and BLAS
LEVEL = 1e-24  # second moments up to this share of the squared mean may be rounding: are all entries equal?


@njit
def _products(X, R, out):
    """out[k, c] = x_c'r_k for X (q, n), a column of the design in each row, R (m, n); four right-hand sides at a time."""
    m = R.shape[0]
    whole = m // 4 * 4
    for c in range(X.shape[0]):
        x = X[c]
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = R[k], R[k + 1], R[k + 2], R[k + 3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for i in range(x.size):
                value = np.float64(x[i])
                s0 += value * r0[i]
                s1 += value * r1[i]
                s2 += value * r2[i]
                s3 += value * r3[i]
            out[k, c], out[k + 1, c], out[k + 2, c], out[k + 3, c] = s0, s1, s2, s3
        for k in range(whole, m):
            r, total = R[k], 0.0
            for i in range(x.size):
                total += np.float64(x[i]) * r[i]
            out[k, c] = total


@njit
def _moments(X, weights, center, level, mean, second):
    """Weighted mean (0 unless center) and second moment about it of each row of X (q, n); weights sum to one. Two passes over a column, the second with what rounding left of the mean."""
    n = weights.size
    for c in range(X.shape[0]):
        x, middle, spread, shift = X[c], 0.0, 0.0, 0.0
        if center:
            for i in range(n):
                middle += weights[i] * (np.float64(x[i]) if weights[i] > 0.0 else 0.0)
        for i in range(n):
            gap = np.float64(x[i]) - middle if weights[i] > 0.0 else 0.0
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

    def correlate(self, R, start=0, stop=None):
        """See `Dense.correlate`."""
        if R.ndim == 1 or R.shape[1] > FEW or (R.size > CACHED and R.shape[1] > 2) or start or stop is not None:
            return super().correlate(R, start, stop)
        out = np.empty((R.shape[1], self.p))
        _products(self.X.T, np.ascontiguousarray(R.T, dtype=np.float64), out)
        return out.T

    def moments(self, weights, center):
        """See `Dense.moments`."""
        mean, second = np.empty((2, self.p))
        _moments(self.X.T, np.ascontiguousarray(weights, dtype=np.float64), bool(center), LEVEL, mean, second)
        return mean, second


def block_of(X):
    """The design of a block."""
    fits = X.flags.f_contiguous and X.flags.aligned and X.flags.writeable and X.dtype in (np.dtype(np.float32), np.dtype(np.float64)) and X.dtype.isnative
    return Contiguous(X) if fits else Dense(X)
