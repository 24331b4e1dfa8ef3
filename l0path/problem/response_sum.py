"""The loss of several responses as kernels take it: of q predictors of each row, one for each
response, under a loss that is a sum over rows.

    F(u) = sum_r v_r sum_i w_i l(y_ir, u_ir / root_r),   root_r = sqrt(v_r)

for the weights v of the responses. The predictors u are those of coefficients root_r b_r, so that
the ridge v_r lambda2 ||b_r||^2 is the same for all of them. These are the verbs that trials of
exchanges ask; on a given support every response has a problem of its own (`Problem.of_each`).

They call those of the loss of one response by their addresses, so they are compiled once for all
losses.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import part
from ..core.dispatch import njit, with_verbs
from .verbs import (
    LossData,
    drawn_back_rows,
    dual_gain_of_rows,
    loss_data,
    value_and_slopes,
    value_of_rows,
)


@with_verbs
class ResponseSum(NamedTuple):
    """The sum over the responses; it holds them itself, and the y that kernels pass is not read."""

    roots: np.ndarray  # (q,), of the weights of the responses
    Y: np.ndarray  # (q n,), the responses one after another
    at: np.ndarray  # `LossData.at` of the loss of one response,
    numbers: np.ndarray  # its numbers
    ints: np.ndarray  # and its ints

    def __reduce__(self):
        raise TypeError("addresses of compiled code are those of one process")

    def value_of_rows(self, y, eta, weights):
        one, n, total, e = _own(self), weights.size, 0.0, np.empty(weights.size)
        for s in range(self.roots.size):
            root, own = self.roots[s], part(self.Y, s * n, s * n + n)
            _divide(eta, s, root, e)
            total += root * root * value_of_rows(one, own, e, weights)
        return total

    def value_and_slopes(self, y, eta, weights, slopes):
        one, n, total, e = _own(self), weights.size, 0.0, np.empty(weights.size)
        for s in range(self.roots.size):
            root, own = self.roots[s], part(self.Y, s * n, s * n + n)
            D = part(slopes, s * n, s * n + n)
            _divide(eta, s, root, e)
            total += root * root * value_and_slopes(one, own, e, weights, D)
            for i in range(n):
                D[i] *= root
        return total

    def dual_gain_of_rows(self, y, weights, eta, slopes, ahead, dual):
        one, gain, n, work = _own(self), 0.0, weights.size, np.empty((4, weights.size))
        for s in range(self.roots.size):
            root, own = self.roots[s], part(self.Y, s * n, s * n + n)
            _take(self, s, eta, slopes, ahead, dual, work)
            more = dual_gain_of_rows(one, own, weights, work[0], work[1], work[2], work[3])
            gain += root * root * more
        return gain if abs(gain) < math.inf else -math.inf

    def drawn_back_rows(self, y, weights, eta, slopes, ahead, dual, moved):
        one, gain, n, work = _own(self), 0.0, weights.size, np.empty((4, weights.size))
        for s in range(self.roots.size):
            root, own = self.roots[s], part(self.Y, s * n, s * n + n)
            D = part(moved, s * n, s * n + n)
            _take(self, s, eta, slopes, ahead, dual, work)
            more = drawn_back_rows(one, own, weights, work[0], work[1], work[2], work[3], D)
            gain += root * root * more
            for i in range(n):
                D[i] *= root
                dual[s * n + i] += D[i]
        return gain if abs(gain) < math.inf else -math.inf


def response_sum(loss, Y, roots):
    """The `ResponseSum` of responses Y (n, q) under a loss of one predictor; None where the loss
    has no compiled verbs.
    """
    one = loss_data(loss)
    if not isinstance(one, LossData):
        return None
    Y = np.ascontiguousarray(Y.T, dtype=np.float64).ravel()
    return ResponseSum(np.asarray(roots, dtype=np.float64), Y, one.at, one.numbers, one.ints)


@njit
def _own(loss):
    """The loss of one response."""
    return LossData(loss.at, loss.numbers, loss.ints, part(loss.numbers, 0, 0), 0)


@njit
def _divide(values, s, root, out):
    """Fill out (n,) with part s of values (q n,) over a root."""
    n = out.size
    for i in range(n):
        out[i] = values[s * n + i] / root


@njit
def _take(loss, s, eta, slopes, ahead, dual, work):
    """Fill work (4, n) with what these are to the loss of response s."""
    root = loss.roots[s]
    _divide(eta, s, root, work[0])
    _divide(slopes, s, root, work[1])
    _divide(ahead, s, root, work[2])
    _divide(dual, s, root, work[3])
