"""Losses of the user's own: a class of numbers with value, slope and curvature of one row."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..losses import NAMES, OWN_LOSSES
from ..traits import LossTraits
from ..verbs import curvature, slope, value

POINTS = np.array([-1.5, -0.4, 0.3, 1.1])  # where slopes are checked, in units of the spread of y
DIFFERENCE = 1e-5
SLOPES_AGREE = 1e-4  # relative agreement of slopes and differences
CHECKED_ROWS = 20


def own_loss(
    name: str, *, link: str = "", jumps: bool = False, largest_curvature: float = np.inf
) -> Callable[[type], type]:
    """Decorator that makes a class of numbers a loss which `fit(loss=...)` takes.

    The class is a `typing.NamedTuple` with three methods of one row, (self, y, eta): `value`, a
    convex function of the linear predictor eta; `slope` and `curvature`, its first and second
    derivative in eta. Numba compiles them, so they are plain arithmetic on numbers and `math`. The
    response is real.

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
        An upper bound of the curvature over all y and eta; inf if there is none.

    Returns
    -------
    callable
        The decorator, which returns the class that it is given.

    Raises
    ------
    ValueError
        If the name is that of a loss of the package.
    TypeError
        If the class is not a NamedTuple with the three methods.

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
    if not isinstance(name, str) or not name or name in NAMES:
        raise ValueError(f"name={name!r} must be a text that is not a loss of the package")
    if link not in ("", "identity", "log"):
        raise ValueError(f"link={link!r} is not known; choose '', 'identity' or 'log'")

    def register(kind: type) -> type:
        verbs = {"value": value, "slope": slope, "curvature": curvature}
        missing = [verb for verb in verbs if not callable(getattr(kind, verb, None))]
        if missing or not (issubclass(kind, tuple) and isinstance(kind._fields, tuple)):
            raise TypeError(
                f"{kind.__name__} must be a typing.NamedTuple with the methods value, slope and "
                f"curvature of (self, y, eta); it lacks {missing or 'the base NamedTuple'}"
            )
        bounded = bool(np.isfinite(largest_curvature))
        kind.traits = LossTraits(
            name,
            "real",
            float(largest_curvature),
            jumps,
            0.02 if jumps and bounded else 0.0,
            link=link,
            bounded=bounded,
        )
        for verb, generic in verbs.items():
            generic.register(kind)(_plain(getattr(kind, verb)))
        OWN_LOSSES[name] = kind
        return kind

    return register


def _plain(method):
    """A method as a function (loss, y, eta), the names that verbs ask for."""
    from numba import njit

    compiled = njit(method)

    def row(loss, y, eta):
        return compiled(loss, y, eta)

    return row


def check_derivatives(loss: Any, y: np.ndarray) -> None:
    """Compare slope and curvature with differences, on some rows and predictors around them.

    Parameters
    ----------
    loss : record
        Of a class that `own_loss` made a loss.
    y : ndarray of shape (n,)
        The response.

    Raises
    ------
    ValueError
        Naming the method that disagrees, with the numbers.
    """
    spread = float(np.std(y)) or 1.0
    rows = y[:: max(y.size // CHECKED_ROWS, 1)][:CHECKED_ROWS]
    for one in rows.tolist():
        for eta in (one + spread * POINTS).tolist() if loss.traits.link != "log" else POINTS:
            _check_point(loss, float(one), float(eta), DIFFERENCE * max(spread, abs(eta), 1e-8))


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
