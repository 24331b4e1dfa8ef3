"""Losses of the user's own: a class of numbers with value, slope and curvature of one row, or of
all rows (`coupled.own`).

Numba compiles the methods of a class with the decorator `own_loss`. Kernels call those of a class
without it through ctypes, and Python runs them.
"""

import ctypes
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...core.dispatch import compiled_method, njit
from ...core.warnings import warn_user
from ..coupled.own import (
    TAKEN,
    called_back_rows,
    check_rows,
    lower_start,
    of_all_rows,
    register_rows,
)
from ..losses import ALIASES, COUPLED, EXACT, NAMES, OWN_LOSSES, SEVERAL
from ..responses import EPS, null_start, rounding, saturated
from ..traits import LossTraits
from ..verbs import curvature, slope, value

POINTS = np.array([-1.5, -0.4, 0.3, 1.1])  # where slopes are checked, in units of the spread of y
DIFFERENCE = 1e-5
SLOPES_AGREE = 1e-4  # relative agreement of slopes and differences
CHECKED_ROWS = 20
OWN_FARTHEST = 2.0**60  # |eta| up to which the least value of a row is looked for
OWN_HALVINGS = 1100  # at most, of an interval of doubles
RUN_BY_PYTHON = set()  # classes without the decorator
ROW_VERBS = {"value": value, "slope": slope, "curvature": curvature}


def own_loss(
    name: str,
    *,
    link: str = "",
    jumps: bool = False,
    largest_curvature: float = np.inf,
    intercept: bool = True,
) -> Callable[[type], type]:
    """Decorator that makes a class of numbers a loss which `fit(loss=...)` takes.

    The class is a `typing.NamedTuple` with three methods of one row, (self, y, eta): `value`, a
    convex function of the linear predictor eta; `slope` and `curvature`, its first and second
    derivative in eta. Numba compiles them, so they are plain arithmetic on numbers and `math`. The
    response is real.

    A loss that is no sum over rows has methods of all rows, arrays (n,), with weights that are
    positive and sum to one: `value` (self, y, eta, weights), a number; `slope` (self, y, eta,
    weights, out), which fills out with the derivatives; and `curvature` (self, y, eta, weights, z,
    out), which fills out with the matrix of second derivatives times z.

    A record of such a class without the decorator is a loss of the name of the
    class, without a link and a bound of its curvature, whose methods Python runs: they may do
    anything, but such a fit is much slower.

    Parameters
    ----------
    name : str
        The name of the loss in the output.
    link : {"", "identity", "log"}, default ""
        The function of the mean of y that the linear predictor is. With "" predictions are the
        linear predictor, and the deviance is the loss itself.
    jumps : bool, default False
        Whether the curvature jumps, as that of the Huber loss does.
    largest_curvature : float, default inf
        An upper bound of the curvature of a row over all y and eta; inf if there is none.
    intercept : bool, default True
        Whether an intercept can be fitted. False for a loss of all rows that a constant added to
        eta does not change: its columns are centered as with an intercept.

    Returns
    -------
    callable
        The decorator, which returns the class that it is given.

    Raises
    ------
    ValueError
        If the name is that of a loss of the package.
    TypeError
        If the class is not a NamedTuple with the three methods, or these take other arguments.

    Examples
    --------
    >>> import math, numpy as np, l0path
    >>> from typing import NamedTuple
    >>> @l0path.own_loss("half_square", link="identity", largest_curvature=1.0)
    ... class HalfSquare(NamedTuple):
    ...     def value(self, y, eta):
    ...         return 0.5 * (y - eta) ** 2
    ...
    ...     def slope(self, y, eta):
    ...         return eta - y
    ...
    ...     def curvature(self, y, eta):
    ...         return 1.0
    >>> HalfSquare.traits.name
    'half_square'
    """
    if link not in ("", "identity", "log"):
        raise ValueError(f"link={link!r} is not known; choose '', 'identity' or 'log'")
    if not largest_curvature > 0:
        raise ValueError(f"largest_curvature={largest_curvature!r} must be positive, inf for none")

    def register(kind: type) -> type:
        missing = [verb for verb in ROW_VERBS if not callable(getattr(kind, verb, None))]
        if missing or not _is_record(kind):
            raise TypeError(
                f"{kind.__name__} must be a typing.NamedTuple with the methods value, slope and "
                "curvature of (self, y, eta), or of all rows; it lacks "
                f"{missing or 'the base NamedTuple'}"
            )
        if of_all_rows(kind):
            _refuse_of_one_row(name, largest_curvature)
            _register(kind, _traits_of_rows(name, link, jumps, bool(intercept)), False)
            return kind
        if not intercept:
            raise ValueError(f"intercept=False is for methods of all rows, not those of {name!r}")
        bounded = bool(np.isfinite(largest_curvature))
        floor = 0.02 if jumps and bounded else 0.0
        most = float(largest_curvature)
        more = {"link": link, "bounded": bounded}
        _register(kind, LossTraits(name, "real", most, jumps, floor, **more), False)
        return kind

    _refuse_name(name)
    return register


