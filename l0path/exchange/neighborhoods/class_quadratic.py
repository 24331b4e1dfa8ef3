"""Predictions of the quadratic at a fit for exchanges under a loss of q predictors of each row.

At the restricted optimum x of a support S the Hessian (`newton.hessian`) has an inverse B, from
which the optima of the quadratic follow by blocks of q rows, one for each predictor: after "add j",
and after "drop i, add j".
"""

from typing import NamedTuple

import numpy as np

from ...core.dispatch import njit
from ...problem.verbs import derivatives_of_rows
from ...working_set import newton
from ...working_set.linear_algebra import (
    cholesky,
    cholesky_solve,
    copy,
    filled,
    invert,
    products_of_rows,
)
from ..table import COLLINEAR


class ClassTable(NamedTuple):
    """The quadratic at a fit: K coefficients for each of q predictors, see `working_set.newton`."""

    S: np.ndarray  # (k,), the support, as positions in W
    x: np.ndarray  # (K, q), coefficients
    B: np.ndarray  # (q K, q K), inverse Hessian
    step: np.ndarray  # (q K,), Newton step
    D: np.ndarray  # (q, n), slopes
    V: np.ndarray  # (q (q + 1) / 2, n), curvatures of pairs of predictors


class Added(NamedTuple):
    """A column j beside the support."""

    C: np.ndarray  # (q, q K), its blocks of the Hessian
    U: np.ndarray  # (q, q K), C B
    factor: np.ndarray  # (q, q), of what its own block keeps
    step: np.ndarray  # (q K,), of the quadratic to the optimum with it
    own: np.ndarray  # (q,), the step of j itself
    right: np.ndarray  # (q,), its gradient before
    gain: np.ndarray  # what it lowers F by


