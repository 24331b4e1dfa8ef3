"""Warnings of the package; errors are the built-in ValueError, TypeError, LookupError with the
argument, its value and the remedy.
"""

import numpy as np

__all__ = ["ConvergenceWarning", "SeparationWarning"]


class SeparationWarning(UserWarning):
    """A support separates the classes, completely or for some rows only (under the Poisson
    loss: sends rates to zero), so its coefficients have no finite optimum without shrinkage.
    """


class ConvergenceWarning(UserWarning):
    """A restricted optimum was not reached to the wanted accuracy."""


def refuse_masked(value, name):
    """ValueError where a masked array hides entries: NumPy would use the data under the mask.

    Parameters
    ----------
    value : object
        What a user gave.
    name : str
        Its argument.
    """
    if np.ma.is_masked(value):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(value)} masked entries; drop those "
            f"rows or entries, or give them values and pass {name}.filled(value)"
        )


def check_tol(tol):
    """ValueError unless 0 < tol <= 1e-4: with a looser one claims of optimality mean nothing."""
    number = isinstance(tol, (int, float, np.integer, np.floating))
    if not (number and 0.0 < tol <= 1e-4):
        raise ValueError(f"tol={tol!r} must be a positive number, at most 1e-4 (default 1e-8)")
