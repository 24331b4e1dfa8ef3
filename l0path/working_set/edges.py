"""Sums of kinked linear functions, minimized by steps along edges: the linear programs of the check
loss and the hinge, begun near their optimum.

Source: Barrodale & Roberts (An improved algorithm for discrete l1 linear approximation, SIAM
Journal on Numerical Analysis 10, 1973); Koenker & d'Orey (Algorithm AS 229: Computing regression
quantiles, Applied Statistics 36, 1987) for other slopes than -1 and 1.
"""

import numpy as np
import scipy

NEAREST = 4  # functions among which those of a first basis are sought, for each parameter
EDGES = 10  # for each parameter: steps after which a search is given up
RENEWED = 50  # steps after which an inverse is computed anew, as rounding adds up
BALANCED = 1e-9  # share of the range of slopes by which one may be beyond its range


def along_edges(A, at, box, x, zero):
    """(x (q,), slopes (N,)) of the least sum_i max(low_i r_i, high_i r_i), r = A'x + at, by steps
    from vertex to vertex; None where they do not end soon, or A has dependent rows.

    A vertex has q independent functions r_i at 0, the basis. It is the optimum where slopes of the
    basis within their ranges balance those of the others. Else a function whose slope is beyond
    its range leaves the basis, and the edge is followed to its lowest point, where another one
    enters.

    Parameters
    ----------
    A : ndarray of shape (q, N)
    at : ndarray of shape (N,)
    box : ndarray of shape (N, 2)
        low and high, finite.
    x : ndarray of shape (q,)
        Where to begin: the first basis is of functions that are small there.
    zero : float
        Size up to which a function counts as 0.

    Returns
    -------
    tuple or None
    """
    (low, high), q = box.T, A.shape[0]
    width = high - low
    r = x @ A + at
    near = np.argsort(np.abs(r))[: NEAREST * q]
    first = scipy.linalg.qr(A[:, near] / np.maximum(np.abs(r[near]), zero), mode="r", pivoting=True)
    basis, inverse = near[first[1][:q]], None
    if basis.size < q:
        return None
    for step in range(EDGES * (q + 1)):
        if step % RENEWED == 0:
            inverse = _inverse(A[:, basis])
            if inverse is None:
                return None
            r = at - (at[basis] @ inverse) @ A
            above = r > 0.0
            a = np.where(above, high, low)
        a[basis] = 0.0
        u = -inverse @ (A @ a)
        lacks = np.maximum(low[basis] - u, u - high[basis]) / width[basis]
        i = int(lacks.argmax())
        if lacks[i] <= BALANCED:
            a[basis] = np.clip(u, low[basis], high[basis])
            inverse = _inverse(A[:, basis])
            return None if inverse is None else (-at[basis] @ inverse, a)
        leaves = basis[i]
        side = 1.0 if u[i] > 0.5 * (low[leaves] + high[leaves]) else -1.0
        v = (side * inverse[i]) @ A
        toward = np.where(above, -v, v)
        toward[basis] = 0.0
        ahead = np.flatnonzero(toward > 0.0)
        far = np.abs(r[ahead]) / toward[ahead]
        order = np.argsort(far)
        slope = np.cumsum((toward * width)[ahead[order]])
        place = int(np.searchsorted(slope, lacks[i] * width[leaves]))
        if place == order.size:
            return None
        enters, passed = ahead[order[place]], ahead[order[:place]]
        r += far[order[place]] * v
        above[passed] = ~above[passed]
        above[leaves] = side > 0.0
        crossed = np.append(passed, leaves)
        a[crossed] = np.where(above[crossed], high[crossed], low[crossed])
        basis[i] = enters
        column = inverse @ A[:, enters]
        if column[i] == 0.0:  # rounding has hidden that the function that enters is independent
            return None
        row = inverse[i] / column[i]
        inverse = inverse - column[:, None] * row
        inverse[i] = row
    return None


def _inverse(M):
    """The inverse of a matrix; None where it is singular."""
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
