"""A slow minimizer of the convex problem that remains once the support is chosen, for `oracles`:
Newton steps on an active set, which end at the smallest subgradient.
"""

from typing import NamedTuple

import numpy as np
from oracle_losses import EVERY


class Convex(NamedTuple):
    """minimize over t:  sum_i w_i loss(y_i, o_i + a_i't) + sum_j (l1_j |t_j| + l2_j t_j^2),  low <=
    t <= high;  A (n, q), w sums to one.
    """

    A: np.ndarray
    y: np.ndarray
    w: np.ndarray
    o: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    loss: str
    gamma: float
    delta: float

    @property
    def largest(self):
        """The largest curvature of the loss, 1000 at most."""
        return min(EVERY[self.loss].largest(self.gamma), 1e3)

    def value(self, t):
        with np.errstate(over="ignore"):  # beyond all numbers it is infinite
            rows = EVERY[self.loss].value(self.y, self.o + self.A @ t, self.gamma, self.delta)
        return float(self.w @ rows + self.l1 @ np.abs(t) + self.l2 @ t**2)

    def slopes(self, eta):
        """(n,): the derivatives of the loss of each row in its predictor, without weights."""
        return EVERY[self.loss].slope(self.y, eta, self.gamma, self.delta)

    def along(self, eta, d):
        """The derivative of the loss in the step, at predictors eta that move by d for one step."""
        return (self.w * self.slopes(eta)) @ d

    def gradient(self, t):
        """Gradient of all but the l1 term, and the size of what was summed, which makes tolerances
        relative.

        The logistic slope has no cancellation, so there the size is that of the slopes alone and
        separated classes never pass for converged.
        """
        eta = self.o + self.A @ t
        slope = self.slopes(eta)
        rows = (
            np.abs(slope)
            if self.loss == "logistic"
            else np.abs(slope) + np.abs(self.y) + np.abs(eta)
        )
        size = (self.w * rows) @ np.abs(self.A) + self.l1 + 2 * self.l2 * np.abs(t)
        return (self.w * slope) @ self.A + 2 * self.l2 * t, max(size.max(initial=0.0), 1e-300)

    def root_hessian(self, t):
        """R with R'R = Hessian of all but the l1 term: better conditioned than the Hessian
        itself.
        """
        curvature = self.w * EVERY[self.loss].curvature(
            self.y, self.o + self.A @ t, self.gamma, self.delta
        )
        return np.vstack([self.A * np.sqrt(curvature)[:, None], np.diag(np.sqrt(2 * self.l2))])


def smallest_subgradient(problem, t, gradient):
    """The element of least size of subdifferential plus normal cone of the box at t: zero exactly
    at a minimum (KKT).
    """
    l1 = problem.l1
    up = gradient + np.where(t >= 0, l1, -l1)  # derivative to the right, and to the left
    down = gradient + np.where(t > 0, l1, -l1)
    return np.where(
        (up < 0) & (t < problem.high), up, np.where((down > 0) & (t > problem.low), down, 0.0)
    )


def _newton_step(root, gradient, floor):
    """-(R'R)^-1 g with curvatures below `floor` raised to it."""
    _, values, vectors = np.linalg.svd(root, full_matrices=False)
    return -vectors.T @ ((vectors @ gradient) / np.maximum(values**2, floor))


def _direction(problem, t, g, floor):
    """Newton direction on the coordinates that may move; those that would leave t's orthant or box
    at once are held; else steepest descent.
    """
    root = problem.root_hessian(t)
    kink = (problem.l1 > 0) & (t == 0)
    free = (g != 0) | (~kink & (t > problem.low) & (t < problem.high))
    while free.any():
        d = np.zeros_like(t)
        d[free] = _newton_step(root[:, free], g[free], floor)
        leaves = free & (
            (kink & (d * g > 0)) | ((t <= problem.low) & (d < 0)) | ((t >= problem.high) & (d > 0))
        )
        if not leaves.any():
            break
        free &= ~leaves
    return d if free.any() and d @ g < 0 else -g / max(np.linalg.norm(root, 2) ** 2, floor)


