"""Separation: directions of coefficients along which a loss falls for ever, and its infimum.

Every loss here is a sum of terms that depend on linear functions m = a'x of the parameters x
(coefficients, and intercept or thresholds) and do not rise in them:

SEPARATES   the rows, m_i = y_i eta_i; of several classes the pairs of a row and another class, m_ic
            = eta_(its class) - eta_c, inside one logarithm for each row
EMPTIES     the rows with y = 0, m_i = -eta_i; the others allow no change of eta
FILLS       the rows with y = 0, and y = 1 (m_i = eta_i); the others allow no change
ORDERED     the sides of the interval of each row, t_y - eta and eta - t_(y-1), and the distances of
            thresholds
MONOTONE    the members of each risk set, m = eta_(dead) - eta_j; tied deaths allow no difference
OUTLASTS    the censored rows, m_i = -(kappa log T_i + b0 + eta_i), and the shape kappa itself; rows
            with events allow no change of theirs. Where kappa grows there is no infimum

The directions d with a'd >= 0 for all of them are the recession cone (Albert & Anderson, Biometrika
71, 1984; Bryson & Johnson, Technometrics 23, 1981). One in its relative interior, which makes as
many grow as possible, is found by one linear program, max sum_i min(1, a_i'd) (Konis, DPhil thesis,
Oxford 2007). Terms that grow along it vanish, and the infimum of the loss is the optimum of those
that are left (Geyer, Electronic Journal of Statistics 3, 2009).
"""

from typing import NamedTuple

import numpy as np
import scipy

from .coupled.ordinal import best_thresholds
from .several import class_codes, contrasts
from .traits import MONOTONE, ORDERED, OUTLASTS, held_by

LEAST_SPREAD = 1e-8  # least eigenvalue of a Hessian of unit diagonal that is not taken for rounding
SURE = 0.1  # below 1, so that rounding does not matter
LONGEST = 1e7  # entries of a direction of unit columns: margins of less than 1 / LONGEST are 0
SHORTER = 1e5  # the same of functions of rows
GROWS = 0.5  # what is between 0 and 1 in the linear program is rounding
STILL = 1e-9  # share of the largest part of a function that counts as no change
VANISHED = 30.0  # terms at this value of their function have exp(-30) = 1e-13 left
LARGE = (20.0, 6.0, 3.0)  # values beyond which a function may be on its way to infinity
EVEN = 1e-3  # share of the fastest growth below which a direction is not taken without a program
KEPT = 4  # sets of functions that grew on other columns, the last ones, are tried
# of the Newton steps of `face_where`: how many are taken, the share to which one is shortened at
# most, the share of the mean curvature that is added, and the promised decrease, as a share of the
# sum of the slopes of all terms, below which the loss is taken for one with an optimum
NEWTON_STEPS, SHORTEST, FLATTENED, NO_DECREASE = 40, 1e-3, 1e-12, 1e-3
SAME_SIGN = 1e-7  # a move below this share counts as none
SAME_SPAN = 1e-10  # share of the largest singular value below which functions are dependent
ROUNDED = 1e-13  # the same below which they are for sure: no more than rounding tells them apart


class Untold(Exception):
    """Linear programs do not tell whether a direction lets functions grow."""


class Functions(NamedTuple):
    """The linear functions of the terms of a loss, in parameters of columns of unit mean square."""

    A: np.ndarray  # (m, q)
    held: np.ndarray  # (m,), bool: those that may not change
    at: np.ndarray  # (m,), their values at x = 0
    low: np.ndarray  # (q,), the least sign that a direction may have, -1 or 0
    high: np.ndarray  # (q,), the largest, 0 or 1
    unit: np.ndarray  # (q,), what x is divided by in the units of the columns
    endless: int = 0  # how many of the last functions leave no infimum where one of them grows


