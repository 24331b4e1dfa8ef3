"""The perspective relaxation of a quadratic model at one node of a search tree: some columns are
in, some out, the others free. One compiled kernel for sizes and for prices.

    minimise over b, z:   half - q'b + b'Gb / 2 + lambda1 ||b||_1 + sum_in r_j b_j^2 + sum_free [ r_j b_j^2 / z_j + price_j z_j ],   lower <= b <= upper, |b_j| <= M_j z_j, 0 <= z_j <= 1

with price_j = lambda0 f_j given, or equal prices s^2 at which the free z sum to `size`. For a price
and rho = min(sqrt(price / r), M) a free column costs (price / rho + r rho) |b| up to rho, where z =
|b| / rho, and price + r b^2 beyond (see `relaxation.perspective`). Given which columns are linear,
beyond rho, at their bounds and zero, optimality is a linear system in b, and s is one more unknown,
bordered by sum z = size: Newton steps on it, each followed by a sweep of coordinate descent, which
moves columns between the four, end with the exact relaxation after a few turns. No bound depends on
that: any b gives a dual point (see `relaxation.bounds`).

Source: Hazimeh, Mazumder & Saab (Sparse regression at scale: branch-and-bound rooted in first-order
    optimization, Mathematical Programming 196, 2022), sections 3 and 4, solve the penalised node by
coordinate descent with a box; sizes, and the bordered system, are ours.
"""

import math

import numpy as np

from ..core.dispatch import njit
from ..working_set.linear_algebra import cholesky, cholesky_solve

ENTERING = 20  # columns that leave zero at a time
SWEEPS = 5  # of coordinate descent in a turn, until the free z sum to about `size`
# turns of plain Newton steps; later ones search along them at a fixed price, and the price is
# bracketed
FAST = 20
INNER = 20
TIGHT = 1e-13  # of the null loss: what a sweep still changes once a node is solved
ZERO, LINEAR, FULL, EDGE = 0, 1, 2, 3


@njit
def shape(price, ridge, M):
    """(rho, slope): where a free column's cost turns from linear to quadratic, and its slope there;
    M > 0 its box on the side of b.
    """
    if price <= 0.0:
        return 0.0, 0.0
    if ridge * M * M > price:
        rho = math.sqrt(price / ridge)
        return rho, 2.0 * math.sqrt(price * ridge)
    return M, price / M + ridge * M


@njit
def move(pull, curvature, price, ridge, M, free):
    """(|b|, part): the minimiser over 0 <= b <= M of curvature b^2 / 2 - pull b + the column's cost
    without lambda1, and which part of it b lies on.
    """
    if pull <= 0.0 or M <= 0.0:
        return 0.0, ZERO
    if free:
        rho, slope = shape(price, ridge, M)
        b = (pull - slope) / curvature if curvature > 0.0 else math.inf
        if rho > 0.0 and not b > rho:
            return (b, LINEAR) if b > 0.0 else (0.0, ZERO)
    b = pull / (curvature + 2.0 * ridge)
    return (b, FULL) if b < M else (M, EDGE)


@njit
def sweep(G, q, ridge, lambda1, lower, upper, factor, state, price, A, b, c, part):
    """One pass of coordinate descent over columns A; b, c = q - G b on A, and part are kept up.
    Returns the largest change of the objective a move has made.
    """
    largest = 0.0
    for i in range(A.size):
        j = A[i]
        t = c[j] + G[j, j] * b[j]
        side = 1.0 if t > 0.0 else -1.0
        size, part[j] = move(
            abs(t) - lambda1,
            G[j, j],
            price * factor[j],
            ridge[j],
            upper[j] if t > 0.0 else -lower[j],
            state[j] == 0,
        )
        step = side * size - b[j]
        if step != 0.0:
            b[j] += step
            for l in range(A.size):
                c[A[l]] -= step * G[j, A[l]]
            largest = max(largest, (G[j, j] + 2.0 * ridge[j]) * step * step)
    return largest


@njit
def total(ridge, lower, upper, factor, state, price, A, b):
    """Sum of z over the free columns of A at the given price."""
    out = 0.0
    for i in range(A.size):
        j = A[i]
        if state[j] == 0 and b[j] != 0.0:
            rho = shape(price * factor[j], ridge[j], upper[j] if b[j] > 0.0 else -lower[j])[0]
            out += min(abs(b[j]) / rho, 1.0) if rho > 0.0 else 1.0
    return out


