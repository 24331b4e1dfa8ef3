"""The infimum of a loss that falls for ever along directions of its coefficients: the optimum of
the terms that do not vanish there (`problem.recession`).

The Newton steps are those of this file, because what vanishes is a row in some losses only: of
several classes it is a pair of a row and a class, of ordered ones a side of a row, none of which a
weight of 0 takes out of the kernels. (Of survival times it is a member of a risk set, and what is
left is Cox's loss with more strata.)
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from ..problem.coupled.ordinal import best_thresholds
from ..problem.coupled.weibull import best_shape
from ..problem.recession import (
    VANISHED,
    Directions,
    Face,
    Untold,
    compared_rows,
    face_at,
    face_near,
    face_of,
    face_where,
    functions_of,
    inseparable_classes,
    shows_optimum,
)
from ..problem.several import class_codes, contrasts
from ..problem.traits import (
    EMPTIES,
    FILLS,
    MONOTONE,
    NO_RECESSION,
    ORDERED,
    OUTLASTS,
    SEPARATES,
    held_by,
)
from ..problem.verbs import derivatives, mean_loss
from .curvature import curved
from .quadratic import solve_quadratic

# how losses recede of which derivatives show soon that what is left has an optimum
SHOWN = (SEPARATES, EMPTIES, FILLS)
NOT_FAR = 20.0  # terms below this value of their function have slopes that are no rounding
FARTHEST = 700.0  # the end of the range of exp
STEPS, HALVINGS = 200, 60  # Newton steps, and how often one is halved
LAST_GAIN = 1e-15  # relative decrease that is lost in rounding
LEFT = 1e-6  # share of F: with a slope above it F has not come to its infimum
NO_SLOPE = 1e-14  # what rounding leaves of slopes, of columns of unit mean square
STEEP = 1e-9  # share of F: a slope above it, of columns of unit mean square, is no rounding
CLEARLY = 1e-4  # a pivot's root, of unit columns, above which a Hessian is not nearly singular
FLAT = 1e-14  # share of the largest eigenvalue of a Hessian at which one counts as 0
TRACE = 1e-12  # share of the mean curvature that is added where a box keeps free directions


class Limit(NamedTuple):
    """The infimum of a loss on some columns.

    Attributes
    ----------
    value : float
    coef : ndarray of shape (k,) or (k, q)
        Coefficients with the loss `value` up to 1e-13.
    level : float or ndarray of shape (q,)
        The intercept.
    face : Face
    x : ndarray of shape (q,)
        All parameters, those of `Face`.
    reached : bool
        Whether no slope is left along which the value may still fall, which with bounds is not
        looked at, and no doubt which directions change what is left (`Span.clear`).
    """

    value: float
    coef: np.ndarray
    level: np.ndarray
    face: Face
    x: np.ndarray
    reached: bool


class Rows(NamedTuple):
    """The rows of a problem: what `limit_of` asks of one."""

    loss: tuple
    y: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    offset: np.ndarray  # (n,)
    intercept: bool  # whether one is fitted


class Left(NamedTuple):
    """What is left of a loss on columns that separate, for all m parameters in the user's units:
    coefficients, column by column, then intercepts or thresholds, or b0 and the shape.

    Attributes
    ----------
    value : float
        The infimum of the mean loss.
    coefs : int
        How many of the parameters are coefficients.
    params : ndarray of shape (m,)
        Parameters near the infimum, finite stand-ins of what is infinite among them.
    sign : ndarray of shape (m,)
        0 for one that has a finite value; 1 or -1 for one that is infinite with this sign; NaN for
        one that is infinite with either sign.
    root : ndarray of shape (m, v)
        Directions of parameters that change the terms that are left.
    open : ndarray of shape (m, f)
        Those that change none of them.
    hessian : ndarray of shape (v, v)
        That of the mean loss along `root`.
    gone : ndarray of bool
        The terms that vanish, see `Face`.
    """

    value: float
    coefs: int
    params: np.ndarray
    sign: np.ndarray
    root: np.ndarray
    open: np.ndarray
    hessian: np.ndarray
    gone: np.ndarray

    @property
    def variance(self):
        """(m,) the diagonal of the inverse Hessian of the mean loss, infinity for parameters that
        are infinite. Divided by the number of rows they are squared standard errors.
        """
        step = np.linalg.lstsq(self.hessian, self.root.T, rcond=None)[0]
        out = np.einsum("ij,ji->i", self.root, step)
        out[self.sign != 0.0] = np.inf
        return out


def left_of(loss, y, X, *, intercept=True, weights=None, offset=None, base=0):
    """The `Left` of a loss without shrinkage on columns X; None where there is an optimum, or
    linear programs do not tell.

    Parameters
    ----------
    loss : record of `l0path.problem.losses`
        Of the rows of X: Cox's has their times.
    y : ndarray of shape (n,), or (n, r) of indicators
        As in `Problem.y`: -1 and 1 for two classes, codes of ordered ones, events of survival.
    X : ndarray of shape (n, k)
        In the user's units.
    intercept : bool, default True
        Whether there is one; ordered classes have thresholds, Cox's loss has none.
    weights : ndarray of shape (n,), optional
        Positive; 1 by default.
    offset : ndarray of shape (n,) or (n, r), optional
    base : int, default 0
        Of several classes the one with which the others are compared.

    Returns
    -------
    Left or None
    """
    if loss.traits.recession == NO_RECESSION:
        return None
    X = np.asarray(X, dtype=np.float64)
    n, k = X.shape
    weights = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    offset = np.zeros(y.shape) if offset is None else offset
    level = intercept and loss.traits.intercept
    mean = X.mean(axis=0) if level or not loss.traits.intercept else np.zeros(k)
    Z, none = np.ascontiguousarray((X - mean).T), np.full(k, np.inf)
    rows = Rows(loss, np.asarray(y, dtype=np.float64), weights, offset, level)
    ordered, width = loss.traits.recession == ORDERED, 1 if rows.y.ndim == 1 else y.shape[1] - 1
    shape = (k, width) if rows.y.ndim == 2 else (k,)
    try:
        limit = limit_of(rows, Z, -none, none, np.zeros(shape), np.zeros(width))
    except Untold:
        return None
    if limit is None or limit.face.endless:
        return None
    face, unit = limit.face, limit.face.functions.unit
    D = None
    if rows.y.ndim == 2:
        T = contrasts(width + 1, loss.baseline)
        D = np.delete(T - T[:, [base]], base, axis=1).T
    L, coefs = _asked(face, mean, k, width, ordered, D)
    if loss.traits.recession == OUTLASTS:
        L[coefs] -= loss.center * L[coefs + 1]
    V = face.span.seen
    return Left(
        limit.value,
        coefs,
        L @ limit.x,
        np.array([face.sign(one) for one in L]),
        (L / unit) @ V,
        (L / unit) @ face.free,
        V.T @ _terms_left(rows, Z, face)(limit.x * unit)[2] @ V,
        face.gone,
    )


def _asked(face, mean, k, width, ordered, D):
    """(rows (m, q) of the linear functions of parameters that are the user's coefficients and
    intercepts, number of coefficients). D (r - 1, q): contrasts with the base of several classes,
    None for others.
    """
    q = face.d.size
    eye = np.eye(q)
    coef, level = eye[: k * width], eye[k * width :]
    if D is not None:
        coef = np.concatenate([D @ coef[j * width : (j + 1) * width] for j in range(k)])
        level = D @ level if len(level) else level
    step = coef.reshape(k, -1, q) if k else np.zeros((0, max(width, 1), q))
    moved = np.einsum("j,jcq->cq", mean, step)
    if ordered:
        level = level + moved
    else:
        level = np.vstack([level[: len(moved)] - moved[: len(level)], level[len(moved) :]])
    return np.vstack([coef, level]), len(coef)


def limit_of(problem, Z, lower, upper, coef, level, *, known=None, search=True):
    """The `Limit` of the loss of a problem, without shrinkage, on columns Z (k, n), one a row; None
    where there is an optimum.

    Parameters
    ----------
    problem : Problem
    Z : ndarray of shape (k, n)
    lower, upper : ndarray of shape (k,)
        Bounds.
    coef, level
        Coefficients and intercept to begin with, as in `Limit`.
    known : (Directions, ndarray of shape (k,)), optional
        What was found on other columns of Z, and the numbers of these, ascending. What is found
        here is added.
    search : bool, default True
        Whether a direction is searched where none that is known leaves an optimum for sure, by
        linear programs that take long. If not, None says nothing.

    Returns
    -------
    Limit or None

    Raises
    ------
    Untold
        Where linear programs do not tell.
    """
    p, k = problem, Z.shape[0]
    of = functions_of(p.loss, p.y, Z, p.intercept, lower, upper, offset=p.offset)
    width = 1 if p.y.ndim == 1 else p.y.shape[1] - 1
    start = _parameters(p, Z, of, coef, level)
    low, high = (np.full(of.unit.size, side * np.inf) for side in (-1.0, 1.0))
    low[: k * width] = np.repeat(lower, width) * of.unit[: k * width]
    high[: k * width] = np.repeat(upper, width) * of.unit[: k * width]
    known, columns = known or (Directions(), np.arange(k))
    remembered, best, tried = known.face(columns, of, width), None, set()
    ways = [lambda: remembered]
    if p.loss.traits.recession in SHOWN:
        ways += [partial(face_where, of, gone) for gone in known.gone]
    for nearest in [*ways, lambda: face_near(of, start)] if search else ways:
        face = nearest()
        if face is not None and face.gone.tobytes() not in tried:
            tried.add(face.gone.tobytes())
            x, value, reached = _infimum(p, Z, face, start, (low, high))
            if _is_optimum(p, Z, face, x):
                break
            if best is None or value < best[2]:
                best = face, x, value, reached
    else:
        if not search:
            return None
        # that there is no direction is often shown faster than one is found
        classes = p.y.ndim == 2 and best is None
        if classes and inseparable_classes(Z, class_codes(p.y), width + 1, p.intercept):
            return None
        try:
            face = face_of(of)
        except Untold:
            if best is None:
                raise
            face = None
        if face is None and best is None:
            return None
        if face is None:  # hidden by rounding, for there is one
            face, x, value, reached = best
        else:
            x, value, reached = _infimum(p, Z, face, start, (low, high))
    if face is not remembered:
        known.keep(columns, face, width)
    if face.endless:
        value = mean_loss(p.loss, p.y, p.offset + np.asarray(coef) @ Z, p.weights)
        return Limit(value, np.asarray(coef), level, face, start / of.unit, False)
    reached = reached and face.span.clear
    grows, at = of.A[face.gone] @ face.d, of.at[face.gone] + of.A[face.gone] @ x
    # of a Tweedie loss exp(-m (2 - power)) is left
    far = VANISHED / (2.0 - getattr(p.loss, "power", 1.0))
    far = max(float(((far - at) / grows).max()), 0.0)
    x = (x + far * face.d) / of.unit
    if width > 1 or p.y.ndim > 1:
        b = x.reshape(-1, width)
        return Limit(value, b[:k], b[k] if p.intercept else np.zeros(width), face, x, reached)
    fitted = p.intercept and p.loss.traits.intercept
    return Limit(value, x[:k], float(x[k]) if fitted else 0.0, face, x, reached)


def face_of_limit(problem, Z, lower, upper, coef, level):
    """The `Face` at the coefficients of a `Limit`, by small linear programs if these show what has
    vanished; the arguments are those of `limit_of`. None where there is none.
    """
    p = problem
    of = functions_of(p.loss, p.y, Z, p.intercept, lower, upper, offset=p.offset)
    face = face_at(of, _parameters(p, Z, of, coef, level))
    return face_of(of) if face is None else face


def _parameters(problem, Z, functions, coef, level):
    """(q,) the parameters of `Functions`: after the coefficients intercepts, thresholds, or b0 and
    the shape, those that are best for the predictors where no fit has them.
    """
    p, more = problem, []
    if p.loss.traits.recession == ORDERED:
        eta = p.offset + np.asarray(coef) @ Z + level
        more = [best_thresholds(p.loss, p.y, eta, p.weights).t - level]
    elif p.loss.traits.recession == OUTLASTS:
        best = best_shape(p.loss, p.y, p.offset + np.asarray(coef) @ Z, p.weights)
        more = [np.array([best.level + best.shape * p.loss.center, best.shape])]
    elif p.intercept:
        more = [np.ravel(level)]
    return np.concatenate([np.ravel(coef), *more]) * functions.unit


def _infimum(problem, Z, face, start, box):
    """`_minimized` of the terms that are left; the start where there is none."""
    if face.endless:
        return start, -np.inf, False
    return _minimized(_terms_left(problem, Z, face), start, face, box)


def _is_optimum(problem, Z, face, x):
    """Whether it is certain that the terms that are left have an optimum, which steps have taken
    for x: none of them is far out there, or the derivatives show it.
    """
    of, recession = face.functions, problem.loss.traits.recession
    more = ~(face.gone | of.held)
    if not (of.at[more] + of.A[more] @ x > NOT_FAR).any():
        return True
    boxed = (of.low == 0.0).any() or (of.high == 0.0).any()
    if boxed or recession not in SHOWN:
        return False
    _, g, H = _terms_left(problem, Z, face)(x)
    V = face.span.seen
    return shows_optimum(V.T @ H @ V, V.T @ g, of.A[~face.gone] @ V, _rate(problem))


def _rate(problem):
    """How fast the curvature of a term falls at most, see `shows_optimum`: any two classes of a
    row, or members of a risk set, may differ, by twice as much as functions.
    """
    coupled = problem.y.ndim == 2 or problem.loss.traits.recession == MONOTONE
    return 2.0 if coupled else 1.0


def has_optimum(problem, Z, lower, upper, coef, level):
    """Whether the derivatives at coefficients show that a loss, other than of ordered classes, has
    a finite optimum on columns, see `recession.shows_optimum`; the arguments are those of
    `limit_of`.
    """
    p, recession = problem, problem.loss.traits.recession
    if recession == MONOTONE:
        # all pairs of risk sets are many more than rows
        eta, slopes, v = p.offset + coef @ Z, np.empty(p.y.size), np.empty(p.y.size)
        derivatives(p.loss, p.y, eta, p.weights, slopes, v)
        _, ZB, P = curved(p, eta, v, Z)
        low, high = np.isfinite(lower), np.isfinite(upper)
        gradient, H, A = Z @ slopes, ZB @ Z.T - P @ P.T, Z.T
    else:
        of = functions_of(p.loss, p.y, Z, p.intercept, lower, upper, offset=p.offset)
        x = _parameters(p, Z, of, coef, level)
        none = np.zeros(of.held.size, dtype=bool)
        whole = Face(of, np.zeros(x.size), none, None)
        _, gradient, H = _terms_left(p, Z, whole)(x)
        low, high, A = of.low == 0.0, of.high == 0.0, of.A
    # where a bound ends the way down, a slope does not count
    gradient = np.where((low & (gradient > 0.0)) | (high & (gradient < 0.0)), 0.0, gradient)
    rate = _rate(p)
    if recession == OUTLASTS:
        rate = np.append(np.ones(p.y.size), 2.0 / x[-1])  # of -log x[-1], on the way up
    return shows_optimum(H, gradient, A, rate)


def _minimized(terms, start, face, box):
    """(x, F, whether it is one, see `Limit.reached`) of the least sum of the terms that are left,
    from a start; terms(x) gives F, its gradient and its Hessian.
    """
    boxed = bool(np.isfinite(box[0]).any() or np.isfinite(box[1]).any())
    V = face.span.seen
    x = start if boxed else V @ (V.T @ start)  # what changes no term stays 0
    F, g, H = terms(x)
    for _ in range(STEPS if V.shape[1] else 0):
        step = _step(x, g, H, V, box if boxed else None)
        promised, lost = -float(g @ step), LAST_GAIN * abs(F)
        if not promised > lost:
            value, g_new, _ = terms(x + step)
            if value <= F + lost and _slope(g_new, V) < _slope(g, V):
                x, F, g = x + step, value, g_new  # a slope may fall where F does no more
            break
        size = 1.0
        for _ in range(HALVINGS):
            value, g_new, H_new = terms(x + size * step)
            if value <= F - 1e-4 * size * promised:
                break
            size *= 0.5
        else:
            break
        x, F, g, H = x + size * step, value, g_new, H_new
    # nothing is below a loss of classes that has become 0
    if boxed or not _slope(g, V) > (STEEP * abs(F) if F else NO_SLOPE):
        return x, F, True
    x, F = _finished(terms, x, F, V)
    return x, F, _slope(terms(x)[1], V) <= LEFT * abs(F) + NO_SLOPE


def _slope(g, V):
    """The largest slope along directions V (q, m), of which there may be none."""
    return np.abs(V.T @ g).max(initial=0.0)


def _finished(terms, x, F, V):
    """(x, F) after steps within trust regions from a point at which Newton steps ended although F
    may fall along V: weights that are far apart leave a Hessian that rounding has made singular.
    """
    curvature = np.diagonal(V.T @ terms(x)[2] @ V)
    # in shares of F, which may be as small as exp(-200), or 0 by rounding: trust regions are made
    # for functions of a size near 1
    size = max(abs(F), curvature.max(), np.finfo(float).tiny)
    curvature = curvature / size
    # far out there may be a slope and no curvature
    unit = np.sqrt(np.maximum(curvature, TRACE * max(1.0, curvature.max())))

    def moved(z):
        return terms(x + V @ (z / unit))

    def value_and_slopes(z):
        value, g, _ = moved(z)
        return value / size, V.T @ g / unit / size

    def curvatures(z):
        # rounding may leave negative ones, with which SciPy's steps end in an error
        values, Q = np.linalg.eigh(V.T @ moved(z)[2] @ V / unit / unit[:, None] / size)
        return (Q * np.maximum(values, FLAT * max(values[-1], 1.0))) @ Q.T

    with np.errstate(over="ignore", invalid="ignore"):  # steps that are too long are shortened
        found = scipy.optimize.minimize(
            value_and_slopes,
            np.zeros(unit.size),
            jac=True,
            hess=curvatures,
            method="trust-exact",
            options={"gtol": STEEP, "maxiter": STEPS},
        )
    x_new = x + V @ (found.x / unit)
    value = terms(x_new)[0]
    return (x_new, value) if value < F else (x, F)


def _step(x, g, H, V, box):
    """The step to the optimum of the quadratic. Slopes along directions that change no term, of
    which V has none, are rounding.
    """
    g, H = V.T @ g, V.T @ H @ V
    if box is None:
        size = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
        H, g = H / size[:, None] / size, -g / size
        L, weak = scipy.linalg.lapack.dpotrf(H, lower=1)
        if not weak and np.diagonal(L).min(initial=1.0) > CLEARLY:
            return V @ (scipy.linalg.lapack.dpotrs(L, g, lower=1)[0] / size)
        values, Q = np.linalg.eigh(H)  # LAPACK does not find the singular values of all such
        bent = values > FLAT * values[-1:]
        return V @ (Q[:, bent] @ ((g @ Q[:, bent]) / values[bent]) / size)
    g, H, new = V @ g, V @ H @ V.T, x.copy()
    H += TRACE * max(np.trace(H) / x.size, 1e-300) * np.eye(x.size)
    solve_quadratic(H, H @ x - g, np.zeros(x.size), *box, new, 200)
    return new - x


def _terms_left(problem, Z, face):
    """The function x -> (F, gradient, Hessian) of the terms that do not vanish."""
    p, recession = problem, problem.loss.traits.recession
    if p.y.ndim == 2:
        return _classes_left(p, face)
    if recession == ORDERED:
        return _sides_left(p, face)
    if recession == OUTLASTS:
        return _shapes_left(p, face)
    if recession == MONOTONE:
        return _risk_sets_left(p, Z / face.functions.unit[:, None], face)
    kept, of = ~face.gone, face.functions
    signs, slopes, v = held_by(recession, p.y)[0], np.empty(p.y.size), np.empty(p.y.size)
    A, at = np.where(kept[:, None], of.A, 0.0), np.where(kept, of.at, FARTHEST)

    def rows(x):
        F = derivatives(p.loss, p.y, signs * (at + A @ x), p.weights, slopes, v)
        if not np.isfinite(F):  # the end of a step that is too long
            return np.inf, np.zeros(x.size), np.eye(x.size)
        return F, A.T @ (signs * slopes), (A.T * v) @ A

    return rows


def _sides_left(p, face):
    """Sides of rows, log(1 + exp(-m)), and distances of thresholds, -log(1 - exp(-m))."""
    of, kept, m = face.functions, ~face.gone, p.loss.levels - 1
    codes = p.y.astype(np.int64)
    mass = np.bincount(codes, weights=p.weights, minlength=m + 1)[1:m]
    w = np.concatenate([p.weights[codes < m], p.weights[codes > 0], mass])[kept]
    gap = (np.arange(kept.size) >= kept.size - mass.size)[kept]
    A, at = of.A[kept], of.at[kept]

    def sides(x):
        u = at + A @ x
        if (u[gap] <= 0.0).any():
            return np.inf, np.zeros(x.size), np.eye(x.size)
        e = np.exp(-np.abs(u))
        share = np.where(u > 0.0, e, 1.0) / (1.0 + e)
        slope, v = -share, share * (1.0 - share)
        value = np.log1p(e) + np.maximum(-u, 0.0)
        with np.errstate(over="ignore"):
            q = 1.0 / np.expm1(u[gap])
        value[gap], slope[gap], v[gap] = -np.log(-np.expm1(-u[gap])), -q, q * (1.0 + q)
        return float(w @ value), A.T @ (w * slope), (A.T * (w * v)) @ A

    return sides


def _shapes_left(p, face):
    """Rows of a Weibull model, exp(-m) + d m, and the shape, -D log m, of log times about the
    center of the loss.
    """
    of, kept, loss = face.functions, ~face.gone[:-1], p.loss
    A, at, w = of.A[:-1][kept], of.at[:-1][kept], p.weights[kept]
    event, events, shape = p.y[kept], p.weights @ p.y, of.A[-1] / of.unit[-1]
    times = p.weights @ (p.y * (loss.log_time + loss.center))

    def rows(x):
        u, kappa = at + A @ x, shape @ x
        if not kappa > 0.0 or u.min(initial=0.0) < -FARTHEST:
            return np.inf, np.zeros(x.size), np.eye(x.size)
        v = w * np.exp(-u)
        F = float((v + w * event * u).sum() - events * np.log(kappa) + times)
        g = A.T @ (w * event - v) - events / kappa * shape
        return F, g, (A.T * v) @ A + events / kappa**2 * np.outer(shape, shape)

    return rows


def _classes_left(p, face):
    """Rows with the classes that stay beside their own: log(1 + sum_c exp(-m_c))."""
    of, kept = face.functions, ~face.gone.reshape(len(p.y), -1)
    some, m = kept.any(axis=1), kept.shape[1]
    pairs = np.repeat(some, m)
    kept, A, at, w = kept[some], of.A[pairs], of.at[pairs], p.weights[some]

    def rows(x):
        u = np.where(kept, -(at + A @ x).reshape(-1, m), -np.inf)
        top = np.maximum(u.max(axis=1), 0.0)
        e = np.exp(u - top[:, None])
        total = np.exp(-top) + e.sum(axis=1)
        P = e / total[:, None]
        wP = (w[:, None] * P).ravel()
        mean = (P.reshape(-1, 1) * A).reshape(*P.shape, A.shape[1]).sum(axis=1)
        H = (A.T * wP) @ A - (mean.T * w) @ mean
        return float(w @ (top + np.log(total))), -A.T @ wP, H

    return rows


def _risk_sets_left(p, Z, face):
    """Risk sets without the rows that fall behind the dead: Cox's loss with a stratum for each set
    of rows whose differences stay.
    """
    first, second, _ = compared_rows(p.loss)
    kept, n = ~face.gone, p.y.size
    pairs = scipy.sparse.coo_array((np.ones(kept.sum()), (first[kept], second[kept])), (n, n))
    _, part = scipy.sparse.csgraph.connected_components(pairs, directed=False)
    # sets without a death, of which there may be many, have no term
    some, stratum = np.unique(part[p.loss.deaths]), np.zeros(n, dtype=np.int64)
    inside = np.isin(part, some)
    stratum[inside] = 1 + np.searchsorted(some, part[inside])
    left = p.loss._replace(stratum=stratum).restricted(p.y, slice(None))
    left = Rows(left, p.y, p.weights, p.offset, False)
    # only differences within a stratum count, which may be small
    mean = np.array([np.bincount(stratum, row) for row in Z]) / np.maximum(np.bincount(stratum), 1)
    Z = Z - mean[:, stratum]
    slopes, v = np.empty(n), np.empty(n)

    def terms(x):
        eta = p.offset + x @ Z
        F = derivatives(left.loss, p.y, eta, p.weights, slopes, v)
        if not np.isfinite(F):  # the end of a step that is too long
            return np.inf, np.zeros(x.size), np.eye(x.size)
        _, ZB, P = curved(left, eta, v, Z)
        return F, Z @ slopes, ZB @ Z.T - P @ P.T

    return terms
