"""`Path.predict`: new rows in the columns of the fit, and predictions for them.

Offsets of new rows are given, in a column of the table, or made by the terms offset(...) of a
formula.
"""

from __future__ import annotations

from typing import Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.arguments import finite, same_index, vector
from ..core.tables import pandas_of
from ..core.types import Matrix, Rule, Selector
from ..designs import Derived, Reordered, as_design, derived
from ..designs.names import column_names
from ..formula import Encoded
from ..problem.coupled.ordinal import log_probabilities
from ..problem.families.trials import in_two_columns, shares_of
from ..problem.responses import mean_at
from ..problem.several import offsets_of_responses
from .records import by_response


class Predicting:
    """Methods of `Path` for new rows."""

    @overload
    def predict(
        self,
        X: Matrix,
        rule: None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
    ) -> np.ndarray | pd.DataFrame: ...
    @overload
    def predict(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray | pd.Series: ...
    def predict(
        self,
        X: Matrix,
        rule: Rule | None = None,
        *,
        type: str | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> np.ndarray | pd.Series | pd.DataFrame:
        """Predictions of one solution, or of all, for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows. A DataFrame, or a design whose file names its columns, is taken by column
            names, and needs only those that the model uses (without a selector: any model). Others
            may be absent, or hold missing values, text or unknown levels. An array has all p
            columns. After a fit by a formula X is a DataFrame of the columns that the terms of the
            model use, in any order.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`. Without any selector
            all solutions predict.
        type : str, optional
            "response" for the mean, "link" for the linear predictor, "class" for labels, or for
            loss="cox" "risk" for exp(linear predictor), the hazard relative to that of a row of
            zeros. None means "response" where the loss has a mean, and "link" for the hinge losses
            and loss="cox".
        offset : array-like of shape (m,) or str, optional
            The offset, or the name of a column of the DataFrame X. It is needed if the fit had one,
            unless that was a column, which is looked up in X, or a term of a formula, which is
            computed anew.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        ndarray, Series, or DataFrame
            A Series with the index of X for a DataFrame, else an array of shape (m,). Without a
            selector one column per solution. With r responses a DataFrame with a column for each,
            or an array of shape (m, r); without a selector (m, solutions, r). NaN for rows with
            missing or infinite values in the columns that the model uses.

        Raises
        ------
        ValueError
            If columns that the model uses are absent, or hold levels that the fit has not seen. If
            they hold missing values after a fit by a formula, or with type="class". Nothing is
            guessed.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.predict(data.X.head(2), k=6).round(1)
        0    573.4
        1    746.7
        Name: Salary, dtype: float64
        >>> path.predict(data.X.head(2)).shape  # every model
        (2, 20)
        """
        bare = rule is None and not selector
        chosen = range(len(self))
        if not bare:
            self, row = self._at(rule, **selector)
            chosen = [row]
        used = [self.solutions[i].support for i in chosen]
        design, index = self._new_design(
            X, np.unique(np.concatenate([np.empty(0, dtype=np.int64), *used]))
        )
        with np.errstate(invalid="ignore"):  # rows with NaN or infinity have NaN predictions
            eta = (
                np.stack([self._link(design, self.solutions[i]) for i in chosen], axis=1)
                if chosen
                else np.empty((design.n, 0))
            )
            shift = offset_of_rows(self, X, offset, design.n)
            if shift is not None:
                eta = eta + shift[:, None]
            if self.meta.ordered and type != "link":
                pairs = zip(chosen, eta.T, strict=True)
                eta = [class_predictors(self.solutions[i], one) for i, one in pairs]
                eta = np.stack(eta, axis=1)
            out = self._transform(eta, type)
        if out.ndim == 3 and index is not None:
            return self._by_response(out, index, bare)
        if bare:
            return pd.DataFrame(out, index=index) if index is not None else out
        return (
            pd.Series(out[:, 0], index=index, name=self.meta.response)
            if index is not None
            else out[:, 0]
        )

    def confusion(
        self,
        X: Matrix,
        y: ArrayLike,
        rule: Rule | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        **selector: Unpack[Selector],
    ) -> pd.DataFrame:
        """The table of true and predicted classes of rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The rows, as in `Path.predict`.
        y : array-like of shape (m,)
            Their classes.
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        sample_weight, offset : array-like of shape (m,), optional
            The weights and the offset of the rows.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        DataFrame
            Sums of weights (1 for each row without), a row for each true class and a column for
            each predicted one.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_wdbc()
        >>> path = l0path.fit(data.X, data.y, loss="logistic", lambda2=1e-3, max_k=3)
        >>> path.confusion(data.X, data.y, k=3).shape
        (2, 2)
        """
        self, index = self._at(rule, **selector)
        predicted = self.predict(X, index=index, type="class", offset=offset)
        weights = np.ones(len(predicted)) if sample_weight is None else sample_weight
        weights = vector(weights, len(predicted), "sample_weight")
        table = pd.DataFrame({"true": np.asarray(y), "predicted": np.asarray(predicted)})
        unknown = ~table["true"].isin(self.classes)
        if unknown.any():
            raise ValueError(
                f"y holds the label {table['true'][unknown].iloc[0]!r}, which is not a class of "
                "the fit"
            )
        out = table.assign(weight=weights).pivot_table(
            index="true", columns="predicted", values="weight", aggfunc="sum", fill_value=0.0
        )
        labels = list(self.classes)
        return out.reindex(index=labels, columns=labels, fill_value=0.0).rename_axis(
            index="true", columns="predicted"
        )

    def _by_response(self, out, index, bare):
        """Predictions out (m, solutions, r) as a DataFrame."""
        labels = self.meta.response_index
        if not bare:
            return pd.DataFrame(out[:, 0], index=index, columns=labels)
        rows = pd.RangeIndex(len(self), name="index")
        return pd.DataFrame(
            out.reshape(len(index), -1), index=index, columns=by_response(rows, labels)
        )

    def _link(self, design, s):
        return linear_predictor(design, None, s)

    def _transform(self, eta, type):
        loss, link = self.meta.loss, self.meta.traits.link
        if type is None:
            type = "response" if link else "link"
        if type == "link":
            return eta
        if type == "risk" and self.meta.traits.response == "survival":
            with np.errstate(over="ignore"):
                return np.exp(eta)
        if type == "response":
            if self.meta.traits.response == "survival":
                raise ValueError(
                    "type='response' needs a loss with a mean, and cox has none: use type='risk' "
                    "(the hazard beside the baseline) or 'link', or path.survival(X, ...) for "
                    "probabilities"
                )
            if not link:
                raise ValueError(
                    f"type='response' needs a loss with a mean; {loss} has none: use type='link' "
                    "or 'class', or fit loss='logistic' for probabilities"
                )
            return mean_at(link, eta)
        if type == "class":
            if self.classes is None:
                raise ValueError(
                    f"type='class' needs a classification loss; this path has loss={loss!r}"
                )
            unknown = np.isnan(eta).reshape(len(eta), -1).any(axis=1)
            if unknown.any():
                raise ValueError(
                    f"X has NaN in columns of the model in {unknown.sum()} rows, the first at "
                    f"position {unknown.argmax()}, which have no class; drop or impute them, or "
                    "take type='link'"
                )
            if self.meta.responses is not None or self.meta.ordered:
                return np.asarray(self.classes)[eta.argmax(axis=-1)]
            return np.asarray(self.classes)[(eta > 0).astype(int)]
        if self.meta.traits.response == "survival":
            raise ValueError(
                f"type={type!r} is not known; choose None, 'link' or 'risk', or use "
                "path.survival(X, ...) or path.cumulative_hazard(X, ...)"
            )
        what = "is for loss='cox'" if type == "risk" else "is not known"
        raise ValueError(
            f"type={type!r} {what}; choose None, 'link', 'response' or, for classes, 'class'"
        )

    def _new_design(self, X, needed=None):
        """X for prediction, columns in the order of the fit: by name for a DataFrame or a file with
        names (of a fit to an array: one that has all names), by position else. A fit to a derived
        design takes X's own columns, a formula's a DataFrame of the columns it names (or the p
        encoded columns of an array). needed: the features that will be read, so that tables by name
        need to hold no others; None: all.
        """
        X, encoding = pandas_of(X), self.meta.formula
        if isinstance(X, Encoded) or (encoding is not None and isinstance(X, (pd.DataFrame, dict))):
            X = X if isinstance(X, Encoded) else encoding.encode(X, needed)
            return as_design(X.X)[0], X.index
        made = self.meta.names if isinstance(self.meta.names, Derived) else None
        if made is not None and isinstance(getattr(X, "names", None), Derived):
            if X.names != made:
                raise ValueError(
                    f"X has other {made.what} than the fit; pass X's own columns, which are then "
                    "expanded as in the fit"
                )
            return X, None
        names, by_name = (
            (self.meta.names, self.meta.by_name) if made is None else (made.base, made.by_name)
        )
        if needed is not None:
            needed = (
                needed
                if made is None
                else np.unique(np.asarray(made.parents(needed), dtype=np.int64))
            )
        framed = isinstance(X, pd.DataFrame)
        known = column_names(X.columns) if framed else getattr(X, "names", None)
        index = X.index if framed else None
        if index is not None or (isinstance(known, list) and known != names):
            found = self._by_names(X, known, names, by_name, needed, made is not None)
            if found is not None:
                return found if made is None else derived(found, made), index
        same = "the same columns in the same order"
        if encoding is not None:
            same = f"a DataFrame with the columns of the formula {encoding.text!r}"
            if isinstance(X, np.ndarray) and X.dtype == object:
                raise TypeError(f"X is an array of dtype object, which has no names; pass {same}")
        design, _, index, _ = as_design(X)
        if design.p != len(names):
            raise ValueError(f"X has {design.p} columns, the fit had {len(names)}; pass {same}")
        return design if made is None else derived(design, made), index

    def _by_names(self, X, known, names, by_name, needed, whole):
        """The design of a table (its columns: known) with the columns `names` of the fit, of which
        only those `needed` need be there; None where it is to be read by position. whole: absent
        columns are made zeros, for designs that are built of them.
        """
        place = {name: j for j, name in reversed(list(enumerate(known)))}
        wanted = names if needed is None else [names[j] for j in needed]
        missing = [name for name in wanted if name not in place]
        if by_name and missing:
            raise ValueError(
                f"X lacks {len(missing)} of the columns "
                f"{'of the fit' if needed is None else 'that the model uses'}: "
                f"{', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
            )
        if not by_name and (
            missing or (len(known) == len(names) and any(name not in place for name in names))
        ):
            return None
        if needed is None:
            needed = np.arange(len(names))
        at = [place[name] for name in wanted]
        if not isinstance(X, pd.DataFrame):
            places = np.full(len(names), -1)
            places[needed] = at
            return Reordered(X, places)
        part = as_design(X.iloc[:, at] if at else np.zeros((len(X), 1)))[0]
        if len(at) == len(names):
            return part
        if whole:
            table = np.zeros((len(X), len(names)))
            table[:, needed] = part.columns(np.arange(len(at)))
            return as_design(table)[0]
        places = np.full(len(names), -1)
        places[needed] = np.arange(len(at))
        return Reordered(part, places)

    def _given(self, X, y, **by_row):
        """(X, y, by_row) of rows for scores and refits: after a fit by a formula y may be None,
        which takes the left side of the DataFrame X and leaves incomplete rows out. An offset that
        is in X is found there.
        """
        X, y = pandas_of(X), pandas_of(y, "y")
        y, by_row = _shares(self.meta, y, by_row)
        by_row["offset"] = offset_of_table(self, X, by_row.get("offset"))
        if not isinstance(X, pd.DataFrame):
            return X, y, by_row
        if self.meta.formula is None:
            kept = [name != self.meta.offset_name for name in column_names(X.columns)]
            return X if all(kept) else X.loc[:, kept], y, by_row
        of_table = y is None
        X, y, by_row = self.meta.formula.rows(X, y, **by_row)
        return X, *(_shares(self.meta, y, by_row) if of_table else (y, by_row))


def _shares(meta, y, by_row):
    """(y, by_row) with shares and trials in the place of counts of successes and failures."""
    if y is None or not in_two_columns(y) or meta.traits.response != "shares":
        return y, by_row
    y, trials = shares_of(y, by_row.get("trials"), len(y), meta.loss)
    return y, by_row | {"trials": trials}


def class_predictors(s, eta):
    """The log probabilities (m, K) of ordered classes at linear predictors (m,) of a solution, as
    predictors of the classes; eta itself of other losses.
    """
    return eta if s.thresholds is None else log_probabilities(s.thresholds, eta)


def linear_predictor(design, offset, s):
    """o + beta0 + x'beta of a solution for all rows of a design: (n,), or (n, r) for r
    responses.
    """
    eta = s.intercept + (
        design.dot(s.support, s.beta) if s.support.size else np.zeros((design.n, *s.beta.shape[1:]))
    )
    return eta if offset is None else eta + offset


def given_offset(meta, given, n):
    """The offset of new rows as an array: (n,), or (n, r) for r responses."""
    if meta.responses is not None:
        return offsets_of_responses(given, (n, len(meta.responses)))
    return finite(vector(given, n, "offset"), "offset")


def offset_of_table(path, X, given):
    """The offset of new rows without the terms of a formula: `given`, which may name a column of
    the DataFrame X, else the column that the fit named, if X has it; None without.
    """
    name = given if isinstance(given, str) else path.meta.offset_name if given is None else None
    if name is None:
        return given
    X = pandas_of(X)
    columns = column_names(X.columns) if isinstance(X, pd.DataFrame) else []
    if name in columns:
        return X.iloc[:, columns.index(name)]
    if given is None:
        return None
    raise ValueError(
        f"offset={given!r} is not a column of X; pass a DataFrame that has it, or one offset per "
        "row of X"
    )


def missing_offset(path, X, purpose):
    """The error that asks for the argument offset= of new rows; the terms offset(...) of a formula
    are named where it has some, because they do not stand for the argument.
    """
    meta, beside = path.meta, ""
    if meta.formula is not None and meta.formula.offsets:
        terms = " and ".join(f"offset({expression})" for expression in meta.formula.offsets)
        beside = f" besides {terms} of its formula, which is made from X and added"
        if not isinstance(X, (pd.DataFrame, Encoded)):
            beside = f" besides {terms} of its formula; give the sum of all of them"
    column = meta.offset_name
    where = f"X lacks the column {column}, which held it: add it, or " if column else ""
    return ValueError(
        f"the fit had an offset{beside}: {where}pass offset=, one value per row of X (zeros to "
        f"{purpose} without)"
    )


def offset_of_rows(path, X, given, n):
    """The offset of new rows, the terms of the formula in it, or None: (n,), or (n, r) or (n, 1)
    for r responses. ValueError where the fit had an offset that is nowhere.
    """
    X = pandas_of(X)
    same_index(X=X, offset=given)
    meta, given = path.meta, offset_of_table(path, X, given)
    if given is None and meta.has_offset:
        raise missing_offset(path, X, "predict")
    total = None if given is None else given_offset(meta, given, n)
    if meta.formula is None or not meta.formula.offsets or isinstance(X, Encoded):
        return total
    if isinstance(X, pd.DataFrame):
        own = meta.formula.offset(X)
        own = own if meta.responses is None else own[:, None]
        return own + (0.0 if total is None else total)
    if total is None:
        raise ValueError(
            "the formula has terms offset(...): pass a DataFrame with their columns, or offset=, "
            "one value per row of X"
        )
    return total