class Span(NamedTuple):
    """What directions do to some linear functions."""

    free: np.ndarray  # (q, f), orthonormal directions that change none of them
    seen: np.ndarray  # (q, q - f), orthonormal directions across these
    clear: bool  # whether none of `free` changes one by more than rounding does


class Face(NamedTuple):
    """What a recession cone leaves of a loss.

    Attributes
    ----------
    functions : Functions
    d : ndarray of shape (q,)
        A direction in the relative interior of the cone; the least function that grows along it
        grows by 1.
    gone : ndarray of bool of shape (m,)
        The functions that grow, so that their terms vanish.
    span : Span
        Of the functions that are left. Along a direction that changes these by next to nothing
        their terms may have an optimum that is lower, as beside a row that is a million times
        farther out than the others: `span.clear` is whether there is none.
    """

    functions: Functions
    d: np.ndarray
    gone: np.ndarray
    span: Span

    @property
    def free(self):
        """(q, f), orthonormal directions that change no function that is left."""
        return self.span.free

    @property
    def complete(self):
        """Whether every term vanishes."""
        return bool(self.gone.all())

    @property
    def endless(self):
        """Whether what vanishes leaves no infimum: the loss falls below every number."""
        return bool(self.gone[self.gone.size - self.functions.endless :].any())

    @property
    def direction(self):
        """d in the units of the columns."""
        return self.d / self.functions.unit

    def sign(self, contrast):
        """Where a linear function of the parameters goes along the ways to the infimum.

        Parameters
        ----------
        contrast : ndarray of shape (q,)
            For parameters in the units of the columns.

        Returns
        -------
        float
            0 where it has a finite limit (it is estimable), 1 or -1 where it goes to plus or minus
            infinity on all ways, NaN where that depends on the way.
        """
        of, along = self.functions, contrast / self.functions.unit
        if np.abs(along @ self.free).max(initial=0.0) <= SAME_SIGN * np.abs(along).max():
            return 0.0
        sides = np.vstack(
            [
                -np.unique(of.A[self.gone], axis=0) @ self.free,
                -self.free[of.low == 0.0],
                self.free[of.high == 0.0],
            ]
        )
        ends = []
        for sign in (1.0, -1.0):
            found = scipy.optimize.linprog(
                sign * along @ self.free,
                A_ub=sides,
                b_ub=np.zeros(len(sides)),
                bounds=(-1.0, 1.0),
            )
            # what HiGHS could not solve is not known to be bounded
            ends.append(found.fun is None or found.fun < -SAME_SIGN * np.abs(along).max())
        return np.nan if all(ends) else -1.0 if ends[0] else 1.0


def functions_of(loss, y, Z, intercept, lower, upper, *, offset=None):
    """The `Functions` of a loss on columns Z (k, n), one a row.

    Parameters
    ----------
    loss : record of `l0path.problem.losses`
        One that has a recession cone.
    y : ndarray of shape (n,), or (n, r) of indicators
    Z : ndarray of shape (k, n)
    intercept : bool
    lower, upper : ndarray of shape (k,)
        Bounds; a finite one allows no step to its side for ever.
    offset : ndarray of shape (n,) or (n, r), optional

    Returns
    -------
    Functions
    """
    recession, n = loss.traits.recession, Z.shape[1]
    rms = np.sqrt(np.maximum(np.mean(Z * Z, axis=1), 1e-300))
    Z = Z / rms[:, None]
    low, high = np.where(np.isinf(lower), -1.0, 0.0), np.where(np.isinf(upper), 1.0, 0.0)
    offset = np.zeros(y.shape) if offset is None else offset
    if y.ndim == 2:
        T = contrasts(y.shape[1], loss.baseline)
        return _of_classes(y, Z, intercept, offset, T=T, rms=rms, signs=(low, high))
    if recession == ORDERED:
        A, held, at = _of_ordered(loss, y, Z, offset)
        more = loss.levels - 1
    elif recession == MONOTONE:
        A, held, at = _of_risk_sets(loss, Z, offset)
        more = 0
    elif recession == OUTLASTS:
        times = float(np.sqrt(np.mean(loss.log_time**2)))
        A, held, at = _of_shapes(loss, y, np.vstack([Z, np.ones(n), loss.log_time / times]), offset)
        more = 2
    else:
        signs, held = held_by(recession, y)
        A = np.vstack([Z, np.ones((int(intercept), n))]).T * signs[:, None]
        at, more = offset * signs, int(intercept)
    free, least, units = np.ones(more), -np.ones(more), np.ones(more)
    if recession == OUTLASTS:
        least[1], units[1] = 0.0, times  # a shape stays above 0
    return Functions(
        A,
        held,
        at,
        np.concatenate([low, least]),
        np.concatenate([high, free]),
        np.concatenate([rms, units]),
        endless=int(recession == OUTLASTS),
    )


