"""The smooth part of the problem as first-order methods see it: value, gradient, slope and
curvature along a direction, whatever holds the columns.

    F(b0, w) = sum_i w_i loss(y_i, o_i + b0 + z_i'w) + lambda2 ||w||^2 + lambda1 ||w||_1

A *view* is the problem on m columns: all p of them read through the design, or the working columns,
or (squared loss) their Gram matrix alone. An iterate carries its *image*, which is linear in (w,
b0), so that steps along a line cost no product: the predictor without the offset on rows, G w on a
Gram matrix.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..problem.losses import smoothness
from ..problem.verbs import derivatives, mean_loss
from .coordinate_descent import entry_gains

LANCZOS_TOL, LANCZOS_STEPS = 1e-6, 60  # relative change at which an eigenvalue is one; steps


class Iterate(NamedTuple):
    """A point: w (m,) dense coefficients, b0, image (n,) or (m,), value = F."""

    w: np.ndarray
    b0: float
    image: np.ndarray
    value: float


class SizeOutcome(NamedTuple):
    """The result of a solver for one size or lambda0: fit (restricted optimum on its support),
    iterations, status; step of the last map; bound <= optimum (NaN: none); proven; alpha (n,) dual
    point;
    relaxed: value of a convex relaxation that was solved (NaN: none), which no bound from duality
        exceeds.
    """

    fit: Any
    iterations: int
    status: str
    step: float = float("nan")
    bound: float = float("nan")
    proven: bool = False
    alpha: Any = None
    relaxed: float = float("nan")

    @property
    def gap(self):
        """Value less bound."""
        return self.fit.value - self.bound


class SolverTraits(NamedTuple):
    """The declaration of a solver to the path of all sizes."""

    all_columns: bool = False  # it works on all p columns and needs no check
    both_ways: bool = False  # it ends where its start leads it: sizes are also entered from above
    max_entering: int = 60  # columns that may join for one size at a time
    proposes: bool = False  # best addition and cheapest removal compete for the sizes beside
    prunes: bool = False  # its `reach` bounds the products that matter


def largest(score, count, index):
    """Positions of the `count` largest scores, ascending; ties go to the smaller `index` (column
    number).
    """
    if count >= score.size:
        return np.arange(score.size)
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    edge = np.partition(score, score.size - count)[score.size - count]
    sure = np.flatnonzero(score > edge)
    tied = np.flatnonzero(score == edge)
    return np.sort(
        np.concatenate([sure, tied[np.argsort(index[tied], kind="stable")[: count - sure.size]]])
    )


def top_eigenvalue(product, start):
    """Largest eigenvalue of a positive semidefinite operator by Lanczos steps with full
    reorthogonalization from `start`; it is reached from below.
    """
    size = np.linalg.norm(start)
    if not size > 0:
        return 0.0
    basis, diagonal, side, found = [start / size], [], [], 0.0
    for _ in range(min(LANCZOS_STEPS, start.size)):
        v = product(basis[-1])
        diagonal.append(float(basis[-1] @ v))
        for _turn in range(2):
            for u in basis:
                v = v - (u @ v) * u
        old = found
        found = float(
            np.linalg.eigvalsh(np.diag(diagonal) + np.diag(side, 1) + np.diag(side, -1))[-1]
        )
        length = float(np.linalg.norm(v))
        if length <= 1e-12 * found or abs(found - old) <= LANCZOS_TOL * found:
            break
        side.append(length)
        basis.append(v / length)
    return found


class View:
    """Columns of a problem: index (m,), box, forced and open (may be chosen) masks; lambda1,
    lambda2. `spread` is the largest eigenvalue of Z'WZ; `lipschitz` bounds that of F's Hessian.
    """

    def __init__(self, problem, index, lambda1, lambda2):
        self.problem, self.index, self.m = problem, index, index.size
        self.lambda1, self.lambda2 = float(lambda1), float(lambda2)
        self.lower, self.upper = problem.lower[index], problem.upper[index]
        self.forced = np.isin(index, problem.forced)
        self.selectable = problem.usable[index] & ~self.forced
        self.closed = ~self.selectable & ~self.forced
        self.boxed = bool(
            np.isfinite(self.lower[~self.closed]).any()
            or np.isfinite(self.upper[~self.closed]).any()
        )
        self.free_intercept = problem.free_intercept
        self.lipschitz = self.spread = np.nan
        self.curvature_bound = smoothness(problem.loss)

    def measure(self, null_curvature=1.0):
        """Set spread and lipschitz. The start is the same whatever the order of columns: their
        products c with y, away from 0. Opposite columns do not cancel in it: Z start has the
        product sum |c_j| start_j > 0 with y.
        """
        c = np.where(self.closed, 0.0, self.null_correlations())
        size = np.abs(c) + 0.1 * np.abs(c).max(initial=0.0) + 1e-300
        start = np.where(self.closed, 0.0, np.copysign(size, c))
        self.spread = max(top_eigenvalue(self.square_product, start), 1e-300)
        bound = self.curvature_bound if np.isfinite(self.curvature_bound) else null_curvature
        self.lipschitz = bound * self.spread + 2.0 * self.lambda2
        return self

    def shrinkage(self, w):
        """lambda1 ||w||_1 + lambda2 ||w||^2."""
        return self.lambda2 * float(w @ w) + (
            self.lambda1 * float(np.abs(w).sum()) if self.lambda1 else 0.0
        )

    def at(self, w, b0=0.0):
        """The Iterate of dense coefficients w (m,) and an intercept."""
        image = self.image(w, b0)
        return Iterate(w, b0, image, self.value(w, image))

    def of_fit(self, fit):
        """The Iterate of a Fit whose support lies in the view."""
        w = np.zeros(self.m)
        w[self.position(fit.support)] = fit.b
        return self.at(w, fit.b0 if self.free_intercept else 0.0)

    def between(self, x, y, t):
        """x + t (y - x) with its image for nothing."""
        image = x.image + t * (y.image - x.image)
        w = x.w + t * (y.w - x.w)
        return Iterate(w, x.b0 + t * (y.b0 - x.b0), image, self.value(w, image))

    def choose(self, raw, step, size):
        """Positions of the best `size` columns at the point raw, forced ones beside, and their
        values: Alcantara & Lee, equation (5), with lambda1 and a box.

        u_j = clip(soft(raw_j, step lambda1)), gain_j = raw_j u_j - u_j^2 / 2 - step lambda1 |u_j|;
        the `size` largest gains among the open columns stay.
        """
        gain = entry_gains(
            raw,
            1.0,
            step * self.lambda1,
            0.0,
            *((self.lower, self.upper) if self.boxed else (None, None)),
        )
        gain[~self.selectable] = -1.0
        J = largest(gain, min(size, int(self.selectable.sum())), self.index)
        if self.forced.any():
            J = np.sort(np.concatenate([J, np.flatnonzero(self.forced)]))
        u = np.copysign(np.maximum(np.abs(raw[J]) - step * self.lambda1, 0.0), raw[J])
        return J, np.clip(u, self.lower[J], self.upper[J]) if self.boxed else u

    def distance(self, x, y):
        """Squared length of y - x, the intercept measured in units that give it the columns'
        curvature.
        """
        d = y.w - x.w
        return float(d @ d) + (y.b0 - x.b0) ** 2 / self.spread


class Products(NamedTuple):
    """correlate(r) = Z'r (m,), dot(J, b) = Z_J b (n,), position(support) of columns in the view."""

    correlate: Callable
    dot: Callable
    position: Callable


