"""The estimates of a refit as the table of a paper, for `Refit.estimates`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..core.arguments import flag
from ..core.arguments import level as checked_level
from ..core.printed import PaperTable
from ..paths.comparison import ratios_of
from .refit_results import quiet, selected
from .separated_refits import estimated

OMITTED = "There are no p-values, which would be too small; p_values=True shows them all the same."


def estimates(
    results: Any, level: float, exponentiate: bool, p_values: bool | None
) -> pd.DataFrame:
    """The table of a refit; arguments as of `Refit.estimates`."""
    checked_level(level)
    if p_values is not None:
        flag(p_values, "p_values")
    path, s, rows, _ = results.origin
    ratios = ratios_of(path, refitted=True) if flag(exponentiate, "exponentiate") else ""
    with quiet(results):
        table = results.conf_int(1.0 - level)
        values = pd.DataFrame(estimated(results)).to_numpy(dtype=float).ravel(order="F")
        p = pd.DataFrame(results.pvalues).to_numpy(dtype=float).ravel(order="F")
    # numbers of the loss, such as theta, come last and are no coefficients
    several = path._meta.traits.by_class
    own = s.support.size + int(path._meta.intercept and not path._meta.ordered)
    own = len(values) if several or path._meta.ordered else own
    name = ratios.split(" against")[0].replace("ratios", "ratio").replace(" ", "_") or "estimate"
    numbers = {name: values, "lower": table.iloc[:, 0], "upper": table.iloc[:, 1]}
    out = PaperTable({name: np.asarray(v)[:own] for name, v in numbers.items()}, table.index[:own])
    if several:
        out.index.names = ["class", "feature"]
    if ratios:
        with np.errstate(over="ignore"):
            out[:] = np.exp(out)
    note = results.selection[0].upper() + results.selection[1:] + "."
    if p_values or (p_values is None and not selected(s, path, rows)):
        out["p_value"] = p[:own]
    elif p_values is None:
        note = f"{OMITTED} {note}"
    about = path._meta.about or path._meta.response
    what = (ratios[0].upper() + ratios[1:] if ratios else "Coefficients") + (
        f" of {about}" if about else ""
    )
    title = f"{what}, with intervals of {100 * level:g} %, {rows.design.n} rows"
    out.attrs = {"title": title, "note": note, "level": level}
    return out
