"""The matrix that formulaic makes of rows, with errors that name the formula, and the check of the
levels of new rows.
"""

import functools
import warnings

import numpy as np
import pandas as pd
import scipy

from ..core.arguments import shown
from .expressions import INTERCEPT, calm, column_of
from .tree import Values, compute, read

# what is not finite is refused by name
QUIET = {"over": "ignore", "invalid": "ignore", "divide": "ignore"}


def model_matrix(formula, spec, rows, learning=False):
    """formulaic's matrix of rows, with expressions computed by `tree`; its errors, with the formula
    named. learning: transforms learn from the rows.
    """
    from formulaic.errors import DataMismatchWarning

    types, rows = pd.api.types, rows.reset_index(drop=True)
    env = formula.known(left=False)
    plain = {name for factor in formula.factors() if isinstance(factor, tuple) for name in factor}
    for name, dtype in rows.dtypes.items():
        if name in plain and (
            not (
                types.is_numeric_dtype(dtype)
                or types.is_object_dtype(dtype)
                or isinstance(dtype, pd.CategoricalDtype)
            )
            or types.is_complex_dtype(dtype)
        ):
            raise TypeError(
                f"formula {formula.text!r}: column {name} has dtype {dtype}; convert it to "
                f"numbers, or write C({name}) for categories"
            )
    try:
        with np.errstate(**QUIET), warnings.catch_warnings():
            warnings.simplefilter("error", category=DataMismatchWarning)
            matrix = _materializer()(rows, env, learning).get_model_matrix(spec)
    except Exception as error:  # formulaic's own, and whatever an expression raises
        hint = (
            "; its columns are complete there, so the expression makes them: change it, or "
            "drop those rows of data"
            if "contains null values" in str(error)
            else ""
        )
        raise ValueError(f"formula {formula.text!r}: {calm(error)}{hint}") from error
    return matrix


@functools.cache
def _materializer():
    """formulaic's way from rows to columns, which looks names up in the rows only and leaves
    expressions to `tree`.
    """
    from formulaic.materializers import PandasMaterializer
    from interface_meta import override

    class Materializer(PandasMaterializer):
        """Rows, functions of the user's own, and whether transforms learn."""

        def __init__(self, rows, env, learning):
            super().__init__(rows)
            self.columns, self.env, self.learning = dict(rows.items()), env, learning

        @override
        def _lookup(self, name):
            return self.columns[name], set()

        @override
        def _evaluate(self, expr, metadata, spec):
            values = Values(self.columns, self.env, spec.transform_state, self.learning)
            value = compute(read(expr), values)
            return (np.full(self.nrows, value) if np.isscalar(value) else value), set()

    return Materializer


def columns_of(matrix, output, index):
    """X: the matrix of formulaic without its intercept."""
    terms = matrix.model_spec.term_indices
    kept = [j for term, at in terms.items() if str(term) != INTERCEPT for j in at]
    if output == "sparse":
        return scipy.sparse.csc_array(matrix.__wrapped__)[:, kept]
    return matrix.__wrapped__.iloc[:, kept].set_axis(index)


def _kind(level):
    """What kind of value a level is."""
    if isinstance(level, str):
        return "texts"
    if isinstance(level, (bool, np.bool_)):
        return "True and False"
    return "numbers" if isinstance(level, (int, float, np.number)) else type(level).__name__


def check_levels(levels, rows):
    """Refuse levels that the fit has not seen, and text where it had numbers."""
    for expr, (kind, state) in levels.items():
        if (
            kind == "numerical"
            and expr in rows.columns
            and not pd.api.types.is_numeric_dtype(rows[expr].dtype)
        ):
            raise ValueError(
                f"column {expr} has dtype {rows[expr].dtype}, in the fit it held numbers; convert "
                f"it, such as pd.to_numeric(X[{expr!r}])"
            )
        known, column = state.get("categories"), column_of(expr, rows.columns)
        new = (
            []
            if known is None or column is None
            else sorted(set(rows[column].unique()) - set(known), key=str)
        )
        if new:
            first = new[0].item() if isinstance(new[0], np.generic) else new[0]
            kinds = {_kind(level) for level in known}
            if _kind(first) not in kinds and len(kinds) == 1:
                what = kinds.pop()
                remedy = f", such as X[{column!r}].astype(str)" if what == "texts" else ""
                raise ValueError(
                    f"column {column} has the level {shown(first)}, and in the fit it held {what}, "
                    f"{', '.join(map(shown, known[:8]))}{', ...' if len(known) > 8 else ''}; "
                    f"convert the column to {what}{remedy}"
                )
            raise ValueError(
                f"column {column} has the level {first!r}, which the fit has not seen (it has "
                f"{', '.join(map(str, known[:8]))}{', ...' if len(known) > 8 else ''}); "
                "drop these rows, or fit again with rows of that level"
            )
