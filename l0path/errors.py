"""Warnings of the package; errors are the built-in ValueError, TypeError, LookupError with the
argument, its value and the remedy.
"""


class SeparationWarning(UserWarning):
    """A support predicts every class without error, so its coefficients have no finite optimum
    without shrinkage.
    """


class ConvergenceWarning(UserWarning):
    """A restricted optimum was not reached to the wanted accuracy."""