def _of_classes(y, Z, intercept, offset, *, T, rms, signs):
    """Of several classes: x is (k + 1, q) in the order of its memory, q contrasts T."""
    (n, r), (low, high), codes = y.shape, signs, class_codes(y)
    rows = np.repeat(np.arange(n), r - 1)
    others = np.array([c for own in codes for c in range(r) if c != own])
    apart = (T[:, codes[rows]] - T[:, others]).T  # (m, q)
    ones = np.vstack([Z, np.ones((int(intercept), n))]).T[rows]  # (m, K)
    A = (ones[:, :, None] * apart[:, None, :]).reshape(rows.size, -1)
    at = offset[rows, codes[rows]] - offset[rows, others]
    q, free = r - 1, np.ones(int(intercept))
    return Functions(
        A,
        np.zeros(rows.size, dtype=bool),
        at,
        np.repeat(np.concatenate([low, -free]), q),
        np.repeat(np.concatenate([high, free]), q),
        np.repeat(np.concatenate([rms, free]), q),
    )


def _of_ordered(loss, y, Z, offset):
    """(A, held, at) of ordered classes: upper sides of rows, lower sides, distances."""
    codes, m = y.astype(np.int64), loss.levels - 1
    below, above, t = np.flatnonzero(codes < m), np.flatnonzero(codes > 0), np.eye(m)
    gaps = np.diff(t, axis=0)
    A = np.vstack(
        [
            np.hstack([-Z.T[below], t[codes[below]]]),
            np.hstack([Z.T[above], -t[codes[above] - 1]]),
            np.hstack([np.zeros((len(gaps), len(Z))), gaps]),
        ]
    )
    at = np.concatenate([-offset[below], offset[above], np.zeros(len(gaps))])
    return A, np.zeros(len(A), dtype=bool), at


def _of_shapes(loss, event, Z, offset):
    """(A, held, at) of a Weibull model: rows, then the shape; x is (coefficients, b0, kappa), of
    which Z (q, n) has the columns: log times about the center of the loss are the last.
    """
    A = np.vstack([-Z.T, np.eye(len(Z))[-1]])
    return A, np.append(event > 0, False), np.append(-offset, 0.0)


def _of_risk_sets(loss, Z, offset):
    """(A, held, at) of the pairs of `compared_rows`."""
    i, j, held = compared_rows(loss)
    return Z.T[i] - Z.T[j], held, offset[i] - offset[j]


