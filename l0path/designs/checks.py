"""Requirements on every design: a matrix of n rows by p columns, n, p > 0, whose entries are real
numbers.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

ENCODE = (
    "encode them as numbers (pandas.get_dummies(X, drop_first=True, dtype=float)), or use the "
    'formula interface l0path.fit("y ~ a + C(b)", data)'
)

DATES = (
    "make numbers of dates: the days since the first, (t - t.min()).dt.days, or parts such as "
    "t.dt.month"
)


def check_shape(shape, name="X"):
    """Raise ValueError unless a shape is (n, p) with n, p > 0."""
    if len(shape) == 1:
        raise ValueError(
            f"{name} has one dimension, shape {shape}, but needs rows and columns. Reshape your "
            "data: "
            "X.reshape(-1, 1) for one feature (X.to_frame() for a Series), X.reshape(1, -1) for "
            "one row"
        )
    if len(shape) != 2:
        raise ValueError(
            f"{name} has {len(shape)} dimensions, shape {shape}, but needs two: rows and columns; "
            "reshape it to (n, p)"
        )
    if shape[0] == 0:
        raise ValueError(
            f"{name} has 0 sample(s) (shape={shape}) while a minimum of 1 is required; pass at "
            "least one row"
        )
    if shape[1] == 0:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={shape}) while a minimum of 1 is required; pass at "
            "least one column"
        )


def check_dtype(dtype, name="X"):
    """Refuse an array whose entries are not real numbers."""
    if dtype.kind == "c":
        raise TypeError(
            f"Complex data not supported: {name} has dtype {dtype}; pass the real and imaginary "
            "parts as separate columns"
        )
    if dtype.kind not in "fiub":
        remedy = (
            f"if every value is a number, pass {name}.astype(float); otherwise "
            if dtype.kind in "OUS"
            else ""
        )
        raise TypeError(f"{name} has dtype {dtype}, not numbers; {remedy}{ENCODE}")


def checked_columns(J: np.ndarray, p: int) -> np.ndarray:
    """J as an index array, negative numbers counted from the end. IndexError where one is out of
    range.
    """
    J = np.ascontiguousarray(J, dtype=np.intp).reshape(-1)
    if J.size and (J.min() < -p or J.max() >= p):
        raise IndexError(
            f"column {J.max() if J.max() >= p else J.min()} is out of range for a design of {p} "
            "columns"
        )
    return np.where(J < 0, J + p, J)


def right_hand_sides(correlate: Callable) -> Callable:
    """A design's correlate(R (n, m) float64, start, stop) as it is called: with R (n,) too, and
    `stop` left out for all columns. ValueError where R has other rows.
    """

    @wraps(correlate)
    def method(self, R, start=0, stop=None):
        R = np.asarray(R, dtype=np.float64)
        if R.shape[0] != self.n:
            raise ValueError(f"R has {R.shape[0]} rows but the design has {self.n}")
        out = correlate(
            self, R[:, None] if R.ndim == 1 else R, start, self.p if stop is None else stop
        )
        return out[:, 0] if R.ndim == 1 else out

    return method
