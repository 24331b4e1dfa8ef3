"""Losses of the user's own that are no sum over rows: a class of numbers with the value, slopes and
curvature of all rows.

    value(self, y, eta, weights)               the loss, a number
    slope(self, y, eta, weights, out)          fills out (n,) with its derivatives in eta
    curvature(self, y, eta, weights, z, out)   fills out (n,) with B z, B its second derivatives

The curvature is a product with a vector, which is the slope of `slope` along z: whoever has the one
has the other by the chain rule, and no form of B is asked for. It costs a product for each column
of a Hessian, of a batch of columns that are ranked, and for an intercept, whose column is B 1.
"""

import ctypes
import inspect
import math

import numpy as np

from ...core.warnings import warn_user
from ..responses import null_start
from ..verbs import (
    curvature_times,
    derivatives_of_rows,
    hessian_of_rows,
    mean_loss,
    slope_along,
    unseen,
    value_of_rows,
)
from .unseen import orthogonal_columns

# the arrays that each method takes; the last one is filled, but for `value`
TAKEN = {
    "value": ("y", "eta", "weights"),
    "slope": ("y", "eta", "weights", "out"),
    "curvature": ("y", "eta", "weights", "z", "out"),
}
DIFFERENCE_STEP = 1e-5  # of differences, in units of the predictors that are compared
AGREE, BENDS_AGREE = 1e-4, 1e-3  # relative agreement of slopes, and of curvatures, with these
SEES = 1e-9  # share of the slopes that a constant must have for the loss to see it
VALUE_ROUNDING = 1e-14  # relative rounding of a value


def of_all_rows(kind):
    """Whether a class has the methods of all rows: its value takes weights.

    Raises
    ------
    TypeError
        If it does, and another method does not take what it has to.
    """
    if _arguments(kind, "value") != len(TAKEN["value"]):
        return False
    for name, arrays in TAKEN.items():
        if _arguments(kind, name) not in (None, len(arrays)):
            raise TypeError(
                f"value of {kind.__name__} is that of all rows, (self, y, eta, weights), so its "
                f"{name} must take (self, {', '.join(arrays)})"
            )
    return True


def _arguments(kind, name):
    """The number of arguments of a method beside self; None where it does not tell."""
    try:
        given = inspect.signature(getattr(kind, name)).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return None
    return None if any(one.kind is one.VAR_POSITIONAL for one in given) else len(given) - 1


# -------------------- methods as kernels call them


def called_back_rows(kind, name):
    """A method that Python runs, as kernels call it: by the numbers of the record, the number of
    rows and addresses of arrays. An error, which cannot pass a kernel, is a warning, and the result
    NaN.
    """
    from numba import config
    from numba.extending import register_jitable

    method, fields, filled = getattr(kind, name), len(kind._fields), name != "value"

    def called(*numbers):
        arrays = [_array_at(address, numbers[fields]) for address in numbers[fields + 1 :]]
        for array in arrays[:-1] if filled else arrays:
            array.flags.writeable = False
        try:
            with np.errstate(all="ignore"):  # as in compiled code
                result = method(kind(*numbers[:fields]), *arrays)
            return 0.0 if filled else float(result)
        except OverflowError:
            pass
        except Exception as error:
            warn_user(RuntimeWarning(f"{name} of loss {kind.__name__!r}: {error!r}"))
        if filled:
            arrays[-1][:] = np.nan
        return np.nan

    if config.DISABLE_JIT:
        return method
    sizes = [ctypes.c_size_t] * (1 + len(TAKEN[name]))
    callback = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * fields, *sizes)(called)
    numbers = "".join(f"float(loss[{i}]), " for i in range(fields))
    addresses = ", ".join(f"{array}.ctypes.data" for array in TAKEN[name])
    given, scope = ", ".join(("loss", *TAKEN[name])), {"callback": callback}
    exec(f"def rows({given}): return callback({numbers}y.size, {addresses})", scope)
    return register_jitable(scope["rows"])


def _array_at(address, n):
    """The n numbers at an address."""
    return np.frombuffer((ctypes.c_double * n).from_address(address))