def compared_rows(loss):
    """Pairs of rows that say as much as all pairs of a dead row and one of its risk set. The dead
    of a time are compared with each other; with the rows at risk that leave before the next event
    and with a dead row of that, which is ahead of the rest; with all rows at risk where none of
    those dead was at risk before.

    Parameters
    ----------
    loss : Cox

    Returns
    -------
    first, second : ndarray of int of shape (m,)
    held : ndarray of bool of shape (m,)
        The pairs of tied deaths, which allow no difference.
    """
    deaths, since, until = loss.deaths, loss.since, loss.until
    times = np.arange(loss.first.size - 1)
    time, tied = np.repeat(times, np.diff(loss.first)), np.ones(deaths.size, dtype=bool)
    tied[loss.first[:-1]] = False
    alive = until > since
    alive[deaths] = False
    leave, early = np.flatnonzero(alive), np.flatnonzero(since[deaths] < time)
    after, at = np.unique(time[early], return_index=True)
    parts = [
        (time[tied], deaths[tied]),
        (until[leave] - 1, leave),
        (after - 1, deaths[early[at]]),
    ]
    for g in np.setdiff1d(times, after - 1):
        stay = np.flatnonzero((since <= g) & (until > g + 1))
        parts.append((np.full(stay.size, g), stay))
    of, second = map(np.concatenate, zip(*parts, strict=True))
    return deaths[loss.first[of]], second, np.arange(of.size) < tied.sum()


def face_near(functions, x):
    """The `Face` of the directions that let only such functions grow as are large at parameters
    that have gone far: that in which these lie, or by a small linear program.

    Whether more functions can grow, it does not say; the optimum of the terms that are left does,
    if they have one.

    Parameters
    ----------
    functions : Functions
    x : ndarray of shape (q,)
        In parameters of columns of unit mean square.

    Returns
    -------
    Face or None
        None where there is none, and under bounds.
    """
    A, held = functions.A, functions.held
    if (functions.low == 0.0).any() or (functions.high == 0.0).any():
        return None
    at = functions.at + A @ x
    tried = []
    for level in LARGE:
        may = ~held & (at > level)
        free = span_of(A[~may]).free if may.any() else np.empty((x.size, 0))
        if free.shape[1]:
            face = _grown(functions, free @ (free.T @ x))
            if face is not None:
                return face
            tried.append((may, free))
    for may, free in tried:
        ones = np.ones(free.shape[1])
        along = A[may] @ free
        # what the others keep from changing changes by rounding
        size = np.linalg.norm(along, axis=1)
        along[size <= SAME_SPAN * np.linalg.norm(A[may], axis=1)] = 0.0
        try:
            face = face_of(Functions(along, held[may], at[may], -ones, ones, ones))
        except Untold:
            continue
        if face is not None:
            gone = np.zeros(held.size, dtype=bool)
            gone[may] = face.gone
            return Face(functions, free @ face.d, gone, span_of(A[~gone]))
    return None


def face_at(functions, x):
    """The `Face` of the functions that are as large at parameters x (q,), those of `face_near`, as
    the ones that grow are where an infimum is shown; None where no direction lets these alone grow.
    """
    large = functions.at + functions.A @ x > 0.99 * VANISHED  # with room for rounding
    gone = large & ~functions.held
    return _shortest(functions, gone) if gone.any() else None


def face_where(functions, gone):
    """The `Face` of a direction that lets some functions grow and changes no other one: of those
    that were found to grow on other columns. Newton steps on their logistic loss find it.

    Parameters
    ----------
    functions : Functions
    gone : ndarray of bool of shape (m,)

    Returns
    -------
    Face or None
        None where steps do not find one, which says nothing, and under bounds.
    """
    A = functions.A
    if (functions.low == 0.0).any() or (functions.high == 0.0).any():
        return None
    span = span_of(A[~gone])
    free = span.free
    along, z = A[gone] @ free, np.zeros(free.shape[1])
    size = np.linalg.norm(along) / np.sqrt(max(len(along), 1))
    if not size > STILL * np.abs(A).max(initial=0.0):
        return None
    along /= size
    grows = along @ z
    for _ in range(NEWTON_STEPS):
        falls = scipy.special.expit(-grows)
        slope, H = falls @ along, (along.T * (falls * (1.0 - falls))) @ along
        H[np.diag_indices_from(H)] += FLATTENED * np.trace(H) / z.size + np.finfo(float).tiny
        step = np.linalg.solve(H, slope)
        with np.errstate(over="ignore", invalid="ignore"):
            promised = slope @ step  # beyond all numbers where curvatures have vanished
        if not NO_DECREASE * falls.sum() <= promised < np.inf:
            return None  # an optimum: one of the functions falls along every direction
        before, length = np.logaddexp(0.0, -grows).sum(), 1.0
        while length > SHORTEST and np.logaddexp(0.0, -along @ (z + length * step)).sum() > before:
            length *= 0.5
        z = z + length * step
        grows = along @ z
        if grows.min() > EVEN * grows.max():
            break
    least = grows.min()
    if not grows.max() < LONGEST * least:
        return None
    return _grown(functions, free @ z / (size * least), GROWS, (gone, span))