@njit
def direction(
    G, q, ridge, lambda1, lower, upper, factor, state, s, size, A, b, part, M, x, t, step
):
    """Fill step (w,) on A with the Newton step of b to the optimum of the current parts (see the
    module), returns that of s; 0 for size < 0: prices stand. M (m, m), x, t (m,): work space.
    """
    m, J, v = 0, np.empty(A.size, dtype=np.int64), np.zeros(A.size)
    for i in range(A.size):
        step[A[i]] = 0.0
        if part[A[i]] == LINEAR or part[A[i]] == FULL:
            J[m] = A[i]
            m += 1
    lack, less = float(size), 0.0  # sum z = size, linearised: lack = v'step + less ds
    for i in range(m):
        j = J[i]
        for l in range(i + 1):
            M[i, l] = G[j, J[l]]
        side = 1.0 if b[j] > 0.0 else -1.0
        x[i], t[i] = q[j] - side * lambda1, 0.0
        for l in range(A.size):
            x[i] -= G[j, A[l]] * b[A[l]]
        if part[j] == FULL:
            M[i, i] += 2.0 * ridge[j]
            x[i] -= 2.0 * ridge[j] * b[j]
        else:
            box = upper[j] if b[j] > 0.0 else -lower[j]
            rho, slope = shape(s * s * factor[j], ridge[j], box)
            x[i] -= side * slope
            t[i] = side * (
                2.0 * math.sqrt(ridge[j] * factor[j]) if rho < box else 2.0 * s * factor[j] / rho
            )
            v[i] = side / rho
            lack -= abs(b[j]) / rho
            less -= abs(b[j]) / (rho * s) if rho < box else 0.0
    for i in range(A.size):
        j = A[i]
        lack -= 1.0 if state[j] == 0 and (part[j] == FULL or part[j] == EDGE) else 0.0
    if cholesky(M, m) > 0:
        return 0.0
    cholesky_solve(M, m, x)
    ds = 0.0
    if size >= 0:
        cholesky_solve(M, m, t)
        down, across = 0.0, 0.0
        for i in range(m):
            down += v[i] * x[i]
            across += v[i] * t[i]
        if less < across:
            ds = min(max((lack - down) / (less - across), -0.9 * s), 4.0 * s)
    for i in range(m):
        step[J[i]] = x[i] - ds * t[i]
    return ds


@njit
def leap(lower, upper, A, b, part, step):
    """Take the whole step; a linear column whose sign would turn stops at zero."""
    for i in range(A.size):
        j = A[i]
        to = b[j] + step[j]
        if part[j] == LINEAR and to * b[j] <= 0.0:
            to = 0.0
        b[j] = min(max(to, lower[j]), upper[j])


@njit
def cost(lambda1, ridge, lower, upper, factor, state, price, A, b):
    """The penalty of b at the given price."""
    out = 0.0
    for i in range(A.size):
        j = A[i]
        size = abs(b[j])
        if size > 0.0:
            out += lambda1 * size
            rho, slope = (
                shape(price * factor[j], ridge[j], upper[j] if b[j] > 0.0 else -lower[j])
                if state[j] == 0
                else (0.0, 0.0)
            )
            out += (
                slope * size
                if size < rho
                else (price * factor[j] if state[j] == 0 else 0.0) + ridge[j] * size * size
            )
    return out


@njit
def search(G, q, lambda1, ridge, lower, upper, factor, state, price, A, b, step):
    """Take the largest of the shares 1, 1/2, 1/4, ... of the step that lowers the objective at a
    fixed price, or none.
    """
    before, start = cost(lambda1, ridge, lower, upper, factor, state, price, A, b), np.empty(A.size)
    for i in range(A.size):
        start[i] = b[A[i]]
    share = 1.0
    for _ in range(12):
        for i in range(A.size):
            j = A[i]
            b[j] = min(max(start[i] + share * step[j], lower[j]), upper[j])
            if b[j] * start[i] < 0.0:
                b[j] = 0.0
        change = 0.0
        for i in range(A.size):
            d = b[A[i]] - start[i]
            if d != 0.0:
                change -= d * q[A[i]]
                for l in range(A.size):
                    change += d * G[A[i], A[l]] * (start[l] + 0.5 * (b[A[l]] - start[l]))
        if change + cost(lambda1, ridge, lower, upper, factor, state, price, A, b) < before:
            return
        share *= 0.5
    for i in range(A.size):
        b[A[i]] = start[i]