def register_rows(kind, rows_of):
    """Register the verbs of all rows for a class; rows_of(kind, name): a method as kernels call
    it, `compiled_method` or `called_back_rows`.
    """
    value, slope, curvature = (rows_of(kind, name) for name in TAKEN)
    seen = kind.traits.intercept

    @value_of_rows.register(kind)
    def own_value_of_rows(loss, y, eta, weights):
        found = value(loss, y, eta, weights)
        # such as the logarithm of a sum that underflows, far out: no optimum is there
        return math.inf if found == -math.inf else found

    @derivatives_of_rows.register(kind)
    def own_derivatives_of_rows(loss, y, eta, weights, slopes, curvatures):
        # B 1, the column of an intercept; 0 where a constant is not seen
        slope(loss, y, eta, weights, slopes)
        ones = np.empty(y.size)
        for i in range(y.size):
            ones[i], curvatures[i] = 1.0, 0.0
        if seen:
            curvature(loss, y, eta, weights, ones, curvatures)
        found = value(loss, y, eta, weights)
        return math.inf if found == -math.inf else found

    @slope_along.register(kind)
    def own_slope_along(loss, y, weights, start, end, t):
        eta, slopes, total = np.empty(y.size), np.empty(y.size), 0.0
        for i in range(y.size):
            eta[i] = start[i] + t * (end[i] - start[i])
        slope(loss, y, eta, weights, slopes)
        for i in range(y.size):
            total += slopes[i] * (end[i] - start[i])
        return total

    @curvature_times.register(kind)
    def own_curvature_times(loss, y, eta, weights, Z, out):
        for a in range(Z.shape[0]):
            curvature(loss, y, eta, weights, Z[a], out[a])

    @hessian_of_rows.register(kind)
    def own_hessian_of_rows(loss, y, weights, Z, S, eta, H):
        z, out = np.empty(eta.size), np.empty(eta.size)
        for a in range(S.size):
            for i in range(eta.size):
                z[i] = Z[S[a], i]
            curvature(loss, y, eta, weights, z, out)
            for c in range(a + 1):
                t = 0.0
                for i in range(eta.size):
                    t += out[i] * Z[S[c], i]
                H[a, c] = t
                H[c, a] = t

    unseen.register(kind)(orthogonal_columns)
    null_start.register(kind)(lower_start)


def lower_start(loss, y, offset, weights):
    """The `null_start` of a loss of the user's own: 0, or the mean of y where it is less there."""
    levels = (0.0, float(weights @ y))
    values = [mean_loss(loss, y, offset + level, weights) for level in levels]
    return levels[int(values[1] < values[0])]


# -------------------- checks at the start of a fit


def check_rows(loss, y, weights, intercept):
    """Compare the methods with differences, along random directions at random predictors.

    Parameters
    ----------
    loss : record
        Of a class of `own_loss` with the methods of all rows.
    y, weights : ndarray of shape (n,)
        The response, and sample weights.
    intercept : bool
        Whether an intercept is fitted.

    Raises
    ------
    ValueError
        Naming the method that disagrees, with the numbers.
    """
    seen = weights > 0
    y, weights = y[seen], weights[seen] / weights[seen].sum()
    spread, rng, sees = float(np.std(y)) or 1.0, np.random.default_rng(0), []
    for scale, place in ((1.0, 0.0), (spread, y)):
        eta = place + scale * rng.standard_normal(y.size)
        if place is y and loss.traits.link != "identity" and _overflows(loss, y, eta, weights):
            continue  # y need not be of the size of predictors
        sees.append(_check_at(loss, (y, eta, weights), scale, rng))
    _check_constant(loss, any(sees), intercept)


def _overflows(loss, y, eta, weights):
    """Whether a method has no finite result at a predictor."""
    try:
        with np.errstate(all="ignore"):
            value = loss.value(y, eta, weights)
            slopes, bends = _filled(loss, "slope", y, eta, weights), np.zeros(y.size)
            loss.curvature(y, eta, weights, slopes, bends)
        return not np.isfinite([value, *slopes, *bends]).all()
    except (ArithmeticError, ValueError):
        return True