def table_at(model, fit, lambda2):
    """The `ClassTable` of a fit; None where some direction has no clear curvature.

    model: the working columns, a `MultinomialModel`.
    """
    S, none = model.where[fit.support], np.full(fit.support.size, np.inf)
    x = model.packed(*model.begin((fit.b, fit.b0), S.size))
    rules = newton.Shrinkage(0.0, lambda2), newton.Box(-none, none)
    weak, *found = _expanded(model.row_data(model.Z), S, *rules, x)
    q = len(model.T)
    B, step, D, V = found
    x = np.ascontiguousarray(x.reshape(q, -1).T)
    return None if weak else ClassTable(S, x, B, step, D.reshape(q, -1), V.reshape(-1, D.size // q))


@njit
def _expanded(rows, S, shrunk, box, x):
    """(number of directions without clear curvature, inverse Hessian, Newton step, slopes,
    curvatures) at x (q K,).
    """
    eta, B, step = np.empty(rows.offset.size), np.empty((x.size, x.size)), np.empty(x.size)
    model, _ = newton.begin(rows, S, shrunk, box, x)
    work = newton.row_work(rows, x.size, S.size, eta)
    newton.predictors(rows, S, x, eta)
    derivatives_of_rows(rows.loss, rows.y, eta, rows.weights, work.slopes, work.curvatures)
    newton.gradient(rows, S, model, work.slopes)
    newton.hessian(rows, S, model, work, eta)
    weak = invert(model.H, x.size, B)
    for l in range(x.size):
        step[l] = 0.0
        for m in range(x.size):
            step[l] -= B[l, m] * model.grad[m]
    return weak, B, step, work.slopes, work.curvatures


def removals(table):
    """(k,) what the quadratic foretells that it costs to drop each member of the support."""
    (K, q), members = table.x.shape, np.arange(table.S.size)
    end = (table.x.T + table.step.reshape(q, K)).T[members]
    blocks = table.B.reshape(q, K, q, K)[:, members, :, members]
    return 0.5 * (end * np.linalg.solve(blocks, end[:, :, None])[:, :, 0]).sum(axis=1)


@njit
def _blocks(rows, table, j, lambda2, added, z):
    """Fill the blocks of working column j: C and, in `factor`, its own; the gradient in `own`.
    z (q (q + 1) / 2, n): scratch.
    """
    (K, q), k, column, pair = table.x.shape, table.S.size, rows.Z[j], 0
    along = np.empty((len(z), k))
    for s in range(q):
        g = 0.0
        for i in range(column.size):
            g += table.D[s, i] * column[i]
        added.own[s] = g
        for t in range(s + 1):
            V, weighted, total, square = table.V[pair], z[pair], 0.0, 0.0
            for i in range(column.size):
                w = V[i] * column[i]
                weighted[i] = w
                total += w
                square += w * column[i]
            if rows.intercept:
                added.C[s, t * K + k] = added.C[t, s * K + k] = total
            added.factor[s, t] = square
            pair += 1
        added.factor[s, s] += 2.0 * lambda2
    products_of_rows(rows.Z, table.S, z, along)
    pair = 0
    for s in range(q):
        for t in range(s + 1):
            for a in range(k):
                added.C[s, t * K + a] = added.C[t, s * K + a] = along[pair, a]
            pair += 1


@njit
def add_column(rows, table, j, lambda2, added, z):
    """Fill the record of working column j, -1 for none; False where it is a combination."""
    q, size = table.x.shape[1], table.step.size
    copy(table.step, added.step)
    added.gain[0] = 0.0
    if j >= 0:
        _blocks(rows, table, j, lambda2, added, z)
        for s in range(q):
            floor = COLLINEAR * added.factor[s, s]
            for l in range(size):
                t = 0.0
                for m in range(size):
                    t += table.B[l, m] * added.C[s, m]
                added.U[s, l] = t
            for t in range(s + 1):
                u = 0.0
                for l in range(size):
                    u += added.C[s, l] * added.U[t, l]
                added.factor[s, t] -= u
            if not added.factor[s, s] > floor:
                return False
            t = -added.own[s]
            for l in range(size):
                t -= added.C[s, l] * table.step[l]
            added.own[s] = added.right[s] = t
        if cholesky(added.factor, q):
            return False
        cholesky_solve(added.factor, q, added.own)
        for s in range(q):
            added.gain[0] += 0.5 * added.own[s] * added.right[s]
            for l in range(size):
                added.step[l] -= added.U[s, l] * added.own[s]
    return True


@njit
def _removal(table, i, j, added):
    """What dropping member i beside column j costs by the quadratic; infinity where its block of
    the inverse has no clear size.
    """
    (K, q), B, cost = table.x.shape, table.B, 0.0
    M, E, rest, solved = np.empty((q, q)), np.zeros((q, q)), np.empty(q), np.empty(q)
    for t in range(q if j >= 0 else 0):
        for s in range(q):
            E[t, s] = added.U[s, t * K + i]
        cholesky_solve(added.factor, q, E[t])
    for s in range(q):
        for t in range(s + 1):
            M[s, t] = B[s * K + i, t * K + i]
            for u in range(q if j >= 0 else 0):
                M[s, t] += added.U[u, s * K + i] * E[t, u]
        rest[s] = table.x[i, s] + added.step[s * K + i]
        solved[s] = rest[s]
    if cholesky(M, q):
        return np.inf
    cholesky_solve(M, q, solved)
    for s in range(q):
        cost += 0.5 * rest[s] * solved[s]
    return cost


@njit
def predict(rows, table, exchanges, lambda2, change):
    """Fill change (m,) with what the quadratic predicts for exchanges (m, 2): positions in the
    support and working columns, -1 for none; infinity for columns that are combinations.
    """
    (K, q), m = table.x.shape, change.size
    C, U = np.empty((m, q, q * K)), np.empty((m, q, q * K))
    factors, steps, own = np.empty((m, q, q)), np.empty((m, q * K)), np.empty((m, 2, q))
    gains, clear, where, z = (
        np.empty((m, 1)),
        np.zeros(m, np.bool_),
        np.empty(m, np.int64),
        np.empty(table.V.shape),
    )
    for e in range(m):
        i, j, at = exchanges[e, 0], exchanges[e, 1], e
        for before in range(e):
            if exchanges[before, 1] == j:
                at = where[before]
                break
        where[e] = at
        added = Added(C[at], U[at], factors[at], steps[at], own[at, 0], own[at, 1], gains[at])
        if at == e:
            clear[e] = add_column(rows, table, j, lambda2, added, z)
        change[e] = -added.gain[0] if clear[at] else np.inf
        if i >= 0 and clear[at]:
            change[e] += _removal(table, i, j, added)


class Among(NamedTuple):
    """The exchanges of a fit that are ranked."""

    G: np.ndarray  # (w, w), Gram matrix of the working columns
    open: np.ndarray  # (w,), bool: which may enter
    first: int  # from this position on
    locked: np.ndarray  # (k,), bool: which members stay
    swaps: bool  # whether swaps are ranked, else additions


@njit
def rank(rows, table, among, lambda2, exchanges, change):
    """Fill exchanges (m, 2), positions in the support and in W, and change (m,) ascending with what
    the quadratic predicts for those that the table of several responses, with the mean curvature of
    the fit, ranks first. Returns their number, -1 where columns of the support are combinations.
    """
    found = _preselect(rows, table, among, lambda2, exchanges, change)
    if found <= 0:
        return found
    predict(rows, table, exchanges[:found], lambda2, change[:found])
    last = 0
    for e in range(found):
        i, j, value = exchanges[e, 0], exchanges[e, 1], change[e]
        if value < np.inf:
            _insert(i, j, value, exchanges, change, last)
            last += 1
    return last


@njit
def _insert(i, j, value, exchanges, change, last):
    """Insert an exchange among the first `last` ones, after those of the same value."""
    at = last
    while at > 0 and change[at - 1] > value:
        change[at], exchanges[at, 0], exchanges[at, 1] = (
            change[at - 1],
            exchanges[at - 1, 0],
            exchanges[at - 1, 1],
        )
        at -= 1
    change[at], exchanges[at, 0], exchanges[at, 1] = value, i, j


@njit
def _preselect(rows, table, among, lambda2, exchanges, change):
    """The exchanges that `response_table` ranks first: their number, -1 for combinations."""
    S, G, w, q = table.S, among.G, among.open.size, table.x.shape[1]
    k, first, found, most, mean = S.size, among.first, 0, change.size, 0.0
    for s in range(q):
        pair = (s * (s + 1)) // 2 + s
        for i in range(table.V.shape[1]):
            mean += table.V[pair, i]
    mean = max(mean / q, 1e-8)
    A, B, ridge = np.empty((k, k)), np.empty((k, k)), 2.0 * lambda2 / mean
    for a in range(k):
        for b in range(k):
            A[a, b] = G[S[a], S[b]]
        A[a, a] += ridge
    if invert(A, k, B):
        return -1
    c, size, cost = np.empty((q, w - first)), filled(k, 0.0), filled(k, 0.0)
    products_of_rows(rows.Z, np.arange(first, w), table.D, c)
    for a in range(k):
        for s in range(q):
            size[a] += table.x[a, s] * table.x[a, s]
        cost[a] = np.inf if among.locked[a] else 0.5 * size[a] / B[a, a]
    V, inner, along, value = np.empty(k), np.empty(k), np.empty(k), np.empty(max(k, 1))
    for j in range(first, w):
        if not among.open[j]:
            continue
        whole = G[j, j] + ridge
        total, kept = 0.0, whole
        for a in range(k):
            along[a], V[a], inner[a] = G[j, S[a]], 0.0, 0.0
        for b in range(k):
            t = along[b]
            for a in range(k):
                V[a] += B[b, a] * t
        for a in range(k):
            kept -= V[a] * along[a]
        for s in range(q):
            t = -c[s, j - first] / mean
            total += t * t
            for a in range(k):
                inner[a] += t * table.x[a, s]
        floor, tried = max(COLLINEAR * whole, 0.0), k if among.swaps else 1
        if among.swaps:
            for a in range(k):
                u = V[a] / B[a, a]
                gain, rest = total + u * (2.0 * inner[a] + u * size[a]), kept + V[a] * u
                value[a] = cost[a] - 0.5 * gain / rest if rest > floor else np.inf
        else:
            value[0] = -0.5 * total / kept if kept > floor else np.inf
        for a in range(tried):
            least = mean * value[a]
            if least < (change[found - 1] if found == most else np.inf):
                found = min(found + 1, most)
                _insert(a if among.swaps else -1, j, least, exchanges, change, found - 1)
    return found