def _grown(functions, d, least=None, known=(None, None)):
    """The `Face` of a direction d along which some functions grow by `least` or more, and the
    others do not change; None where it is no such direction. least: EVEN of the fastest growth if
    None, for a direction of which nothing is known; known: functions, and the `Span` of all others.
    """
    A, held = functions.A, functions.held
    grows = A @ d
    fastest, rounding = grows.max(initial=0.0), STILL * (np.abs(A) @ np.abs(d)).max(initial=0.0)
    gone = grows > (EVEN * fastest if least is None else least)
    if not fastest > rounding or (gone & held).any():
        return None
    if np.abs(grows[~gone]).max(initial=0.0) > rounding:
        return None
    span = known[1] if known[0] is not None and (gone == known[0]).all() else span_of(A[~gone])
    return Face(functions, d / grows[gone].min(), gone, span)


class Directions:
    """Directions of recession that were found on some columns. They are ones on every set that
    holds these, and so are their sums: a linear program for each set is not needed.
    """

    def __init__(self):
        # {columns that move, as bits: (their places (m,), parts (m, w), parts of levels (v,))}
        self.found = {}
        self.gone = []  # the functions that grow, the last ones found first

    def keep(self, columns, face, width):
        """Add the direction of a `Face` on columns (k,), each with `width` coefficients."""
        k, d = columns.size * width, face.direction
        size = np.abs(face.d[:k]).reshape(columns.size, width).max(axis=1, initial=0.0)
        moves = size > STILL * np.abs(face.d).max()
        moving, steps, levels = columns[moves], d[:k].reshape(columns.size, width)[moves], d[k:]
        self.gone = [face.gone, *(one for one in self.gone if (one != face.gone).any())][:KEPT]
        bits = _bits(moving)
        if bits in self.found:
            _, before, level = self.found[bits]
            steps, levels = steps + before, levels + level
        self.found[bits] = moving, steps, levels

    def face(self, columns, functions, width):
        """The `Face` of all that was found on some of these columns, None where nothing was."""
        k, others = columns.size * width, ~_bits(columns)
        inside = [found for bits, found in self.found.items() if not bits & others]
        if not inside:
            return None
        moving, steps, levels = zip(*inside, strict=True)
        d = np.zeros(functions.unit.size)
        at = np.searchsorted(columns, np.concatenate(moving))
        np.add.at(d[:k].reshape(columns.size, width), at, np.concatenate(steps))
        d[k:] = sum(levels)
        # beside a row that is far out functions may grow a million times faster than others
        return _grown(functions, d * functions.unit, GROWS) if d.any() else None

    def moving(self, columns):
        """Those of these columns (k,) that move along the directions found on some of them."""
        others = ~_bits(columns)
        moving = [found[0] for bits, found in self.found.items() if not bits & others]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *moving]))

    def inside(self, columns):
        """Whether one was found on some of these columns."""
        others = ~_bits(columns)
        return any(not bits & others for bits in self.found)


def _bits(columns):
    """A number whose bits are the columns."""
    return sum(1 << j for j in columns.tolist())