class RowView(View):
    """Any loss, on rows by their `Products`; the image is Z w + b0."""

    def __init__(self, problem, index, lambda1, lambda2, products):
        super().__init__(problem, index, lambda1, lambda2)
        self.correlate, self.dot, self.position = products
        self._slopes, self._curvatures = np.empty(problem.X.n), np.empty(problem.X.n)

    def null_correlations(self):
        y = self.problem.y
        return self.correlate(self.problem.weights * (y - self.problem.weights @ y))

    def square_product(self, v):
        J = np.flatnonzero(v)
        return np.where(self.closed, 0.0, self.correlate(self.problem.weights * self.dot(J, v[J])))

    def image(self, w, b0):
        J = np.flatnonzero(w)
        return self.dot(J, w[J]) + b0

    def value(self, w, image):
        p = self.problem
        return float(mean_loss(p.loss, p.y, p.offset + image, p.weights)) + self.shrinkage(w)

    def _derive(self, image):
        p = self.problem
        derivatives(p.loss, p.y, p.offset + image, p.weights, self._slopes, self._curvatures)
        return self._slopes, self._curvatures

    def gradient(self, x):
        """Gradient of the smooth part in w (m,) and in b0; reads every column once."""
        slopes, _ = self._derive(x.image)
        return self.correlate(slopes) + 2.0 * self.lambda2 * x.w, float(
            slopes.sum()
        ) if self.free_intercept else 0.0

    def gradient_on(self, x, J):
        """Gradient of the smooth part in w_J (k,); reads these columns alone where that is less
        than all.
        """
        X = self.problem.X
        held = X.design.entries if X.traits.row_subsets else X.n * X.p
        if J.size * X.n >= held:  # a sparse X: a gather of dense columns would touch more
            return self.gradient(x)[0][J]
        return self._derive(x.image)[0] @ X.columns(self.index[J]) + 2.0 * self.lambda2 * x.w[J]

    def along(self, x, y):
        """(slope, curvature) of the smooth part at x along y - x; O(n)."""
        slopes, curvatures = self._derive(x.image)
        d, delta = y.w - x.w, y.image - x.image
        return float(slopes @ delta) + 2.0 * self.lambda2 * float(x.w @ d), float(
            curvatures @ (delta * delta)
        ) + 2.0 * self.lambda2 * float(d @ d)

    def local(self, x, J, columns):
        """Gradient (k,) on the columns J (with b0 last where it is free), Hessian's diagonal and
        its product as a function. columns (n, k).
        """
        slopes, curvatures = self._derive(x.image)
        A = np.column_stack([columns, np.ones(len(columns))]) if self.free_intercept else columns
        v, ridge = curvatures.copy(), np.full(A.shape[1], 2.0 * self.lambda2)
        ridge[J.size :] = 0.0
        point = np.append(x.w[J], [x.b0] if self.free_intercept else [])
        return (
            slopes @ A + ridge * point,
            v @ (A * A) + ridge,
            lambda t: (v * (A @ t)) @ A + ridge * t,
        )