def take_undecorated(loss: Any) -> None:
    """Make the class of a record a loss that Python runs, if it has the three methods and is not a
    loss. It is said once for each class. Arrays, lists and texts in the record of a loss are
    refused.
    """
    kind = type(loss)
    if kind in OWN_LOSSES.values():
        fields = loss._asdict().items()
        odd = [
            name for name, one in fields if isinstance(one, str) or not isinstance(one, Hashable)
        ]
        _refuse_fields(loss, odd)
    undecorated = _is_record(kind) and "traits" not in vars(kind)
    if not (undecorated and all(callable(getattr(kind, verb, None)) for verb in ROW_VERBS)):
        return
    _refuse_name(kind.__name__)
    odd = [name for name, number in loss._asdict().items() if not isinstance(number, (int, float))]
    _refuse_fields(loss, odd)
    traits = LossTraits(kind.__name__, "real", np.inf, jumps=False, bounded=False)
    if of_all_rows(kind):
        traits = _traits_of_rows(kind.__name__)
    _register(kind, traits, True)
    warn_user(
        UserWarning(
            f"Python runs the loss {kind.__name__}, which is slow; with the decorator "
            "l0path.own_loss numba compiles it"
        )
    )


def _refuse_fields(loss, odd):
    """TypeError for fields of these names."""
    if odd:
        raise TypeError(
            f"the field {odd[0]} of {type(loss).__name__} must be a number; methods may read other "
            "things from variables outside the class"
        )


def record_named(name):
    """The record of a loss of the user's own without numbers, or with those of its class."""
    kind = OWN_LOSSES[name]
    needed = [field for field in kind._fields if field not in kind._field_defaults]
    if needed:
        raise ValueError(
            f"loss={name!r} needs the numbers {', '.join(needed)}: pass a record, "
            f"loss={kind.__name__}({needed[0]}=...)"
        )
    return kind()


def _is_record(kind):
    """Whether a class is a NamedTuple."""
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def _refuse_name(name):
    """ValueError for a name that stands for a loss of the package."""
    taken = (NAMES, ALIASES, EXACT, SEVERAL, COUPLED)
    if not isinstance(name, str) or not name or any(name in names for names in taken):
        raise ValueError(f"name={name!r} must be a text that is not a loss of the package")


def _traits_of_rows(name, link="", jumps=False, intercept=True):
    """The `LossTraits` of a class with methods of all rows."""
    more = {"bounded": False, "coupled": True, "intercept": intercept}
    return LossTraits(name, "real", np.inf, jumps, link=link, **more)


def _refuse_of_one_row(name, largest_curvature):
    """Refuse what is said of the curvature of one row, for methods of all rows."""
    if np.isfinite(largest_curvature):
        raise ValueError(
            f"largest_curvature={largest_curvature!r} is for methods of one row, and those of "
            f"{name!r} are of all rows; leave it out"
        )