def face_of(functions):
    """The `Face` of functions, None where no direction lets one grow: a linear program.

    Columns may be so nearly dependent that a direction has entries of a million. Where HiGHS does
    not solve that program, or rounding hides what it finds, it is asked for the functions of some
    rows instead, of which those of the others are combinations of a size near 1 (`_of_rows`).

    Parameters
    ----------
    functions : Functions

    Returns
    -------
    Face or None

    Raises
    ------
    Untold
        Where neither program tells.
    """
    A, held = functions.A, functions.held
    if not A.shape[1] or held.all():
        return None
    some, back = np.unique(A[~held], axis=0, return_inverse=True)
    still, unit = np.unique(A[held], axis=0), np.eye(A.shape[1])
    sides = np.vstack([unit[functions.low == 0.0], -unit[functions.high == 0.0]])
    B = np.vstack([some, still, sides])
    for longest in (LONGEST, SHORTER):
        B = _of_rows(B) if longest == SHORTER else B
        grown = _growing(*np.split(B, (len(some), len(some) + len(still))), longest)
        if grown is None:
            continue
        if not grown.any():
            return None
        gone = np.zeros(held.size, dtype=bool)
        gone[~held] = grown[back.ravel()]
        face = _shortest(functions, gone)
        if face is not None:
            return face
    raise Untold


def _growing(some, still, sides, longest):
    """Which of the functions `some` grow along a direction, of entries up to `longest`, that lets
    as many grow as possible, changes none of `still` and lets none of `sides` fall; None where
    HiGHS does not solve the program.
    """
    (m, q), s, sparse = some.shape, len(still), scipy.sparse.csr_array
    found = scipy.optimize.linprog(
        np.concatenate([np.zeros(q), -np.ones(m)]),
        A_ub=scipy.sparse.block_array(
            [[sparse(-some), scipy.sparse.eye_array(m)], [sparse(-sides), None]]
        ),
        b_ub=np.zeros(m + len(sides)),
        A_eq=scipy.sparse.hstack([sparse(still), sparse((s, m))]),
        b_eq=np.zeros(s),
        bounds=np.repeat([(-longest, longest), (0.0, 1.0)], (q, m), axis=0),
    )
    return None if found.x is None else found.x[q:] > GROWS


def _of_rows(A):
    """The functions A (m, q) in terms of f of them, (m, f): the rows of these are those of the
    identity, and entries of the others are about 1 at most. Gauss-Jordan elimination with the
    largest pivots.
    """
    B, least = A.copy(), SAME_SPAN * np.abs(A).max(initial=0.0)
    rows, columns = np.ones(A.shape[0], dtype=bool), np.ones(A.shape[1], dtype=bool)
    while rows.any() and columns.any():
        left = np.abs(B) * rows[:, None] * columns
        i, j = np.unravel_index(left.argmax(), left.shape)
        if not left[i, j] > least:
            break
        column = B[:, j] / B[i, j]
        B -= np.outer(column, B[i])
        B[:, j] = column
        rows[i] = columns[j] = False
    return B[:, ~columns]


def _shortest(functions, gone):
    """The `Face` where some functions grow, with the direction of least largest entry among those
    that change no other one, along which each grows by 1 at least; None where rounding hid that
    there is none.
    """
    A, q = functions.A, functions.low.size
    fixed = np.eye(q)[(functions.low == 0.0) & (functions.high == 0.0)]
    span = span_of(np.vstack([np.unique(A[~gone], axis=0), fixed]))
    free = span.free
    if not free.shape[1]:
        return None
    sides = np.vstack([-free[functions.low == 0.0], free[functions.high == 0.0]])
    grows = np.unique(A[gone], axis=0)
    parts = [(-grows @ free, 0.0, -1.0), (sides, 0.0, 0.0), (free, -1.0, 0.0), (-free, -1.0, 0.0)]
    found = scipy.optimize.linprog(
        np.append(np.zeros(free.shape[1]), 1.0),
        A_ub=np.vstack([np.column_stack([part, np.full(len(part), t)]) for part, t, _ in parts]),
        b_ub=np.concatenate([np.full(len(part), most) for part, _, most in parts]),
        bounds=(None, None),
    )
    if found.x is None:
        return None
    d = free @ found.x[:-1]
    d = np.clip(
        d, np.where(functions.low < 0.0, -np.inf, 0.0), np.where(functions.high > 0.0, np.inf, 0.0)
    )
    least = (grows @ d).min()
    moved = np.abs(A[~gone] @ d).max(initial=0.0)
    if not (least > GROWS and moved <= STILL * (np.abs(A) @ np.abs(d)).max()):
        return None
    return Face(functions, d / least, gone, span)