@njit
def slack(gamma, G, q, b):
    """What rounding may hide of c = q - G b: gamma times the largest entries that were summed."""
    size, top, reach = 0.0, 0.0, 0.0
    for j in range(b.size):
        size += abs(b[j])
        top = max(top, G[j, j])
        reach = max(reach, abs(q[j]))
    return gamma * (reach + size * top)


@njit
def insert(best, held, size, value):
    """Let a value into the descending list of the `size` largest, of which `held` are there;
    returns how many are then.
    """
    if held < size:
        i = held
        held += 1
    elif value > best[size - 1]:
        i = size - 1
    else:
        return held
    while i > 0 and best[i - 1] < value:
        best[i] = best[i - 1]
        i -= 1
    best[i] = value
    return held


@njit
def members(inside):
    """Indices of the true entries, ascending."""
    count = 0
    for j in range(inside.size):
        count += inside[j]
    A = np.empty(count, dtype=np.int64)
    count = 0
    for j in range(inside.size):
        if inside[j]:
            A[count] = j
            count += 1
    return A


@njit
def bound(lambda1, ridge, lower, upper, factor, state, size, price, half, q, b, c, slack, h, best):
    """The dual value of the node at the slopes -c of b, all columns counted; slack: rounding of c.
    h (w,) is filled, best (size,) is work space: the largest free h.
    """
    out = half
    for j in range(b.size):
        out -= 0.5 * b[j] * (q[j] - c[j])
    held = 0
    for j in range(b.size):
        h[j] = 0.0
        if state[j] < 0:
            continue
        pull, M = abs(c[j]) + slack - lambda1, upper[j] if c[j] > 0.0 else -lower[j]
        if pull > 0.0 and M > 0.0:
            x = min(pull / (2.0 * ridge[j]), M) if ridge[j] > 0.0 else M
            h[j] = pull * x - ridge[j] * x * x
        if state[j] > 0:
            out -= h[j]
            if size < 0:
                out += price * factor[j]
        elif size < 0:
            out -= max(h[j] - price * factor[j], 0.0)
        elif h[j] > 0.0 and size > 0:
            held = insert(best, held, size, h[j])
    for i in range(held):
        out -= best[i]
    return out


@njit
def enter(lambda1, ridge, lower, upper, factor, state, size, price, c, inside, excess):
    """Let free columns that leave zero at this price into `inside`, those of the largest excess
    where there are many; returns their number. excess (w,) is work space.
    """
    found = 0
    for j in range(c.size):
        excess[j] = 0.0
        if not inside[j] and state[j] == 0 and size != 0:
            pull, M = abs(c[j]) - lambda1, upper[j] if c[j] > 0.0 else -lower[j]
            if M > 0.0:
                excess[j] = pull - shape(price * factor[j], ridge[j], M)[1]
                found += excess[j] > 0.0
    edge = 0.0
    if found > ENTERING:
        most, held = np.zeros(ENTERING), 0
        for j in range(c.size):
            held = insert(most, held, ENTERING, excess[j])
        edge = most[ENTERING - 1]
    fresh = 0
    for j in range(c.size):
        if excess[j] > 0.0 and excess[j] >= edge:
            inside[j] = True
            fresh += 1
    return fresh


