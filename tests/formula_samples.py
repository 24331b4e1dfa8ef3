"""Tables that several files of tests of formulas use."""

import numpy as np
import pandas as pd
from lazy import lazy

smf = lazy("statsmodels.formula.api")


def table(n=90, seed=0):
    """A frame of numbers, a factor c of three levels, a whole number b of three values, a flag, a
    name with a space, weights; y depends on a, c and a:c.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(n),
            "x": rng.standard_normal(n),
            "my col": rng.standard_normal(n),
            "c": rng.choice(["u", "v", "w"], n),
            "b": rng.integers(0, 3, n),
            "flag": rng.random(n) > 0.5,
            "w": rng.uniform(0.5, 2.0, n),
        },
        index=[f"r{i}" for i in range(n)],
    )
    frame.insert(
        0,
        "y",
        frame.a
        + 2.0 * (frame.c == "v")
        - 1.5 * frame.a * (frame.c == "w")
        + 0.5 * rng.standard_normal(n),
    )
    return frame


DATA = table()


NEW = table(20, seed=5)


def holes(frame):
    """Missing values in y (1 row), a (2), c (1) and, in a column that no formula here uses,
    many.
    """
    out = frame.copy()
    out.loc["r3", "y"] = out.loc["r7", "a"] = out.loc["r50", "a"] = np.nan
    out.loc["r7", "c"] = out.loc["r20", "c"] = None
    out.loc["r30":"r60", "x"] = np.nan
    return out
