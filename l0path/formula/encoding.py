"""`Formula`: a formula as it was fitted; new rows are encoded by the levels, knots and centers of
the fit.
"""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arguments import vector
from ..designs.names import INTERCEPT
from .expressions import names_and_terms, names_in, names_of, parse, right_side
from .frames import complete, present, readied, text_named, without_contrasts
from .functions import CODINGS, FACTORS, LEFT_SIDES, NAMES, TERMS, known
from .matrices import QUIET, check_levels, columns_of, model_matrix
from .storage import from_stored, restored_spec, to_stored
from .tree import Values, compute, read

LABELS = ("strata", "cluster")  # terms that label rows
SPARSE = 100  # levels of all factors together beyond which X is made as a sparse matrix


class Encoded(NamedTuple):
    """The columns that a formula makes of rows: X (n, p) DataFrame, or sparse matrix where there
    are many levels, without the intercept; `index` labels its rows. offset, strata: the columns of
    the table that these arguments named. A table without a formula (None) is one of these if they
    named columns of it, which X then lacks.
    """

    X: Any
    formula: Any
    index: Any
    offset: str | None = None
    strata: str | None = None


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

    `state` holds what was learned from the rows: levels, knots, centers. `env`: functions and
    values of the user's own, None where they are not at hand; files and pickles hold `own`, the
    names of those that the formula uses.
    """

    def __init__(
        self,
        text,
        columns,
        *,
        env=None,
        own=(),
        state=None,
        names=(),
        n_dropped=0,
        index=None,
        output="pandas",
    ):
        self.text = text
        self.columns = list(columns)
        self.env = env
        self.own = tuple(own)
        self.state = state
        self.names = list(names)
        self.n_dropped = n_dropped
        self.index = index
        self.output = output
        self.terms, self._parsed, self._spec = [], None, None
        self.missing, self.kept, self.blanks, self.example = {}, None, [], {}
        self.table, self.by_row = None, {}
        self.other_offset, self.counts_terms = False, False

    def __getstate__(self):
        return {
            **self.__dict__,
            "env": None,
            "index": None,
            "kept": None,
            "table": None,
            "by_row": {},
            "_parsed": None,
            "_spec": None,
        }

    def rows_of_fit(self):
        """What it knows of the rows of the fit beside the encoded columns: by name, as
        attributes.
        """
        return {name: getattr(self, name) for name in ("index", "kept", "table", "by_row")}

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
    offsets = property(
        lambda self: self.parsed()[3]["offset"], doc="Expressions inside offset(...)."
    )

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
                for term in self.parsed()[1]
                for factor in term.factors
                for name in names_of(factor)
            }.union(*map(names_in, self.offsets))
        )
        return [name for name in self.columns if name in names]

    def _expressions(self):
        """Python expressions on either side."""
        return [
            *([] if self.left in self.columns else [self.left]),
            *(factor for factor in self.factors() if isinstance(factor, str)),
            *(expr for found in self.parsed()[3].values() for expr in found),
        ]

    def of_rows(self):
        """Names of the columns that strata(...) and cluster(...) use."""
        inside = [expr for word in LABELS for expr in self.parsed()[3][word]]
        return [name for name in self.columns if any(name in names_in(expr) for expr in inside)]

    def labels(self, word, data):
        """The labels (n,) of the rows of a table by strata(...) or cluster(...), "strata" or
        "cluster"; None without such a term, and where the table lacks its columns.
        """
        inside = self.parsed()[3][word]
        if not inside or not isinstance(data, pd.DataFrame):
            return None
        data = text_named(data)
        names = [name for name in self.of_rows() if any(name in names_in(e) for e in inside)]
        if not set(names) <= set(data.columns):
            return None
        values = self.values(readied(data, names), word)
        found = [self._computed(expr, values, word) for expr in inside]
        if len(found) == 1:
            return found[0]
        return np.array(
            [
                ", ".join(f"{expr}={value}" for expr, value in zip(inside, row, strict=True))
                for row in zip(*found, strict=True)
            ],
            dtype=object,
        )

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

    def check(self, env):
        """Refuse names that are neither columns nor functions of formulas nor in `env`; what of
        `env` the formula uses is kept in `own`.
        """
        self._refuse_terms()
        lookups = [factor[0] for factor in self.factors() if isinstance(factor, tuple)]
        trees, own, every = list(map(read, self._expressions())), {}, set(self.columns)
        for name in dict.fromkeys([*lookups, *(n for tree in trees for n in tree.names)]):
            if name in every or (name in CODINGS and name not in lookups):
                continue
            if name in lookups or name not in env:
                raise ValueError(f"formula {self.text!r}: {self._absent(name)}")
            own[name] = None
        for name in dict.fromkeys(call for tree in trees for call in tree.calls):
            if name in env:
                own[name] = None
            elif not known(name):
                raise ValueError(f"formula {self.text!r}: {_unknown(name)}")
        self.own = tuple(own)

    def _refuse_terms(self):
        """Refuse functions that are none of the place where they are."""
        left = set(read(self.left).calls) if self.left not in self.columns else set()
        if "cbind" in left:
            raise ValueError(
                f"formula {self.text!r}: {self.left} counts successes and failures; write "
                'the two with + between, as in "a + b ~ x" or "a + {n - a} ~ x", and pass '
                "loss='binomial'"
            )
        right = {
            call for expr in self._expressions() if expr != self.left for call in read(expr).calls
        }
        wrong = next((name for name in (*LEFT_SIDES, *TERMS) if name in right), None)
        wrong = wrong or next((name for name in TERMS if name in left), None)
        if wrong:
            where = (
                "stands on the left"
                if wrong in LEFT_SIDES
                else "is a term of its own, on the right"
            )
            raise ValueError(f"formula {self.text!r}: {wrong}(...) {where}")

    def _absent(self, name):
        shown = ", ".join(self.columns[:12]) + (", ..." if len(self.columns) > 12 else "")
        return (
            f"data has no column {name!r}; the columns are {shown} (a name with spaces or signs is "
            f"written in backticks, a value of your own is given by env={{{name!r}: ...}})"
        )

    # -------------------- rows

    def learn(self, data):
        """`Encoded` of complete rows, from which levels, knots and centers are taken."""
        from formulaic import ModelSpec

        if INTERCEPT in self.used():
            raise ValueError(
                f"formula {self.text!r} uses the column {INTERCEPT!r}, whose name the intercept "
                "has in tables of coefficients; rename it, or take it out if it is constant"
            )
        rows = present(readied(data, self.used()))
        self.example = {
            name: (column.iloc[0], isinstance(column.dtype, pd.CategoricalDtype))
            for name, column in rows.items()
        }
        coded = {
            name
            for f in self.factors()
            if isinstance(f, str) and set(FACTORS) & set(read(f).calls)
            for name in names_in(f)
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
            self.names = direct
            self.terms = [(str(term), [j]) for j, term in enumerate(self.parsed()[1])]
            self.state = {"transforms": {}, "levels": {name: ("numerical", {}) for name in direct}}
            return Encoded(rows[direct], self, data.index)
        if self.intercept and "Intercept" in self.used():
            raise ValueError(
                f"formula {self.text!r} uses the column 'Intercept', whose name the intercept has; "
                "take it out, as in 'y ~ . - Intercept', if it is constant, or rename it"
            )
        self.output = "sparse" if levels > SPARSE else "pandas"
        spec = ModelSpec.from_spec(right_side(self), output=self.output, na_action="raise")
        matrix = model_matrix(self, spec, rows, learning=True)
        self._spec = matrix.model_spec
        self.names, self.terms = names_and_terms(self._spec)
        if not self.names:
            raise ValueError(
                f"formula {self.text!r} makes no column: its factors have one level only"
            )
        self._refuse_twins()
        self.state = {
            "transforms": copy.deepcopy(self._spec.transform_state),
            "levels": {
                expr: (kind.value, without_contrasts(state))
                for expr, (kind, state) in self._spec.encoder_state.items()
            },
        }
        return Encoded(columns_of(matrix, self.output, data.index), self, data.index)

    def _refuse_twins(self):
        """Refuse columns of one name, as a product a:b beside a column "a:b" of the data."""
        of_name = {}
        for term, at in self.terms:
            for name in (self.names[j] for j in at):
                if name in of_name:
                    raise ValueError(
                        f"formula {self.text!r} makes two columns named {name!r}, of the terms "
                        f"{of_name[name]} and {term}; rename the columns of data that they use"
                    )
                of_name[name] = term

    def needed(self, features):
        """Names of the columns of the data that some features (numbers of columns of X) are made
        of; all that are used where a file of an older version does not tell.
        """
        columns = {
            str(term): {name for factor in term.factors for name in names_of(factor)}
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

    @property
    def levels(self):
        """{expression: (kind, what the fit knows of it)}; empty before the fit."""
        return self.state["levels"] if self.state else {}

    def categorical(self):
        """The expressions that are categorical."""
        return {expr for expr, (kind, _) in self.levels.items() if kind == "categorical"}

    def filled(self, data, needed):
        """data (rows by columns) of which only the columns `needed` count: the others hold a value
        of the fit.
        """
        m, others = len(data), [name for name in self.used() if name not in needed]
        levels, out = self.levels, {name: data[name].array for name in needed}
        for name in others:
            value, category = self.example[name]
            known = levels[name][1].get("categories", ()) if name in levels else ()
            # a number among levels that are text would pass for a column of numbers
            category = category or (
                not isinstance(value, str) and any(isinstance(level, str) for level in known)
            )
            out[name] = pd.Categorical([value] * m) if category else [value] * m
        return pd.DataFrame(out, index=data.index)

    def encode(self, data, features=None):
        """`Encoded` of new rows: levels, knots and centers are those of the fit. ValueError for
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
        self.known(left=False)
        if self.state is None:
            raise ValueError(
                f"the levels of the formula {self.text!r} are neither text nor numbers, so the "
                "path file does not hold them; fit again, or pass predict the encoded columns as "
                "an array"
            )
        if features is not None and len(used) < len(self.used()):
            data = self.filled(data, used)
        rows = readied(data, self.used())
        check_levels(self.state["levels"], rows)
        if self._direct() == self.names:
            return Encoded(rows[self.names], self, data.index)
        if self._spec is None:
            self._spec = restored_spec(self)
        matrix = model_matrix(self, self._spec, present(rows))
        names, terms = names_and_terms(matrix.model_spec)
        if names != self.names or (self.terms and terms != self.terms):
            raise ValueError(
                f"the columns that the formula {self.text!r} makes of X are not those of the fit; "
                "fit again with this version of formulaic"
            )
        return Encoded(columns_of(matrix, self.output, data.index), self, data.index)

    def response(self, data):
        """The left side of complete rows: a Series."""
        if self.left in data.columns:
            return data[self.left]
        rows = readied(data, self.used(left=True))
        value = self._computed(self.left, self.values(rows, "left"), "left")
        if value.ndim == 2:
            return pd.DataFrame(value, index=data.index, columns=self.parsed()[4])
        return pd.Series(value, index=data.index, name=self.left)

    def offset(self, data):
        """The sum (n,) of the terms offset(...) for complete rows; None without such terms."""
        if not self.offsets:
            return None
        names, data = set().union(*map(names_in, self.offsets)), text_named(data)
        rows = readied(data, [name for name in self.columns if name in names])
        total, values = np.zeros(len(data)), self.values(rows, "offset")
        for expression in self.offsets:
            value = self._computed(expression, values, "offset")
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

    def values(self, rows, part, learning=None):
        """The `Values` of rows for a part of the formula, "transforms" (the right side), "left" or
        "offset"; learning: None where transforms learn from the first rows that they meet.
        """
        state, env = {}, self.known(left=part == "left")
        if self.state is not None:
            learning = part not in self.state if learning is None else learning
            state = self.state.setdefault(part, {})
        return Values({str(name): column for name, column in rows.items()}, env, state, learning)

    def _computed(self, expression, values, side):
        """The values (n,) of an expression of the left side, or of an offset."""
        n = len(next(iter(values.columns.values()), ()))
        try:
            with np.errstate(**QUIET):
                value = compute(read(expression), values)
            value = np.asarray(getattr(value, "__wrapped__", value))
            return np.broadcast_to(value, n) if value.ndim == 0 else value
        except Exception as error:  # whatever a function of the user's own raises
            what = {"left": "the left side", "offset": "the offset"}.get(side, side)
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
            used = [*right, *self.used(left=True), *self.of_rows()]
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
        if self.parsed()[3]["strata"] and by_row.get("strata") is None:
            by_row["strata"] = self.labels("strata", data)
        return encoded, y, by_row

    def known(self, left):
        """Functions and values of the user's own for the left or the other side; ValueError where
        they are needed and not at hand.
        """
        if self.env is not None:
            return self.env
        used = {
            name
            for expr in self._expressions()
            if (expr == self.left) == left
            for name in (*read(expr).names, *read(expr).calls)
        }
        lacking = [name for name in self.own if name in used]
        if lacking:
            given = ", ".join(f"{name!r}: {name}" for name in lacking)
            raise ValueError(
                f"the formula {self.text!r} uses {', '.join(map(repr, lacking))} of your own, of "
                "which files and pickles hold the names only: save the path, and load it with "
                f"l0path.load(file, env={{{given}}}), or pass predict the {len(self.names)} "
                "encoded columns as an array"
            )
        return {}

    # -------------------- storage

    def stored(self):
        """The content of a path file, for JSON; `state` None where levels are not text, numbers or
        bools.
        """
        return to_stored(self)

    @classmethod
    def restored(cls, stored, env=None):
        """A Formula from the values that `stored` returned; ValueError where it has anything but
        columns, numbers, arithmetic, the functions of formulas and names of the user's own. env:
        these functions and values.
        """
        return from_stored(cls, stored, env)


def checked_env(env):
    """env= as a dict; TypeError or ValueError for what cannot be one."""
    if env is None:
        return {}
    if not isinstance(env, Mapping) or not all(isinstance(name, str) for name in env):
        raise TypeError(f"env={env!r} must be a dict of functions by name, such as {{'f': f}}")
    for name in env:
        if not name.isidentifier() or known(name) or name in ("np", "numpy", "contr", *TERMS):
            what = "is a name that formulas have" if name.isidentifier() else "is no name"
            raise ValueError(f"env: {name!r} {what}; take another one")
    return dict(env)


def _unknown(name):
    return (
        f"{name!r} is an unknown function; formulas know {', '.join(NAMES)}, NumPy's functions of "
        f"numbers such as np.tanh, and functions of your own by env={{{name!r}: {name}}}"
    )
