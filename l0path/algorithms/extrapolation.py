"""Acceleration of a projected gradient where the support no longer changes: steps along the last
move, and Newton steps on the support.

Source: Alcantara & Lee, Accelerated Projected Gradient Algorithms for Sparsity Constrained
    Optimization Problems, section 3.1 (Algorithm 1) and appendix A (Algorithm 2).
"""

import math

import numpy as np

GOLDEN = 0.6180339887498949
SIGMA, ALPHA_LEAST, ALPHA_MOST, ZETA_LEAST = 0.05, 1.0, 100.0, 1e-20  # of the paper
# share of t^2 d'Hd by which an extrapolation of ours must lower F: steps up to 1.98 times the line
# minimizer of a quadratic pass
FALL = 0.005


def reach(view, previous, x):
    """Largest t for which x + t (x - previous) stays in the box and, under lambda1, on its side of
    zero.
    """
    d, t = x.w - previous.w, math.inf
    if view.lambda1:
        turns = x.w * d < 0.0
        t = min(t, float((-x.w[turns] / d[turns]).min(initial=math.inf)))
    if view.boxed:
        up, down = d > 0.0, d < 0.0
        t = min(
            t,
            float(((view.upper[up] - x.w[up]) / d[up]).min(initial=math.inf)),
            float(((view.lower[down] - x.w[down]) / d[down]).min(initial=math.inf)),
        )
    return max(t, 0.0)


def extrapolate(view, previous, x, *, number, step, paper):
    """A point x + t d of lower F, d = x - previous, both on one support (or x itself): Algorithm 1,
    equations (12) and (17)-(20); O(n) a trial.

    paper: t = clip(-F'd / d'Hd, c, 100 c), halved until the sum loss falls by 0.05 t^2 ||d||^2.
        Else scale-free: t = theta (-F'd / d'Hd), theta in [1, 2) running through a golden
    sequence (the exact line minimizer zigzags), halved until F falls by 0.005 t^2 d'Hd.
    """
    square = view.distance(previous, x)
    if not square > 0.0:
        return x
    ahead = view.between(previous, x, 2.0)  # x + d
    slope, curvature = view.along(x, ahead)
    if view.lambda1:
        slope += view.lambda1 * float(np.sign(x.w) @ (ahead.w - x.w))
    if not slope < 0.0:
        return x
    if paper:
        t, needed = _clamped(view, x, slope, curvature, square)
    else:
        curvature = max(curvature, 1e-12 * square / step)
        t = (1.0 + (GOLDEN * number) % 1.0) * -slope / curvature
        needed = FALL * curvature
    t = min(t, reach(view, previous, x))
    for _ in range(40):
        if not t > 0.0:
            return x
        z = view.between(x, ahead, t)
        if z.value <= x.value - needed * t * t:
            return z
        t *= 0.5
    return x


def _clamped(view, x, slope, curvature, square):
    """(t, sigma ||d||^2) of equations (12) and (18)-(20), whose constants are those of the sum
    loss: n times ours. t = 0 where the angle between d and the gradient is too wide.
    """
    n, length = view.problem.X.n, math.sqrt(square)
    norm = n * float(np.linalg.norm(view.gradient_on(x, np.flatnonzero(x.w))))
    zeta = -n * slope / max(length * norm, 1e-300)
    if zeta < ZETA_LEAST:
        return 0.0, 0.0
    c = norm / (zeta * length)
    t = -slope / curvature if curvature > 0.0 else math.inf
    return min(max(t, c * ALPHA_LEAST), c * ALPHA_MOST), SIGMA * square / n


def conjugate_directions(product, diagonal, gradient, n, most):
    """Approximate solution p of H p = -gradient by conjugate gradients preconditioned with H's
    diagonal, from 0: appendix A.

    Stops after `most` products, or once i (Q_i - Q_(i-1)) / Q_i <= min(1/2, sqrt(n gradient'M^-1
    gradient)), Q_i = (gradient'p - r'p) / 2; n makes it that of the sum loss.
    """
    M = np.maximum(diagonal, 1e-300)
    p, r = np.zeros_like(gradient), -gradient
    z = r / M
    d, rz, Q_old = z, float(r @ z), 0.0
    limit = min(0.5, math.sqrt(n * max(rz, 0.0)))
    for i in range(1, most + 1):
        Hd = product(d)
        bend = float(d @ Hd)
        if not bend > 0.0 or not rz > 0.0:
            break
        p = p + rz / bend * d
        r = r - rz / bend * Hd
        Q = 0.5 * float(gradient @ p - r @ p)
        if Q < 0.0 and i * (Q - Q_old) / Q <= limit:
            break
        z = r / M
        rz, before, Q_old = float(r @ z), rz, Q
        d = z + rz / before * d
    return p


def newton_step(view, x, J, columns):
    """One semismooth Newton step on the columns J (n, k) with Armijo's rule (0.001, halving); None
    where no step lowers F.
    """
    gradient, diagonal, product = view.local(x, J, columns)
    p = conjugate_directions(product, diagonal, gradient, view.problem.X.n, J.size + 1)
    slope = float(gradient @ p)
    if not slope < 0.0:
        return None
    w = x.w.copy()
    w[J] += p[: J.size]
    ahead = view.at(w, x.b0 + (float(p[-1]) if view.free_intercept else 0.0))
    t = 1.0
    while t >= 1e-10:
        z = view.between(x, ahead, t)
        if z.value <= x.value + 1e-3 * t * slope:
            return z
        t *= 0.5
    return None