def span_of(A):
    """The `Span` of the functions A (m, q)."""
    q = A.shape[1]
    if not len(A):
        return Span(np.eye(q), np.empty((q, 0)), True)
    if len(A) > q:
        A = np.linalg.qr(A, mode="r")
    try:
        _, size, V = np.linalg.svd(A, full_matrices=True)
    except np.linalg.LinAlgError:  # which happens, and not by the slower way
        _, size, V = scipy.linalg.svd(A, full_matrices=True, lapack_driver="gesvd")
    most = size.max(initial=0.0)
    rank = int((size > SAME_SPAN * most).sum())
    clear = not ((size > ROUNDED * most) & (size <= SAME_SPAN * most)).any()
    return Span(V[rank:].T, V[:rank].T, clear)


# -------------------- that there is none


def inseparable_classes(Z, codes, r, intercept):
    """Whether weights show that no direction separates several classes, see `face_of`.

    Let m >= 0 be the margins A d of such a direction d, whose coefficients sum to zero over the
    classes, and eta_i (r,) its predictors. With weights v >= 1 and rho = A'v, sum(m) <= v'm =
    rho'd <= |rho| |d|. On the other hand a row adds at least range(eta_i) >= |eta_i| / sqrt(r), so
    that sum(m) >= sum |eta_i|^2 / (sqrt(r) max |eta_i|) >= |d| L / (sqrt(r) max |z_i|), L the least
    eigenvalue of Z Z', z_i with a 1 for an intercept. Where |rho| sqrt(r) max |z_i| < L only d = 0
    is left. The weights come from a linear program, which is mostly 10 times faster than that for a
    direction; they are checked.

    Parameters
    ----------
    Z : ndarray of shape (k, n)
        Columns, one a row.
    codes : ndarray of int of shape (n,)
        Numbers 0..r-1 of the classes.
    r : int
        The number of classes.
    intercept : bool
        Whether a direction may move the intercepts.

    Returns
    -------
    bool
        False where that is not shown.
    """
    whole = _margins(Z, codes, r, intercept).T.tocsr()
    found = scipy.optimize.linprog(
        np.ones(whole.shape[1]), A_eq=whole, b_eq=np.zeros(whole.shape[0]), bounds=(1.0, None)
    )
    if found.x is None:
        return False
    unit = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    unit = np.vstack([unit, np.ones((int(intercept), Z.shape[1]))])
    left = np.linalg.norm(whole @ np.maximum(found.x, 1.0)) * np.sqrt(r)
    left *= np.sqrt((unit * unit).sum(axis=0).max())
    values = np.linalg.eigvalsh(unit @ unit.T)
    return bool(values[0] > LEAST_SPREAD * values[-1] and left < 0.5 * values[0])