def _value(loss, y, eta, weights):
    """The value at a predictor as a number; inf where it overflows."""
    try:
        return float(loss.value(y, eta, weights))
    except OverflowError:
        return np.inf


def _filled(loss, name, *arrays):
    """What a method fills, and the arrays that it was given left as they were."""
    out, before = np.full(arrays[0].size, np.nan), [one.copy() for one in arrays]
    getattr(loss, name)(*arrays, out)
    for one, was, argument in zip(arrays, before, TAKEN[name], strict=False):
        if not np.array_equal(one, was):
            raise ValueError(f"{name} of loss {loss.traits.name!r} changes its argument {argument}")
    bad = np.flatnonzero(~np.isfinite(out))
    if bad.size:
        raise ValueError(
            f"{name} of loss {loss.traits.name!r} leaves {out[bad[0]]} in row {bad[0]} of out: it "
            "must fill every row of out with a number, whatever is in it"
        )
    return out


def _check_at(loss, point, scale, rng):
    """`check_rows` at one point (y, eta, weights), by steps in units of `scale`; returns whether
    the loss sees a constant there.
    """
    (y, eta, weights), name = point, loss.traits.name
    move = scale * rng.standard_normal(y.size)
    low, here, high = (
        _value(loss, y, eta + t * move, weights) for t in (-DIFFERENCE_STEP, 0.0, DIFFERENCE_STEP)
    )
    if not np.isfinite([low, here, high]).all():
        raise ValueError(f"value of loss {name!r} is {here} at a random predictor")
    slopes = _filled(loss, "slope", y, eta, weights)
    given, found = float(slopes @ move), (high - low) / (2 * DIFFERENCE_STEP)
    size = float(np.abs(slopes) @ np.abs(move))
    noise = VALUE_ROUNDING * abs(here) / DIFFERENCE_STEP
    if not abs(given - found) <= AGREE * size + noise:
        raise ValueError(
            f"slope of loss {name!r} times a direction is {given:.6g}, but its value changes by "
            f"{found:.6g} along it: slopes must be the derivatives of value in eta, with the "
            "weights in them"
        )
    bends = _filled(loss, "curvature", y, eta, weights, move)
    ahead, behind = (
        _filled(loss, "slope", y, eta + t * move, weights)
        for t in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
    )
    turns = (ahead - behind) / (2 * DIFFERENCE_STEP)
    allowed = BENDS_AGREE * max(float(np.abs(bends).max()), float(np.abs(turns).max()))
    allowed += VALUE_ROUNDING * size / DIFFERENCE_STEP
    far = np.abs(bends - turns)
    i = int(far.argmax())
    if not loss.traits.jumps and not far[i] <= allowed:
        raise ValueError(
            f"curvature of loss {name!r} times a direction z is {bends[i]:.6g} in row {i}, but its "
            f"slope changes by {turns[i]:.6g} along z: out must be the second derivatives in eta "
            "times z (jumps=True if they jump)"
        )
    bend = float(move @ bends)
    if not bend >= -allowed * float(np.abs(move).sum()):
        raise ValueError(
            f"curvature of loss {name!r} is {bend:.6g} along a direction: the loss must be convex "
            "in eta"
        )
    return abs(float(slopes.sum())) > SEES * float(np.abs(slopes).sum())


def _check_constant(loss, sees, intercept):
    """Refuse traits, or an intercept, that do not go with whether the loss sees a constant."""
    name = loss.traits.name
    if sees and not loss.traits.intercept:
        raise ValueError(
            f"loss {name!r} has intercept=False, but a constant added to eta changes its value: "
            "leave intercept= out of l0path.own_loss"
        )
    if not sees and intercept and loss.traits.intercept:
        raise ValueError(
            f"a constant added to eta does not change loss {name!r}, so it has no intercept: pass "
            "intercept=False to l0path.own_loss, or fit_intercept=False to the fit"
        )
