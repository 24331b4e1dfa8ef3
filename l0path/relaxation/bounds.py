"""Lower bounds of best-subset problems by weak duality: any dual point bounds every size k and
every lambda0 at once.

For a in R^n with a_i / w_i in the domain of the loss's conjugate and, with a free intercept, sum a
= 0 (tau_j = z_j'a, q_j the ridge of column j, lambda2 unless a diagonal was split off):

    C(a)   = sum_i o_i a_i - sum_i w_i l*(y_i, a_i / w_i)
    h_j    = max over lower_j <= b <= upper_j of  -tau_j b - lambda1 |b| - q_j b^2
    D_k    = C - sum_forced h_j - (sum of the k largest other h_j)
             <=  loss + lambda1 ||b||_1 + lambda2 ||b||^2  of every b with at most k chosen columns
    D      = C - sum_forced h_j - sum_others max(h_j - lambda0 f_j, 0)
             <=  the penalized objective (P) of every b

Sources: Liu et al. (ICML 2017), section 3 (D_k for a ridge); Ren & Qian (Dynamic Incremental
    Optimization for Best Subset Selection), section 2 (D without box, intercept or factors). Both
    are
*lower bounds*. That their maximum equals the optimum (strong duality) is not generally true,
whatever the loss and however good the primal point: for n = p = 1, x = 1, y = sqrt(2), lambda0 =
lambda2 = 1/2 on the sum loss the optimum is 1 and the best bound sqrt(2) - 1/2. The best bound is
the optimum of the perspective relaxation, which `relaxation.improve` approaches. Where a column has
neither ridge nor a finite box, h_j is infinite unless |tau_j| <= lambda1, and the bound says
nothing (-inf).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core.dispatch import njit
from ..problem.conjugates import conjugate, feasible, tangents
from ..problem.problem import EPS, Problem


@dataclass(frozen=True, kw_only=True)
class Dual:
    """The problem that bounds refer to: one with lambda1, a ridge (p,) and a box (p,) for each
    column; columns not usable have the box [0, 0]. Make it with `dual_problem`.

    split (p,) or None: the diagonal taken out of the Gram matrix of a squared loss and put into the
    ridge as split / 2; tangent_size: the nonzero coefficients of a point of tangency, at most, None
    for any number; `conditional`: a box was assumed that the problem does not have, and every bound
    and every fixing holds only for solutions within it.
    """

    problem: Problem
    lambda1: float
    ridge: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    split: np.ndarray | None = None
    conditional: bool = False
    tangent_size: int | None = None

    @cached_property
    def counted(self):
        """(p,) bool: columns that count in k and pay lambda0."""
        out = self.problem.usable.copy()
        out[self.problem.forced] = False
        return out

    @cached_property
    def unbounded(self):
        """(p,) bool: columns without a ridge that some side of the box does not bound: their h_j
        can be infinite.
        """
        return (self.ridge <= 0) & ~(np.isfinite(self.lower) & np.isfinite(self.upper))

    @property
    def bounded(self):
        """Whether bounds can say anything for k > 0: no column is unbounded, or lambda1 > 0
        bounds the slopes of those that are.
        """
        return self.lambda1 > 0 or not self.unbounded.any()

    @cached_property
    def homogeneous(self):
        """Whether scaling a dual point by s scales tau by s and every h_j by s^2: squared loss, no
        lambda1, box or split.
        """
        u = self.problem.usable
        return (
            self.problem.quadratic
            and self.lambda1 == 0
            and self.split is None
            and not np.isfinite(self.lower[u]).any()
            and not np.isfinite(self.upper[u]).any()
            and bool((self.ridge[u] > 0).all())
        )

    @cached_property
    def rounding_scale(self):
        """(p,): what the rounding of tau_j is proportional to, the norm of the column before it is
        centered.
        """
        X = self.problem.X
        return np.sqrt(self.problem.square) + np.abs(X.center) / X.scale

    @property
    def gamma(self):
        """Relative rounding of a sum of n products."""
        return (self.problem.X.n + 16) * EPS


class Points(NamedTuple):
    """m dual points, feasible. What was summed in tau_j is at most rounding_factor times
    `Dual.rounding_scale`.
    """

    a: np.ndarray  # (n, m)
    tau: np.ndarray  # (p, m), Z'a (less split * u)
    constant: np.ndarray  # (m,), C
    norm: np.ndarray  # (m,), sqrt(sum a^2 / w)
    size: np.ndarray  # (m,), what was summed in C
    rounding_factor: np.ndarray  # (m,), the norm where X was read for tau

    def take(self, columns):
        """Some of the points."""
        return Points(*(v[..., columns] for v in self))


def dual_problem(problem, lambda1=0.0, lambda2=0.0, *, box=None, split=None):
    """The `Dual` of a problem. box: M > 0, a number or (p,), assumes |b_j| <= M_j beside the
    problem's own bounds; split (p,): d with Gram - diag(d) positive semidefinite
    (`splitting.split`).
    """
    p = problem.X.p
    lower = np.where(problem.usable, problem.lower, 0.0)
    upper = np.where(problem.usable, problem.upper, 0.0)
    if box is not None:
        M = np.broadcast_to(np.asarray(box, dtype=np.float64), (p,))
        if not (M > 0).all():
            raise ValueError(
                f"box={box!r} must be positive: a bound on |b_j| in standardized units"
            )
        tighter = (M < np.maximum(-lower, upper)).any()
        lower, upper = np.maximum(lower, -M), np.minimum(upper, M)
        if (lower > upper).any():
            raise ValueError(
                f"box={box!r} leaves nothing of the problem's own bounds for column "
                f"{np.flatnonzero(lower > upper)[0]}"
            )
    ridge = np.full(p, float(lambda2))
    if split is not None:
        if not problem.quadratic:
            raise ValueError(
                "split= needs the squared loss: other losses have no constant curvature to take a "
                "diagonal from"
            )
        ridge = ridge + 0.5 * split
    return Dual(
        problem=problem,
        lambda1=float(lambda1),
        ridge=ridge,
        lower=lower,
        upper=upper,
        split=split,
        conditional=box is not None and bool(tighter),
    )


def link(dual, tau, columns=slice(None)):
    """(b, h): maximizer and maximum of -tau_j b - lambda1 |b| - q_j b^2 over the box, like tau (q,)
    or (q, m) of some columns; infinite where unbounded.
    """
    shape = (-1,) + (1,) * (np.ndim(tau) - 1)
    q, low, high = (v[columns].reshape(shape) for v in (dual.ridge, dual.lower, dual.upper))
    reduced = np.abs(tau) - dual.lambda1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        b = np.where(reduced > 0, -np.sign(tau) * reduced / (2.0 * q), 0.0)
        b = np.clip(b, low, high)
        h = -tau * b - dual.lambda1 * np.abs(b) - q * b * b
    return b, np.where(np.isinf(b), np.inf, h)


def gains(dual, points, m):
    """h (p,) of point m, rounded up: what column j can take off the bound."""
    out = np.empty(dual.ridge.size)
    costs = Costs(dual.lambda1, dual.ridge, dual.lower, dual.upper)
    rounding = dual.gamma * points.rounding_factor[m] * dual.rounding_scale
    _gains(np.ascontiguousarray(points.tau[:, m]), costs, rounding, dual.gamma, out)
    return out


class Costs(NamedTuple):
    """lambda1 and, (p,) each, the ridge and the box of the columns."""

    lambda1: float
    ridge: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@njit
def _gains(tau, costs, rounding, gamma, out):
    """`link`'s h of every column plus what rounding of tau and of the sum can hide; all arrays
    (p,), fills out. Ten times as fast as array by array.
    """
    lambda1, ridge, lower, upper = costs
    for j in range(tau.size):
        reduced, b = abs(tau[j]) - lambda1, 0.0
        if reduced > 0.0:
            b = reduced / (2.0 * ridge[j])
            b = -b if tau[j] > 0.0 else b
        b = min(max(b, lower[j]), upper[j])
        if math.isinf(b):
            out[j] = np.inf
        else:
            h = -tau[j] * b - lambda1 * abs(b) - ridge[j] * b * b
            out[j] = h + abs(b) * rounding[j] + gamma * (abs(b) * lambda1 + 2.0 * abs(h))


def evaluate(dual, a, at=None):
    """`Points` of dual points a (n, m): made feasible, correlated with all columns in one batched
    read.

    at: with a split the point of tangency (columns J, u (len(J), m)), a_i = w_i (z_i'u - y_i)
        exactly; its linear minorant of loss - sum d b^2 / 2 needs C + sum d u^2 / 2 and tau - d u.
    With lambda1 > 0 and unbounded columns, points are shrunk until |tau_j| <= lambda1 there: the
    bound of the Lasso, which knows nothing of lambda0. In the place of points with slopes beyond
    all numbers, as those of powers far out, there is the point 0.
    """
    problem, finite = dual.problem, np.isfinite(a).all(axis=0)
    if dual.split is None and not finite.all():
        a = np.where(finite, a, 0.0)
    a = feasible(problem.loss, problem.y, problem.weights, problem.intercept, a)
    return _finished(dual, a, problem.X.correlate(a), at)


def points_of_slopes(dual, a, tau, at=None, rounding_factor=None):
    """`evaluate` without a read of X, for slopes a (n, m) whose tau (p, m) = Z'a is at hand, from a
    check of all columns or from rows of the Gram matrix; tau may be overwritten.

    rounding_factor (m,): see `Points`; None: tau was summed over the rows of X. What making a
    feasible changes in tau_j, at most sqrt(sum_i (change of a_i)^2 / w_i) sqrt(square_j), is
    counted as rounding.
    """
    problem = dual.problem
    moved = feasible(problem.loss, problem.y, problem.weights, problem.intercept, a)
    shift = np.sqrt(((moved - a) ** 2 / problem.weights[:, None]).sum(axis=0))
    norm = np.sqrt((a * a / problem.weights[:, None]).sum(axis=0))
    return _finished(
        dual,
        moved,
        tau,
        at,
        (norm if rounding_factor is None else np.maximum(norm, rounding_factor))
        + shift / dual.gamma,
    )


def _finished(dual, a, tau, at, rounding_factor=None):
    """`Points` of feasible a and their correlations: shrunk where lambda1 asks for it, with a split
    moved to the tangent.
    """
    if dual.split is None and dual.lambda1 > 0 and dual.unbounded.any():
        unbounded = (
            np.isinf(np.where(tau > 0, dual.lower[:, None], dual.upper[:, None]))
            & dual.unbounded[:, None]
        )
        size = np.abs(tau) + (
            0.0
            if rounding_factor is None
            else dual.gamma * dual.rounding_scale[:, None] * rounding_factor
        )
        ratio = np.minimum(
            1.0,
            dual.lambda1
            * (1 - 1e-10)
            / np.maximum(np.where(unbounded, size, 0.0).max(axis=0), 1e-300),
        )
        a, tau = a * ratio, tau * ratio
    points = with_constants(dual, a, tau)
    points = points if rounding_factor is None else points._replace(rounding_factor=rounding_factor)
    if dual.split is None:
        return points
    if at is None:
        raise ValueError(
            "with a split, dual points are tangents: pass at=(columns, coefficients) of the points "
            "of tangency"
        )
    J, u = at
    if dual.tangent_size is not None and ((u != 0).sum(axis=0) > dual.tangent_size).any():
        raise ValueError(f"points of tangency have more than {dual.tangent_size} coefficients")
    d = dual.split[J][:, None]
    points.tau[J] -= d * u
    extra = 0.5 * (d * u * u).sum(axis=0)
    return points._replace(constant=points.constant + extra, size=points.size + extra)


def points_at(dual, J, U, shift=None, predicted=None):
    """`Points` from primal ones: the loss's slopes at coefficients U (len(J), m) of columns J, the
    intercept at its best (sought from shift (m,)). One read of X.

    predicted (n, m): Z_J U, where it is known.
    """
    problem, J, most = dual.problem, np.asarray(J, dtype=np.int64), dual.tangent_size
    if most is not None and ((U != 0).sum(axis=0) > most).any():
        U, predicted = _sparser(U, most), None
    used = np.flatnonzero(U.any(axis=1))
    J, U = J[used], U[used]
    predicted = problem.X.dot(J, U) if predicted is None else predicted
    eta = np.asfortranarray(predicted + problem.offset[:, None])
    a = tangents(
        problem.loss,
        problem.y,
        problem.weights,
        eta,
        problem.intercept,
        np.zeros(U.shape[1]) if shift is None else shift,
    )[0]
    return evaluate(dual, a, (J, U))


def _sparser(U, most):
    """U (w, m) with the entries of every column that are largest in size alone, at most `most`."""
    out = U.copy()
    for u in out.T:
        u[np.argsort(-np.abs(u), kind="stable")[most:]] = 0.0
    return out


def points_of_fits(dual, fits):
    """`Points` of models, pairs (support, b) in standardized coefficients; one read of X for all of
    them.
    """
    J = np.unique(
        np.concatenate(
            [
                np.empty(0, dtype=np.int64),
                *(np.asarray(support, dtype=np.int64) for support, _ in fits),
            ]
        )
    )
    U = np.zeros((J.size, len(fits)))
    for m, (support, b) in enumerate(fits):
        U[np.searchsorted(J, support), m] = b
    return points_at(dual, J, U)


def dual_constant(dual, a):
    """C (m,) of feasible points a (n, m); without a split."""
    problem = dual.problem
    y, w = problem.y[:, None], problem.weights[:, None]
    return problem.offset @ a - (w * conjugate(problem.loss, y, a / w)).sum(axis=0)


def with_constants(dual, a, tau):
    """`Points` of feasible a (n, m) and their tau (p, m): C, its rounding and norms; without a
    split.
    """
    problem = dual.problem
    y, w, o = (v[:, None] for v in (problem.y, problem.weights, problem.offset))
    r = a / w
    each = w * conjugate(problem.loss, y, r)
    # -log of the smallest number that a difference of order one can be
    logs = 1.0 if problem.quadratic else 40.0 + np.log1p(np.abs(y))
    with np.errstate(over="ignore"):  # where slopes are beyond all numbers, a point bounds nothing
        size = (
            np.abs(each) + np.abs(a) * (1.0 + (1.0 + np.abs(y)) * logs + np.abs(r) + np.abs(o))
        ).sum(axis=0)
        norm = np.sqrt((a * r).sum(axis=0))
    return Points(a, tau, (o * a).sum(axis=0) - each.sum(axis=0), norm, size, norm)


def base(dual, points, m, h):
    """C less the forced columns' h, rounded down: the bound for k = 0."""
    return points.constant[m] - dual.gamma * points.size[m] - h[dual.problem.forced].sum()


def left(dual, points, m, h, taken):
    """The bound of point m when the chosen columns take off `taken` (an array): C less forced
    less taken; where the dual is homogeneous with the best multiple of the point for each entry.

    s a takes off s^2 times as much, and max over s of -s y'a - s^2 (sum a^2 / w / 2 + T) is (y'a)^2
    / (2 sum a^2 / w + 4 T).
    """
    out = base(dual, points, m, h) - taken
    if not dual.homogeneous:
        return out
    y, a = dual.problem.y, points.a[:, m]
    A = max(abs(y @ a) - dual.gamma * (np.abs(y) @ np.abs(a)), 0.0)
    total = taken + h[dual.problem.forced].sum()
    return np.maximum(
        out,
        A
        * A
        / np.maximum((2.0 * points.norm[m] ** 2 + 4.0 * total) * (1 + 2 * dual.gamma), 1e-300),
    )


def cardinality_bounds(dual, points, max_k):
    """D_k for k = 0..max_k of every point, (max_k + 1, m), rounded down; -inf where a point says
    nothing. One partial sort and one cumulative sum per point.

    For the squared loss with a ridge alone every point is scaled by its best factor for each k (see
    `left`).
    """
    out, counted = np.empty((max_k + 1, points.constant.size)), dual.counted

    def bound(m):
        h = gains(dual, points, m)
        taken = np.zeros(max_k + 1)
        taken[1:] = np.cumsum(largest(h[counted], max_k))
        out[:, m] = left(dual, points, m, h, taken)

    threads.run_each(bound, points.constant.size)
    return out


def largest(h, k):
    """The k largest entries, descending, padded with zeros; entries that are negative by rounding
    count as zero.
    """
    out = np.zeros(k)
    if h.size > 4 * k:
        h = np.partition(h, h.size - k)[h.size - k :] if k else h[:0]
    h = np.sort(h)[::-1][:k]
    out[: h.size] = np.maximum(h, 0.0)
    return out


def penalized_bounds(dual, points, lambda0):
    """D for every lambda0 (L,) of every point, (L, m), rounded down; -inf where a point says
    nothing.
    """
    lambda0 = np.atleast_1d(np.asarray(lambda0, dtype=np.float64))
    out = np.empty((lambda0.size, points.constant.size))
    f = dual.problem.factor
    for m in range(points.constant.size):
        h = gains(dual, points, m)
        J = np.flatnonzero(
            dual.counted & (h > lambda0.min(initial=np.inf) * np.where(dual.counted, f, 0.0))
        )
        taken = np.array([np.maximum(h[J] - value * f[J], 0.0).sum() for value in lambda0])
        out[:, m] = base(dual, points, m, h) - taken
    return out
