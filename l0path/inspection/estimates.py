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

PRINTED = {"p_value": "p-value"}  # other names have their underscores replaced by blanks

OMITTED = "There are no p-values, which would be too small; p_values=True shows them all the same."


class Estimates(PaperTable):
    """Coefficients, or ratios, with the ends of their intervals, and p-values."""

    def formatted(self, digits: int = 4) -> pd.DataFrame:
        """The table as short texts of `digits` significant digits."""
        shown = {
            name: [_p_value(v) if name == "p_value" else _text(v, digits) for v in self[name]]
            for name in self.columns
        }
        return pd.DataFrame(shown, index=self.index, dtype=object)

    def _printed(self, digits):
        shown = self.formatted(digits)
        rows = [
            [", ".join(map(str, name)) if isinstance(name, tuple) else str(name), *cells]
            for name, *cells in shown.itertuples(name=None)
        ]
        head = [PRINTED.get(name, name.replace("_", " ")) for name in shown.columns]
        return head, {"": rows}


def _text(value, digits):
    return "" if np.isnan(value) else f"{value:#.{digits}g}".removesuffix(".")


def _p_value(value):
    return "" if np.isnan(value) else "<0.0001" if value < 1e-4 else f"{value:.4f}"


def estimates(
    results: Any, level: float, exponentiate: bool, p_values: bool | None
) -> pd.DataFrame:
    """The `Estimates` of a refit; arguments as of `Refit.estimates`."""
    checked_level(level)
    if p_values is not None:
        flag(p_values, "p_values")
    path, s, rows, _ = results.origin
    ratios = ratios_of(path, refitted=True) if flag(exponentiate, "exponentiate") else ""
    with quiet(results):
        table = results.conf_int(1.0 - level)
        values = pd.DataFrame(results.params).to_numpy(dtype=float).ravel(order="F")
        p = pd.DataFrame(results.pvalues).to_numpy(dtype=float).ravel(order="F")
    # numbers of the loss, such as theta, come last and are no coefficients
    several = path.classes is not None and path._meta.responses is not None
    own = s.support.size + int(path._meta.intercept and not path._meta.ordered)
    own = len(values) if several or path._meta.ordered else own
    name = ratios.split(" against")[0].replace("ratios", "ratio").replace(" ", "_") or "estimate"
    numbers = {name: values, "lower": table.iloc[:, 0], "upper": table.iloc[:, 1]}
    out = Estimates({name: np.asarray(v)[:own] for name, v in numbers.items()}, table.index[:own])
    if several:
        out.index.names = ["class", "feature"]
    infinite = out.index.isin(getattr(results, "infinite", ()))
    out.loc[infinite, ["lower", "upper"]] = np.nan
    if ratios:
        with np.errstate(over="ignore"):
            out[:] = np.exp(out)
    note = results.selection[0].upper() + results.selection[1:] + "."
    if p_values or (p_values is None and not selected(s, path, rows)):
        out["p_value"] = np.where(infinite, np.nan, p[:own])
    elif p_values is None:
        note = f"{OMITTED} {note}"
    about = path._meta.about or path._meta.response
    what = (ratios[0].upper() + ratios[1:] if ratios else "Coefficients") + (
        f" of {about}" if about else ""
    )
    title = f"{what}, with intervals of {100 * level:g} %, {rows.design.n} rows"
    out.attrs = {"title": title, "note": note, "level": level}
    return out
