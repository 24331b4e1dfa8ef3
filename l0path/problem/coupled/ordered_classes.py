"""Ordered classes as arguments of `fit`: what loss="ordinal" does not serve, and their codes."""

import numpy as np
import pandas as pd

from ...core.arguments import shown
from .ordinal import Ordinal


def refuse_what_ordinal_lacks(a):
    """Raise ValueError for arguments that the cumulative logit loss has no use for, with the
    remedy.
    """
    if a.fit_intercept is not None and not a.fit_intercept:
        raise ValueError(
            f"fit_intercept={a.fit_intercept!r}: the thresholds of loss='ordinal' are always free; "
            "leave fit_intercept out"
        )
    given = {
        "pos_label": (a.pos_label, "the order of the classes is that of a category dtype"),
    }
    for name, (value, remedy) in given.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} is not served for loss='ordinal'; {remedy}")


def refuse_texts_without_order(series, classes):
    """Raise ValueError for three or more classes with no order but that of the alphabet."""
    ordered = isinstance(series.dtype, pd.CategoricalDtype) and series.cat.ordered
    if ordered or len(classes) == 2 or not any(isinstance(c, str) for c in classes):
        return
    raise ValueError(
        f"y has texts as classes, {', '.join(map(repr, classes[:4]))}, whose order is not known; "
        "pass pd.Categorical(y, categories=[lowest, ..., highest], ordered=True), or numbers"
    )


def ordered_response(codes, classes, weights):
    """(codes (n,) float64, the `Ordinal` loss) of class numbers; every class needs a row of
    positive weight, because it has a threshold.
    """
    mass = np.bincount(codes, weights=weights, minlength=len(classes))
    if not (mass > 0).all():
        raise ValueError(
            f"y has no row of positive weight in the class {shown(classes[int(np.argmin(mass))])}; "
            "leave its rows out"
        )
    return codes.astype(np.float64), Ordinal(len(classes))