class GramView(View):
    """Squared loss, from the Gram matrix of the working columns: no row is touched, the image is G
    w.
    """

    def __init__(self, model, lambda1, lambda2):
        super().__init__(model.problem, model.W, lambda1, lambda2)
        self.G = model.G[: model.width, : model.width]
        self.q = model.q
        self.half_square = model.half_square
        self.where = model.where

    def position(self, support):
        return self.where[support]

    def null_correlations(self):
        return self.q

    def square_product(self, v):
        return np.where(self.closed, 0.0, self.G @ v)

    def image(self, w, b0):
        J = np.flatnonzero(w)
        return w[J] @ self.G[J]

    def value(self, w, image):
        return float(self.half_square - self.q @ w + 0.5 * (w @ image)) + self.shrinkage(w)

    def gradient(self, x):
        """Gradient of the smooth part in w (m,), and 0: the intercept was taken out."""
        return x.image - self.q + 2.0 * self.lambda2 * x.w, 0.0

    def gradient_on(self, x, J):
        """The gradient at positions J."""
        return self.gradient(x)[0][J]

    def along(self, x, y):
        """(slope, curvature) of the smooth part at x along y - x; O(m)."""
        d, delta = y.w - x.w, y.image - x.image
        return float(d @ (x.image - self.q)) + 2.0 * self.lambda2 * float(x.w @ d), float(
            d @ delta
        ) + 2.0 * self.lambda2 * float(d @ d)

    def local(self, x, J, columns):
        """Gradient (k,), Hessian's diagonal and its product on the columns J."""
        H = self.G[np.ix_(J, J)] + 2.0 * self.lambda2 * np.eye(J.size)
        return self.gradient(x)[0][J], np.diagonal(H), lambda t: H @ t


def all_columns(problem, lambda1, lambda2):
    """The view of all p columns, each gradient one read of the design."""
    index = np.arange(problem.X.p)
    return RowView(
        problem,
        index,
        lambda1,
        lambda2,
        Products(problem.X.correlate, problem.X.dot, lambda support: support),
    )


def working_rows(model, lambda1, lambda2):
    """The view of the working columns by their rows."""
    Z = model.Z[: model.width]
    return RowView(
        model.problem,
        model.W,
        lambda1,
        lambda2,
        Products(lambda r: Z @ r, lambda J, b: b @ Z[J], lambda support: model.where[support]),
    )


def working_columns(model, lambda1, lambda2):
    """The view of the working columns that suits the loss."""
    return (
        GramView(model, lambda1, lambda2)
        if model.problem.quadratic
        else working_rows(model, lambda1, lambda2)
    )