def _register(kind, traits, by_python):
    """Make a class a loss, whose methods Python runs or numba compiles."""
    kind.traits = traits
    if by_python:
        RUN_BY_PYTHON.add(kind)
    if traits.coupled:
        register_rows(kind, called_back_rows if by_python else compiled_method)
    else:
        for verb, generic in ROW_VERBS.items():
            generic.register(kind)((_called_back if by_python else _compiled)(kind, verb))
        saturated.register(kind)(_least)
        null_start.register(kind)(lower_start)
        rounding.register(kind)(_rounding)
    kind.__reduce__ = _reduced
    OWN_LOSSES[traits.name] = kind


def _reduced(record):
    """`__reduce__` of a record: processes that get one know the loss."""
    kind = type(record)
    return _restored, (kind, kind.traits, kind in RUN_BY_PYTHON, tuple(record))


def _restored(kind, traits, by_python, numbers):
    """A record in another process."""
    if kind not in OWN_LOSSES.values():
        _register(kind, traits, by_python)
    return kind(*numbers)


def _compiled(kind, verb):
    """A compiled method."""
    compiled = compiled_method(kind, verb)

    def row(loss, y, eta):
        return compiled(loss, y, eta)

    return row


def _called_back(kind, verb):
    """A method that Python runs, as kernels call it: by numbers alone, those of the record first.
    An error, which cannot pass a kernel, is a warning, and the result NaN. Where `math` overflows
    it is inf, as in compiled code, but NaN for a slope, whose sign is not known.
    """
    from numba import config

    method, fields = getattr(kind, verb), len(kind._fields)

    def called(*numbers):
        try:
            return float(method(kind(*numbers[:fields]), *numbers[fields:]))
        except OverflowError:
            return np.nan if verb == "slope" else np.inf
        except Exception as error:
            warn_user(RuntimeWarning(f"{verb} of loss {kind.__name__!r}: {error!r}"))
            return np.nan

    if config.DISABLE_JIT:
        return method
    callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * (fields + 3))(called)
    scope = {"callback": callback}
    numbers = "".join(f"float(loss[{i}]), " for i in range(fields))
    exec(f"def row(loss, y, eta): return callback({numbers}float(y), float(eta))", scope)
    return scope["row"]


# -------------------- the least value of a row


@njit
def _least_of_rows(loss, y, out):
    """Fill out (n,) with the least value of each row: halving between points where the slope is not
    positive and not negative. -inf where there are none, or no finite value there.
    """
    for i in range(y.size):
        out[i] = -np.inf
        low, high = -1.0, 1.0
        while slope(loss, y[i], low) > 0.0 and low > -OWN_FARTHEST:
            low *= 2.0
        while slope(loss, y[i], high) < 0.0 and high < OWN_FARTHEST:
            high *= 2.0
        if not (slope(loss, y[i], low) <= 0.0 <= slope(loss, y[i], high)):
            continue
        for _ in range(OWN_HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            if slope(loss, y[i], middle) < 0.0:
                low = middle
            else:
                high = middle
        least = min(value(loss, y[i], low), value(loss, y[i], high))
        if abs(least) < np.inf:
            out[i] = least


def _least(loss, y):
    """(n,) the least value of each row, -inf where it is not known."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    out = np.empty(y.size)
    _least_of_rows(loss, y, out)
    return out


def _rounding(loss, y, weights, size):
    """That of the mean of the least values."""
    least = _least(loss, y)
    return 16 * EPS * float(weights @ np.where(np.isfinite(least), np.abs(least), 0.0))


# -------------------- checks at the start of a fit


def _check_compiles(loss):
    """TypeError where numba cannot compile a method."""
    from numba import config, float64, typeof
    from numba.core.errors import NumbaError

    kind = type(loss)
    if config.DISABLE_JIT:
        return
    for verb in ROW_VERBS:
        given = (float64, float64)
        if loss.traits.coupled:
            given = (float64[::1],) * len(TAKEN[verb])
        try:
            compiled_method(kind, verb).compile((typeof(loss), *given))
        except (NumbaError, ValueError) as error:
            raise TypeError(
                f"numba cannot compile {verb} of {kind.__name__}, a loss by l0path.own_loss: "
                f"{_reason(str(error))}; use arithmetic on numbers and math, or leave the "
                "decorator out, so that Python runs it (slower)"
            ) from None


def _reason(told):
    """The line of an error of numba that says why, and that with the place."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in")] or lines
    why = next((line for line in lines if line.startswith("TypingError")), lines[0])
    places = [line.rstrip(":") for line in lines if line.startswith("File ")]
    return f"{why} ({places[-1]})" if places else why