def _line_search(problem, t, d):
    """Minimize along d up to the first kink or bound, by bisection on the slope; the unit step is
    taken when it is good enough.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(
            d > 0, (problem.high - t) / d, np.where(d < 0, (problem.low - t) / d, np.inf)
        )
        to_zero = np.where((problem.l1 > 0) & (t * d < 0), -t / d, np.inf)
    stop = np.minimum(reach, to_zero).min(initial=np.inf)
    bend = problem.l1 * np.where(t != 0, np.sign(t), np.sign(d))
    here, move = problem.o + problem.A @ t, problem.A @ d

    def slope(step):
        with np.errstate(over="ignore"):
            rest = d @ (2 * problem.l2 * (t + step * d) + bend)
            return problem.along(here + step * move, move) + rest

    start, right = slope(0.0), min(1.0, stop)
    there = slope(right)
    while there < 0.1 * start and right < min(stop, 1e12):
        right = min(4 * right, stop)
        there = slope(right)
    left = 0.0
    for _ in range(60):
        if there <= 0.1 * abs(start):
            break
        middle = (left + right) / 2
        at_middle = slope(middle)
        if at_middle > 0.1 * abs(start):
            right = middle
        elif at_middle < 0.1 * start:
            left = middle
        else:
            right, there = middle, at_middle
    moved = np.clip(t + right * d, problem.low, problem.high)
    if right == stop:
        moved[to_zero <= right] = 0.0
        moved = np.where(reach <= right, np.where(d > 0, problem.high, problem.low), moved)
    return moved, right


def minimize(problem, *, start=None, tolerance=1e-14, max_steps=500):
    """Minimizer of a `Convex` (or `oracle_coupled.Composite`) problem of unit columns (see `solve`)
    by Newton steps on the free coordinates with a line search.

    Where the loss has no curvature the step is damped as by Levenberg and Marquardt: `floor` falls
    while unit steps are good, and grows otherwise.
    """
    t = np.zeros(problem.A.shape[1]) if start is None else start
    t = np.clip(t, problem.low, problem.high)
    scale = t.size * problem.largest
    best, best_residual, since, floor = t, np.inf, 0, 1e-3 * scale
    for _ in range(max_steps):
        gradient, size = problem.gradient(t)
        g = smallest_subgradient(problem, t, gradient)
        residual = np.abs(g).max(initial=0.0) / size
        best, best_residual, since = (
            (t, residual, 0) if residual < best_residual else (best, best_residual, since + 1)
        )
        if residual <= tolerance or (since >= 4 and best_residual < 1e-11):
            break
        t, step = _line_search(problem, t, _direction(problem, t, g, floor))
        floor = min(
            max(floor * (0.1 if step >= 1 else 4.0 if step < 0.5 else 1.0), 1e-14 * scale), scale
        )
    return best


def ridge(problem):
    """Closed form of the squared loss without l1 and box: least squares on rows sqrt(w) and a
    diagonal sqrt(2 l2).
    """
    root = np.sqrt(problem.w)
    A = np.vstack([problem.A * root[:, None], np.diag(np.sqrt(2 * problem.l2))])
    return np.linalg.lstsq(
        A, np.append((problem.y - problem.o) * root, np.zeros(problem.l2.size)), rcond=1e-13
    )[0]


def solve(problem, start=None):
    """Minimizer of a `Convex` problem, by steps from `start` or 0; raises RuntimeError when KKT
    fails by more than 1e-8 relative to the sizes of what the gradient sums.
    """
    unit = np.sqrt(problem.w @ problem.A**2)
    unit[unit == 0] = 1.0
    scaled = problem._replace(
        A=problem.A / unit,
        l1=problem.l1 / unit,
        l2=problem.l2 / unit**2,
        low=problem.low * unit,
        high=problem.high * unit,
    )
    plain = (
        problem.loss == "squared"
        and not problem.l1.any()
        and np.isinf(problem.low).all()
        and np.isinf(problem.high).all()
    )
    start = None if start is None else start * unit
    t = ridge(scaled) if plain else minimize(scaled, start=start)
    gradient, size = scaled.gradient(t)
    residual = np.abs(smallest_subgradient(scaled, t, gradient)).max(initial=0.0) / size
    if not residual <= 1e-8:
        raise RuntimeError(
            f"{problem.loss}: KKT residual {residual:.1e}: no minimum (separated classes?), or a "
            "very ill-conditioned one"
        )
    return np.clip(t / unit, problem.low, problem.high)
