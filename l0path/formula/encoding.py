"""`Formula`: a formula as it was fitted; new rows are encoded by the levels, knots and centres of
the fit.
"""

import builtins
import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arguments import vector
from .expressions import (
    STACKED,
    foreign,
    names_and_terms,
    names_in,
    parse,
    right_side,
)
from .frames import complete, present, readied, text_named, without_contrasts
from .matrices import QUIET, check_levels, columns_of, model_matrix
from .storage import from_stored, restored_spec, to_stored

# functions of the left side that make a response of several columns
LEFT_SIDES = dict.fromkeys(("Surv", STACKED), lambda *columns: np.column_stack(columns))
SPARSE = 100  # levels of all factors together beyond which X is made as a sparse matrix
ARITHMETIC = ("abs", "round", "min", "max")


class Encoded(NamedTuple):
    """The columns that a formula makes of rows: X (n, p) DataFrame, or sparse matrix where there
    are many levels, without the intercept; `index` labels its rows. offset: the column of the table
    that the argument offset= named. A table without a formula (None) is one of these if offset=
    named one of its columns, which X then lacks.
    """

    X: Any
    formula: Any
    index: Any
    offset: str | None = None


class Formula:
    """A formula as it was fitted: `text`, `left` (the response), `intercept`, `names` (p columns of
    X), `terms` [(term, numbers of its columns)], `n_dropped`; encodes new rows by `encode`.

    `missing`: {column: how many rows lack it}, of the columns that cost rows. `kept`: mask of the
    rows of the data that were complete; `table`, `by_row`: the data as they were given, and the
    arguments that go with their rows; in memory only.

    `offsets`: the expressions inside its terms offset(...), whose sum is added to the linear
    predictor; `other_offset`: whether the fit had another offset besides them.

    `example`: {column of the data: (a value of the fit, whether it is a category)}, in the place of
    columns that a prediction does not need.

    `counts_terms`: whether the units of the fit are its terms.

    `state` holds what was learned from the rows: levels, knots, centres. `own`: functions and
    values of the session that the formula uses; neither files nor pickles hold them.
    """

    def __init__(
        self,
        text,
        columns,
        *,
        own=None,
        state=None,
        names=(),
        n_dropped=0,
        index=None,
        output="pandas",
    ):
        (
            self.text,
            self.columns,
            self.own,
            self.state,
            self.names,
            self.n_dropped,
            self.index,
            self.output,
        ) = text, list(columns), own, state, list(names), n_dropped, index, output
        self.terms, self._parsed, self._spec = [], None, None
        self.missing, self.kept, self.blanks, self.example = {}, None, [], {}
        self.table, self.by_row = None, {}
        self.other_offset, self.counts_terms = False, False

    def __getstate__(self):
        return {
            **self.__dict__,
            "own": None,
            "index": None,
            "kept": None,
            "table": None,
            "by_row": {},
            "_parsed": None,
            "_spec": None,
        }

    def __repr__(self):
        return f"<l0path.Formula: {self.text}>"

    # -------------------- what it says

    def parsed(self):
        """(response's expression, terms of the right side, intercept: bool, expressions of
        offsets), checked; `.` stands for the columns that neither the left side nor an offset uses.
        """
        if self._parsed is None:
            self._parsed = parse(self.text, self.columns)
        return self._parsed

    left = property(lambda self: self.parsed()[0], doc="The response's expression.")
    intercept = property(
        lambda self: self.parsed()[2], doc="Whether the right side has an intercept."
    )
    offsets = property(lambda self: self.parsed()[3], doc="Expressions inside offset(...).")

    def factors(self):
        """Factors of the right side: expressions, and names of columns as (name,)."""
        return [
            f.expr if f.eval_method.value == "python" else (f.expr,)
            for term in self.parsed()[1]
            for f in term.factors
            if f.eval_method.value != "literal"
        ]

    def used(self, left=False):
        """Names of the columns that the right side (left=True: the left side) uses, in their
        order.
        """
        if left and self.left in self.columns:
            return [self.left]
        names = (
            names_in(self.left)
            if left
            else {
                name
                for factor in self.factors()
                for name in (factor if isinstance(factor, tuple) else names_in(factor))
            }.union(*map(names_in, self.offsets))
        )
        return [name for name in self.columns if name in names]

    def _expressions(self):
        """Python expressions on either side."""
        return [
            *([] if self.left in self.columns else [self.left]),
            *(factor for factor in self.factors() if isinstance(factor, str)),
            *self.offsets,
        ]

    def _direct(self):
        """Names of the columns where every term is one, so that, if they hold numbers, nothing is
        to be encoded; else None.
        """
        factors = self.factors()
        return (
            [factor[0] for factor in factors]
            if len(factors) == len(self.parsed()[1])
            and all(isinstance(factor, tuple) for factor in factors)
            else None
        )

    def _environment(self, frame):
        """{name: value} of the session for the names that are neither columns nor transforms;
        ValueError for those that are nowhere.
        """
        from formulaic.transforms import TRANSFORMS

        plain, columns = (
            {
                name: None
                for factor in self.factors()
                if isinstance(factor, tuple)
                for name in factor
            },
            set(self.columns),
        )
        inside = [name for expr in self._expressions() for name in names_in(expr)]
        out = {}
        for name in dict.fromkeys([*plain, *inside]):
            if name in columns or (
                name not in plain
                and (name in TRANSFORMS or name in vars(builtins) or name in LEFT_SIDES)
            ):
                continue
            if name == "cbind" and self.left.startswith("cbind("):
                raise ValueError(
                    f"formula {self.text!r}: {self.left} counts successes and failures; write "
                    'the two with + between, as in "a + b ~ x" or "a + {n - a} ~ x", and pass '
                    "loss='binomial'"
                )
            if name == "strata" and name not in plain:
                raise ValueError(
                    f"formula {self.text!r}: strata are no term of the formula; leave strata(...) "
                    "out, and name the column by the argument strata="
                )
            if name in plain or (name not in frame.f_locals and name not in frame.f_globals):
                shown = ", ".join(self.columns[:12]) + (", ..." if len(self.columns) > 12 else "")
                raise ValueError(
                    f"formula {self.text!r}: data has no column {name!r}; the columns are {shown} "
                    "(a name with spaces or signs is written in backticks)"
                )
            out[name] = frame.f_locals.get(name, frame.f_globals.get(name))
        return out

    # -------------------- rows

    def learn(self, data):
        """`Encoded` of complete rows, from which levels, knots and centres are taken."""
        from formulaic import ModelSpec

        rows = present(readied(data, self.used()))
        self.example = {
            name: (column.iloc[0], isinstance(column.dtype, pd.CategoricalDtype))
            for name, column in rows.items()
        }
        coded = {
            name for f in self.factors() if isinstance(f, str) and "C(" in f for name in names_in(f)
        }
        levels = sum(
            rows[name].nunique()
            for name, dtype in rows.dtypes.items()
            if name in coded
            or pd.api.types.is_object_dtype(dtype)
            or isinstance(dtype, pd.CategoricalDtype)
        )
        direct = self._direct()
        if direct is not None and all(
            isinstance(dtype, np.dtype) and dtype.kind in "iufb" for dtype in rows.dtypes
        ):
            self.names, self.terms = direct, [(name, [j]) for j, name in enumerate(direct)]
            self.state = {"transforms": {}, "levels": {name: ("numerical", {}) for name in direct}}
            return Encoded(rows[direct], self, data.index)
        self.output = "sparse" if levels > SPARSE else "pandas"
        spec = ModelSpec.from_spec(right_side(self), output=self.output, na_action="raise")
        matrix = model_matrix(self, spec, rows)
        self._spec = matrix.model_spec
        self.names, self.terms = names_and_terms(self._spec)
        if not self.names:
            raise ValueError(
                f"formula {self.text!r} makes no column: its factors have one level only"
            )
        self.state = {
            "transforms": copy.deepcopy(self._spec.transform_state),
            "levels": {
                expr: (kind.value, without_contrasts(state))
                for expr, (kind, state) in self._spec.encoder_state.items()
            },
        }
        return Encoded(columns_of(matrix, self.output, data.index), self, data.index)

    def needed(self, features):
        """Names of the columns of the data that some features (numbers of columns of X) are made
        of; all that are used where a file of an older version does not tell.
        """
        columns = {
            str(term): {
                name
                for f in term.factors
                if f.eval_method.value != "literal"
                for name in ([f.expr] if f.eval_method.value == "lookup" else names_in(f.expr))
            }
            for term in self.parsed()[1]
        }
        used, wanted = self.used(), set(np.asarray(features).tolist())
        names = set().union(*map(names_in, self.offsets))
        if not self.example or not {term for term, _ in self.terms} <= set(columns):
            return used
        for term, at in self.terms:
            if wanted & set(at):
                names |= columns[term]
        return [name for name in used if name in names]

    def _filled(self, data, needed):
        """data (rows by columns) of which only the columns `needed` count: the others hold a value
        of the fit.
        """
        m, others = len(data), [name for name in self.used() if name not in needed]
        out = {name: data[name].array for name in needed}
        for name in others:
            value, category = self.example[name]
            out[name] = pd.Categorical([value] * m) if category else [value] * m
        return pd.DataFrame(out, index=data.index)

    def encode(self, data, features=None):
        """`Encoded` of new rows: levels, knots and centres are those of the fit. ValueError for
        missing columns and values, and for levels that the fit has not seen. features: the columns
        of X that are asked for; columns of the data that these are not made of may be absent,
        incomplete or of unknown levels, and the other columns of X then mean nothing.
        """
        used = self.used() if features is None else self.needed(features)
        if not isinstance(data, pd.DataFrame):
            raise TypeError(
                f"X is a {type(data).__name__}; the path was fitted by the formula {self.text!r}: "
                f"pass a DataFrame with the columns {', '.join(used[:12])}"
            )
        data = text_named(data)
        absent = [name for name in used if name not in data.columns]
        if absent:
            raise ValueError(
                f"X lacks {len(absent)} of the columns of the formula: "
                f"{', '.join(absent[:5])}{' ...' if len(absent) > 5 else ''}"
            )
        empty = data[used].isna()
        if empty.to_numpy().any():
            bad = [f"{name} ({count})" for name, count in empty.sum().items() if count]
            raise ValueError(
                f"X has missing values in {int(empty.any(axis=1).sum())} of {len(data)} rows: "
                f"{', '.join(bad[:5])}{' ...' if len(bad) > 5 else ''}; drop or impute those rows"
            )
        self.session()
        if self.state is None:
            raise ValueError(
                f"the levels of the formula {self.text!r} are neither text nor numbers, so the "
                "path file does not hold them; fit again, or pass predict the encoded columns as "
                "an array"
            )
        if features is not None and len(used) < len(self.used()):
            data = self._filled(data, used)
        rows = readied(data, self.used())
        check_levels(self.state["levels"], rows)
        if self._direct() == self.names:
            return Encoded(rows[self.names], self, data.index)
        if self._spec is None:
            self._spec = restored_spec(self)
        matrix = model_matrix(self, self._spec, present(rows))
        names, _ = names_and_terms(matrix.model_spec)
        if names != self.names:
            raise ValueError(
                f"the columns that the formula {self.text!r} makes of X are not those of the fit; "
                "fit again with this version of formulaic"
            )
        return Encoded(columns_of(matrix, self.output, data.index), self, data.index)

    def response(self, data):
        """The left side of complete rows: a Series."""
        if self.left in data.columns:
            return data[self.left]
        value = self._computed(self.left, readied(data, self.used(left=True)), "left")
        if value.ndim == 2:
            return pd.DataFrame(value, index=data.index, columns=self.parsed()[4])
        return pd.Series(value, index=data.index, name=self.left)

    def offset(self, data):
        """The sum (n,) of the terms offset(...) for complete rows; None without such terms."""
        if not self.offsets:
            return None
        names, data = set().union(*map(names_in, self.offsets)), text_named(data)
        rows = readied(data, [name for name in self.columns if name in names])
        total = np.zeros(len(data))
        for expression in self.offsets:
            value = self._computed(expression, rows, "offset")
            if value.dtype.kind not in "iufb" or value.shape != total.shape:
                raise ValueError(
                    f"formula {self.text!r}: offset({expression}) is not a number for each row; "
                    "an offset is a column of numbers, such as the logarithm of an exposure"
                )
            bad = np.flatnonzero(~np.isfinite(value.astype(np.float64)))
            if bad.size:
                raise ValueError(
                    f"formula {self.text!r}: offset({expression}) is not finite in {bad.size} of "
                    f"{len(data)} rows, the first at position {bad[0]}; leave those rows out (an "
                    "exposure must be above 0 for its logarithm)"
                )
            total += value
        return total

    def _computed(self, expression, rows, side):
        """The values (n,) of an expression of the left side, or of an offset."""
        from formulaic.transforms import TRANSFORMS
        from formulaic.utils.stateful_transforms import stateful_eval

        if expression.strip("`") in rows.columns:
            return rows[expression.strip("`")].to_numpy()
        learned = self.state.setdefault(side, {}) if self.state else {}
        known = {**TRANSFORMS, **LEFT_SIDES, **self.session(left=side == "left"), **rows}
        try:
            with np.errstate(**QUIET):
                value = stateful_eval(expression, known, {}, learned, None)
            value = np.asarray(getattr(value, "__wrapped__", value))
            return np.broadcast_to(value, len(rows)) if value.ndim == 0 else value
        except Exception as error:  # whatever the expression raises
            what = "the left side" if side == "left" else "the offset"
            raise ValueError(
                f"formula {self.text!r}: {what} {expression!r} cannot be computed "
                f"({type(error).__name__}: {error})"
            ) from error

    def rows(self, data, y=None, *, features=None, **by_row):
        """(Encoded, y, by_row) of rows for scores and refits. y None: the left side of `data`, and
        incomplete rows are left out as in the fit; features: those that are incomplete in what
        these columns of X are made of. The terms offset(...) are part of by_row then, unless
        another offset that the fit had is missing.
        """
        if y is None:
            data = text_named(data) if isinstance(data, pd.DataFrame) else data
            right = self.used() if features is None else self.needed(features)
            used = [*right, *self.used(left=True)]
            if not isinstance(data, pd.DataFrame) or not set(self.used(left=True)) <= set(
                data.columns
            ):
                raise ValueError(
                    "y is missing: pass y=, or a DataFrame with the columns of the left side, "
                    f"{self.left!r}"
                )
            keep, by_row = complete(data, [name for name in used if name in data.columns], by_row)
            data = data[keep]
            y = self.response(data)
        encoded, given = self.encode(data, features), by_row.get("offset")
        if self.offsets and (given is not None or not self.other_offset):
            other = 0.0 if given is None else vector(given, len(data), "offset")
            by_row["offset"] = self.offset(data) + other
        return encoded, y, by_row

    def session(self, left=False):
        """Functions and values of the session that fitted the formula, for its right (left) side;
        ValueError where they are needed and not known any more.
        """
        if self.own is not None:
            return self.own
        plain, needed = (
            {*self.columns, *ARITHMETIC, *LEFT_SIDES},
            [expr for expr in self._expressions() if (expr == self.left) == left],
        )
        bad = next((bit for expr in needed for bit in foreign(expr, plain)), None)
        if bad:
            raise ValueError(
                f"the formula {self.text!r} uses {bad!r} of the session that fitted it, which path "
                "files and pickles do not hold; fit again, or pass predict the "
                f"{len(self.names)} encoded columns as an array"
            )
        return {}

    # -------------------- storage

    def stored(self):
        """The content of a path file, for JSON; `state` None where levels are not text, numbers or
        bools.
        """
        return to_stored(self)

    @classmethod
    def restored(cls, stored):
        """A Formula from the values that `stored` returned. Nothing of it is evaluated before rows
        are encoded, and then only arithmetic, NumPy's functions of numbers and formulaic's
        transforms.
        """
        return from_stored(cls, stored)