@njit
def descend(
    G,
    q,
    half,
    ridge,
    lambda1,
    lower,
    upper,
    factor,
    state,
    size,
    s,
    low,
    high,
    A,
    b,
    c,
    part,
    M,
    x,
    t,
    step,
):
    """The relaxation on columns A at the price s^2, by Newton steps with line searches and sweeps,
    and the next price within the bracket [low, high] of its root: (s, low, high).
    """
    for _ in range(INNER):
        direction(
            G, q, ridge, lambda1, lower, upper, factor, state, s, -1, A, b, part, M, x, t, step
        )
        search(G, q, lambda1, ridge, lower, upper, factor, state, s * s, A, b, step)
        for i in range(A.size):
            c[A[i]] = q[A[i]]
            for l in range(A.size):
                c[A[i]] -= G[A[i], A[l]] * b[A[l]]
        if (
            sweep(G, q, ridge, lambda1, lower, upper, factor, state, s * s, A, b, c, part)
            < 1e-12 * half
        ):
            break
    if size > 0:
        if total(ridge, lower, upper, factor, state, s * s, A, b) > size:
            low = max(low, s)
        else:
            high = min(high, s)
        to = s + direction(
            G, q, ridge, lambda1, lower, upper, factor, state, s, size, A, b, part, M, x, t, step
        )
        s = (
            to
            if low < to < high
            else math.sqrt(max(low, 1e-3 * high) * high)
            if high < math.inf
            else 2.0 * s
        )
    return s, low, high


@njit
def relax(
    G,
    q,
    half,
    ridge,
    lambda1,
    lower,
    upper,
    factor,
    state,
    size,
    s,
    cutoff,
    turns,
    gamma,
    b,
    c,
    h,
    part,
    M,
):
    """Solve one node: (bound, s). b (w,) is the start and becomes the relaxed solution; filled are
    c = q - G b, h (w,), what each column takes off the bound, and part (w,). Stops once the bound
    exceeds `cutoff`, or after `turns` Newton steps. M: work space (w, w) at least.
    """
    w = b.size
    best = np.empty(max(size, 1))
    for j in range(w):
        if state[j] < 0 or (size == 0 and state[j] == 0):
            b[j] = 0.0
    inside = np.zeros(w, dtype=np.bool_)
    for j in range(w):
        inside[j] = b[j] != 0.0 or state[j] > 0
        part[j] = ZERO
    x, t, step, low, high = np.empty(w), np.empty(w), np.zeros(w), 0.0, np.inf
    top, settled, ratio, change = -np.inf, False, 1.0, 0.0
    keep, keep_c, keep_h, keep_s = np.zeros(w), np.zeros(w), np.zeros(w), s
    for turn in range(turns):
        A = members(inside)
        for j in range(w):
            c[j] = q[j]
        for i in range(A.size):
            if b[A[i]] != 0.0:
                for j in range(w):
                    c[j] -= b[A[i]] * G[A[i], j]
        value = (
            bound(
                lambda1,
                ridge,
                lower,
                upper,
                factor,
                state,
                size,
                s * s,
                half,
                q,
                b,
                c,
                slack(gamma, G, q, b),
                h,
                best,
            )
            - 8.0 * gamma * half
        )
        if value > top:
            top = value
            keep_s = s
            for j in range(w):
                keep[j], keep_c[j], keep_h[j] = b[j], c[j], h[j]
        if top > cutoff:
            break
        fresh = enter(lambda1, ridge, lower, upper, factor, state, size, s * s, c, inside, x)
        if settled and fresh == 0:
            break
        if fresh > 0:
            A = members(inside)
        for _ in range(SWEEPS):
            change = sweep(G, q, ridge, lambda1, lower, upper, factor, state, s * s, A, b, c, part)
            if size <= 0:
                ratio = 1.0
                break
            ratio = total(ridge, lower, upper, factor, state, s * s, A, b) / size
            if 0.7 < ratio < 1.4:
                break
            s *= min(max(ratio, 0.5), 2.0)
        settled = change <= TIGHT * half and abs(ratio - 1.0) <= 1e-6
        if turn < FAST:
            s += direction(
                G,
                q,
                ridge,
                lambda1,
                lower,
                upper,
                factor,
                state,
                s,
                size,
                A,
                b,
                part,
                M,
                x,
                t,
                step,
            )
            leap(lower, upper, A, b, part, step)
        else:
            s, low, high = descend(
                G,
                q,
                half,
                ridge,
                lambda1,
                lower,
                upper,
                factor,
                state,
                size,
                s,
                low,
                high,
                A,
                b,
                c,
                part,
                M,
                x,
                t,
                step,
            )
        for i in range(A.size):
            if b[A[i]] == 0.0 and state[A[i]] == 0:
                inside[A[i]] = False
    for j in range(w):
        b[j], c[j], h[j] = keep[j], keep_c[j], keep_h[j]
    return top, keep_s