def _margins(Z, codes, r, intercept):
    """What a direction of coefficients (r k,), class by class, of columns of unit mean square, and
    of intercepts (r,) adds to the predictor of the class of each row over those of the others: a
    sparse matrix of n (r - 1) rows.
    """
    n = Z.shape[1]
    Z = Z / np.sqrt(np.maximum(np.mean(Z * Z, axis=1, keepdims=True), 1e-300))
    rows = np.repeat(np.arange(n), r - 1)
    others = np.array([c for y in codes for c in range(r) if c != y])
    signs = np.equal.outer(codes[rows], np.arange(r)).astype(float)
    signs -= np.equal.outer(others, np.arange(r))
    A = scipy.sparse.hstack(
        [scipy.sparse.csr_array(Z.T[rows] * signs[:, [c]]) for c in range(r)], format="csr"
    )
    free = scipy.sparse.csr_array(signs[:, : r * intercept])
    return scipy.sparse.hstack([A, free], format="csc")


def shows_optimum(H, gradient, A, rate):
    """Whether the derivatives of a loss at a point show that it has a finite optimum.

    It is a sum of terms w f(a'x) whose curvatures fall no faster than |f'''| <= r f''. Along a
    direction d with d'Hd = 1 the slope is at least -g at the point, g^2 = gradient'H^-1 gradient,
    and the curvature at a distance t at least exp(-R t), R^2 = max r^2 a'H^-1 a. Where g R < 1 the
    slope becomes positive on every way out, and the loss falls for ever on none. Weights that are
    far apart do not matter: g R is what it is without the others for a term that alone changes
    along some direction. Source: Bach (Electronic Journal of Statistics 4, 2010), proposition 2.

    Parameters
    ----------
    H : ndarray of shape (q, q)
        The Hessian.
    gradient : ndarray of shape (q,)
    A : ndarray of shape (m, q)
        The linear functions a.
    rate : float or ndarray of shape (m,)
        Their r.

    Returns
    -------
    bool
        False where that is not shown.
    """
    if not np.isfinite(H).all():
        return False
    unit = np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values, vectors = np.linalg.eigh(H / unit[:, None] / unit)
    if not values.min(initial=1.0) > LEAST_SPREAD:
        return False
    root = vectors / np.sqrt(values)
    decrement = np.linalg.norm(gradient / unit @ root)
    reach = np.linalg.norm(A / unit @ root, axis=1)
    return bool(decrement * (rate * reach).max(initial=0.0) < SURE)


def ordered_optimum(problem, Z, eta):
    """Whether it is certain that ordered classes have a finite optimum on some columns, by the
    derivatives at a predictor.

    The loss (O) of `coupled.ordinal` is a sum of terms in x = (coefficients, thresholds), which
    `shows_optimum` is asked about.

    Parameters
    ----------
    problem : Problem
        Of the loss "ordinal", without a penalty.
    Z : ndarray of shape (k, n)
        Columns, one a row.
    eta : ndarray of shape (n,)
        A predictor, an offset with it.

    Returns
    -------
    bool
        False where that is not shown.
    """
    best = best_thresholds(problem.loss, problem.y, eta, problem.weights)
    codes, t = problem.y.astype(np.int64), np.eye(best.t.size)
    below, above = np.flatnonzero(codes < t.shape[0]), np.flatnonzero(codes > 0)
    with np.errstate(over="ignore"):
        q = 1.0 / np.expm1(np.diff(best.t))
    between = np.hstack([np.zeros((q.size, len(Z))), np.diff(t, axis=0)])
    A = np.vstack(
        [
            np.hstack([Z.T[below], -t[codes[below]]]),
            np.hstack([-Z.T[above], t[codes[above] - 1]]),
            between,
        ]
    )
    rate = np.concatenate([np.ones(below.size + above.size), 1.0 + 2.0 * q])
    mass = best.mass[1:-1]
    slope = [best.upper.slope[below], best.lower.slope[above], -mass * q]
    curvature = [best.upper.curvature[below], best.lower.curvature[above], mass * q * (1.0 + q)]
    H, gradient = (A.T * np.concatenate(curvature)) @ A, np.concatenate(slope) @ A
    return shows_optimum(H, gradient, A, rate)