def check_derivatives(loss: Any, y: np.ndarray, weights: np.ndarray, intercept: bool) -> None:
    """Compare slope and curvature with differences, on some rows and predictors around them; see
    `coupled.own.check_rows` for methods of all rows.

    Parameters
    ----------
    loss : record
        Of a class that `own_loss` made a loss.
    y, weights : ndarray of shape (n,)
        The response, and sample weights.
    intercept : bool
        Whether an intercept is fitted.

    Raises
    ------
    ValueError
        Naming the method that disagrees, with the numbers.
    TypeError
        If numba cannot compile a method that it should.
    """
    if loss.traits.coupled:
        check_rows(loss, y, weights, intercept)
        if type(loss) not in RUN_BY_PYTHON:
            _check_compiles(loss)
        return
    far = loss.traits.link != "log"
    spread = float(np.std(y)) or 1.0 if far else 1.0
    rows = y[:: max(y.size // CHECKED_ROWS, 1)][:CHECKED_ROWS]
    for one in rows.tolist():
        for eta in (one * far + spread * POINTS).tolist():
            _check_point(loss, float(one), float(eta), DIFFERENCE * max(spread, abs(eta), 1e-8))
            for at in (float(eta), float(one)):
                _check_largest(loss, float(one), at)
    if type(loss) not in RUN_BY_PYTHON:
        _check_compiles(loss)


def _check_point(loss, y, eta, h):
    """`check_derivatives` at one row."""
    low, middle, high = (float(loss.value(y, at)) for at in (eta - h, eta, eta + h))
    where = f"at y = {y:.4g}, eta = {eta:.4g}"
    if not np.isfinite([low, middle, high]).all():
        raise ValueError(f"value of loss {loss.traits.name!r} is {middle} {where}")
    given, found = float(loss.slope(y, eta)), (high - low) / (2 * h)
    noise = 1e-15 * max(abs(low), abs(high)) / h
    if not abs(given - found) <= SLOPES_AGREE * max(abs(found), abs(given)) + 10 * noise + 1e-7:
        raise ValueError(
            f"slope of loss {loss.traits.name!r} is {given:.6g} {where}, but its value changes by "
            f"{found:.6g}: it must be the derivative of value in eta"
        )
    bend = float(loss.curvature(y, eta))
    if not bend >= 0:
        raise ValueError(
            f"curvature of loss {loss.traits.name!r} is {bend:.6g} {where}: the loss must be "
            "convex in eta"
        )
    turn = (float(loss.slope(y, eta + h)) - float(loss.slope(y, eta - h))) / (2 * h)
    if not loss.traits.jumps and not abs(bend - turn) <= 1e-3 * max(abs(turn), abs(bend)) + 1e-5:
        raise ValueError(
            f"curvature of loss {loss.traits.name!r} is {bend:.6g} {where}, but its slope changes "
            f"by {turn:.6g}: it must be the second derivative in eta (jumps=True if it jumps)"
        )


def _check_largest(loss, y, eta):
    """The bound of the curvature, at one row, where one is given."""
    most = loss.traits.smoothness
    bend = float(loss.curvature(y, eta)) if np.isfinite(most) else 0.0
    if bend > (1.0 + 1e-9) * most:
        raise ValueError(
            f"curvature of loss {loss.traits.name!r} is {bend:.6g} at y = {y:.4g}, eta = "
            f"{eta:.4g}, above largest_curvature={most:.6g}: it must bound the curvature of every "
            "y and eta (inf where nothing does)"
        )
