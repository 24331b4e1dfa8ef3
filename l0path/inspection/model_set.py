"""`ModelSet`: models nearly as good as the best one, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core import forward
from ..core.hints import refuse_attribute
from ..core.printed import Table
from ..core.types import Matrix
from ..paths.criteria import score_table
from ..problem.several import parts
from .summaries import neighbors_of

MOST_SUBSTITUTES = 4  # columns, or groups, of a set of substitutes at most
NO_SIGN = 2  # of what has several coefficients: columns of several responses, groups of columns


def signs(meta, solution):
    """The signs of the coefficients of the columns, or groups, of a solution; NO_SIGN
    for what has several.
    """
    beta = solution.beta
    if beta.ndim > 1:
        return np.full(solution.units.size, NO_SIGN)
    units = meta.units
    own = [units.of(g) for g in solution.units]
    own = [np.flatnonzero(np.isin(solution.support, columns)) for columns in own]
    return np.array([np.sign(beta[at[0]]) if at.size == 1 else NO_SIGN for at in own])


def minimal_sets(member, most):
    """The minimal sets of at most `most` columns of a matrix (m, u) of bool of which every row has
    at least one, by size and order; where all are larger, one of them. Ascending tuples; an empty
    list where a row is empty.
    """
    length, found = member.sum(axis=1), []
    if not length.all():
        return []

    def extend(chosen, missed, out):
        """Add a column of the shortest row that is missed, `out` being columns tried before."""
        if not missed.any():
            own = member[:, chosen]
            if (own & (own.sum(axis=1) == 1)[:, None]).any(axis=0).all():  # each is needed
                found.append(tuple(sorted(chosen)))
            return
        if len(chosen) == most:
            return
        rows = np.flatnonzero(missed)
        row, out = rows[np.argmin(length[rows])], out.copy()
        for j in np.flatnonzero(member[row] & ~out):
            extend([*chosen, int(j)], missed & ~member[:, j], out)
            out[j] = True

    extend([], np.ones(len(member), dtype=bool), np.zeros(member.shape[1], dtype=bool))
    if not found:
        found.append(_one_minimal_set(member))
    return sorted(found, key=lambda one: (len(one), one))


def _one_minimal_set(member):
    """A set of columns of which every row has at least one, and no part of it does: the column of
    most rows first, then without those that the others make needless.
    """
    chosen, missed = [], np.ones(len(member), dtype=bool)
    while missed.any():
        chosen.append(int(np.argmax(member[missed].sum(axis=0))))
        missed &= ~member[:, chosen[-1]]
    for j in list(chosen):
        rest = [i for i in chosen if i != j]
        if member[:, rest].any(axis=1).all():
            chosen = rest
    return tuple(sorted(chosen))


@dataclass(frozen=True, kw_only=True)
class ModelSet:
    """All models that are nearly as good as the best one, of one size, or of all sizes by a
    criterion.

    `frequencies`, `substitutes`, `importance` and `plot` are about what the models choose: columns,
    or with groups= the groups by their labels, and of a formula with terms of several columns (such
    as factors) the terms. `coef` and `predict` are about columns.

    Attributes
    ----------
    models : list of Model
        The models, the best first.
    score : str
        The quantity by which they are compared: "objective", or the name of a criterion.
    scores : ndarray
        Its values.
    within : float
        The largest distance from the best one: a share of the objective, or a difference of the
        criterion.
    floor : float
        The value from which a share counts: the least one that the objective can have. It is 0
        under a squared or logistic loss, so that within=0.01 means 1 % of the deviance and the
        penalty.
    complete : bool
        Whether no other model is within these limits. Constant features, and groups of constant
        columns, are in no model; equal features, and those that are linear combinations of others,
        count as different.
    reason : str
        Why the set is not complete, "" where it is: the search was ended by max_models, the time
        limit or Ctrl-C, and `models` are those found by then; or some models have no finite
        optimum, so that `models` are those of the others.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
    >>> found = path.near_best(k=3, within=0.005)
    >>> found.complete, [model.features for model in found.models]
    (True, [['Hits', 'CRBI', 'PutOuts'], ['Hits', 'CRBI', 'Division_W']])
    >>> found.frequencies[["Hits", "CRBI", "PutOuts"]].tolist()
    [1.0, 1.0, 0.5]
    """

    models: list
    score: str
    scores: np.ndarray
    within: float
    complete: bool
    reason: str = ""
    floor: float = 0.0

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name)

    def __len__(self):
        return len(self.models)

    def __iter__(self):
        return iter(self.models)

    @property
    def _path(self):
        return self.models[0].path

    @property
    def _solutions(self):
        return [model.path._solutions[model._index] for model in self.models]

    @property
    def _labels(self):
        """The names of the columns, or the labels of the groups, as an index."""
        units = self._path._meta.units
        return pd.Index(list(units.labels), name=units.unit, dtype=object)

    @property
    def _member(self):
        """(models, units) whether a column, or a group, is in a model."""
        meta = self._path._meta
        out = np.zeros((len(self), len(meta.unit_labels)), dtype=bool)
        for row, solution in zip(out, self._solutions, strict=True):
            row[solution.units] = True
        return out

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model, the best first: k, the score, its difference from the best one
        (relative for the objective), the deviance ratio, the groups if the path
        has any, and the features.
        """
        best = self.scores[0]
        apart = self.scores - best
        shown = dict.fromkeys((f"{self._path._meta.units.unit}s", "features"))
        return Table(
            {
                "k": [model.k for model in self.models],
                self.score: self.scores,
                "apart": apart / max(best - self.floor, 1e-300)
                if self.score == "objective"
                else apart,
                "deviance_ratio": [model.deviance_ratio for model in self.models],
            }
            | {
                name: [", ".join(map(str, getattr(model, name))) for model in self.models]
                for name in shown
            }
        )

    @property
    def frequencies(self) -> pd.Series:
        """The share of the models that each feature, or group, is in, for those of at least one
        model.
        """
        order, share = self.ordered()
        return pd.Series(share, index=self._labels[order], name="frequency")

    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the features, or groups, of at least one model, the most frequent first,
        and the share of the models that have them: two arrays.
        """
        share = self._member.mean(axis=0)
        order = np.argsort(-share, kind="stable")[: np.count_nonzero(share)]
        return order, share[order]

    def weights(self, kind: str | ArrayLike = "bic") -> np.ndarray:
        """Weights of the models that sum to 1.

        Parameters
        ----------
        kind : str or array-like of shape (models,), default "bic"
            "akaike" for exp(-AIC / 2), "bic" for exp(-BIC / 2), each up to a factor, "equal" for
            the same weight of every model, or numbers >= 0, which are divided by their sum.
            Losses without a likelihood (hinge, Huber) have the last two only.

        Returns
        -------
        ndarray of shape (models,)
            The weights.

        Raises
        ------
        ValueError
            If the kind is not known, the loss has no likelihood, or the numbers are no weights.

        References
        ----------
        Burnham & Anderson, Model Selection and Multimodel Inference, 2002, section 2.9; Raftery,
        Sociological Methodology 25, 1995.
        """
        if isinstance(kind, str):
            if kind == "equal":
                return np.full(len(self), 1.0 / len(self))
            name = {"akaike": "aic", "bic": "bic"}.get(kind)
            if name is None:
                raise ValueError(
                    f"weights of kind {kind!r} are not known; use 'akaike', 'bic', 'equal', or "
                    "numbers"
                )
            if not self._path._meta.traits.likelihood:
                raise ValueError(
                    f"loss={self._path._meta.loss!r} has no likelihood, so models have no weights "
                    f"of kind {kind!r}: pass weights='equal', or numbers >= 0, one for each model, "
                    "to average(...) or predict(...)"
                )
            value = score_table(self._path)[name].to_numpy()
            weight = np.exp(-0.5 * (value - value.min()))
            return weight / weight.sum()
        weight = np.asarray(kind, dtype=np.float64)
        if weight.shape != (len(self),) or not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError(f"weights must be {len(self)} numbers >= 0, one for each model")
        if not weight.sum() > 0:
            raise ValueError("weights must not all be 0")
        return weight / weight.sum()

    @property
    def coef(self) -> pd.DataFrame:
        """`average` with the weights of "bic"."""
        return self.average()

    def average(self, weights: str | ArrayLike = "bic") -> pd.DataFrame:
        """Averaged coefficients in units of y and X; the coefficient of a column that a model does
        not have counts as 0.

        Parameters
        ----------
        weights : str or array-like, default "bic"
            As in `weights`.

        Returns
        -------
        DataFrame
            For each feature of at least one model (and each response or class) the `mean` over the
            models, its `spread` (the standard deviation between them), and the `weight` of the
            models that have it.
        """
        w, meta = self.weights(weights), self._path._meta
        first, per = len(meta.first_names), parts(meta.responses)
        coef = np.zeros((len(self), first + len(meta.names), per))
        inside = np.zeros((len(self), len(meta.names)), dtype=bool)
        for row, own, solution in zip(coef, inside, self._solutions, strict=True):
            own[solution.support] = True
            row[first + solution.support] = solution.beta.reshape(-1, per)
            if first:
                ahead = solution.thresholds if meta.ordered else solution.intercept
                row[:first] = np.reshape(ahead, (first, per))
        coef = coef.reshape(len(self), -1)
        mean = w @ coef
        spread = np.sqrt(w @ (coef - mean) ** 2)
        weight = np.append(np.ones(first), w @ inside)
        inside = np.append(np.ones(first, dtype=bool), inside.any(axis=0))
        index = meta.rows_of_coefficients(range(len(meta.names)))
        if meta.responses is not None:
            index = pd.MultiIndex.from_product([index, meta.response_index])
        table = pd.DataFrame(
            {"mean": mean, "spread": spread, "weight": np.repeat(weight, per)}, index=index
        )
        return table[np.repeat(inside, per)]

    def predict(
        self,
        X: Matrix,
        weights: str | ArrayLike = "bic",
        *,
        offset: ArrayLike | str | None = None,
    ) -> pd.DataFrame:
        """Averaged predictions for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        weights : str or array-like, default "bic"
            As in `weights`.
        offset : array-like of shape (m,) or str, optional
            The offset of the new rows, as in `Path.predict`, if the fit had one.

        Returns
        -------
        DataFrame
            `mean`, and `spread`, the standard deviation between the models; of several responses
            or classes with a column for each.
        """
        each = [model.predict(X, offset=offset) for model in self.models]
        w, values = self.weights(weights), np.array([np.asarray(one) for one in each])
        mean = np.tensordot(w, values, axes=1)
        index = each[0].index if isinstance(each[0], (pd.Series, pd.DataFrame)) else None
        spread = np.sqrt(np.tensordot(w, (values - mean) ** 2, axes=1))
        if mean.ndim > 1:
            names = self._path._meta.response_index
            tables = {"mean": mean, "spread": spread}
            tables = {name: pd.DataFrame(t, index, names) for name, t in tables.items()}
            return pd.concat(tables, axis=1)
        return pd.DataFrame({"mean": mean, "spread": spread}, index=index)

    @property
    def substitutes(self) -> list[tuple]:
        """The minimal sets of at most 4 features, or groups, of which every model has at least one,
        the smallest first: a set of two says that each model within the limits needs one of them.
        Where all such sets are larger, one of them, from which none can be left out. Empty only
        where a model has no features.

        Raises
        ------
        ValueError
            If the set is not complete: a model that was not found may have none of them.
        """
        if not self.complete:
            raise ValueError(
                f"substitutes are known only where all models were found: {self.reason}"
            )
        member, labels = self._member, self._labels
        used = np.flatnonzero(member.any(axis=0))
        found = minimal_sets(member[:, used], MOST_SUBSTITUTES)
        return [tuple(labels[used[i]] for i in one) for one in found]

    @property
    def importance(self) -> pd.DataFrame:
        """For each feature, or group, of at least one model, the smallest and the largest increase
        of the objective, over the models, when it is left out of the model and the others are
        fitted again; 0 for a model without it. Relative to the objective of the best model. With a
        term of a hierarchy leave those that need it.

        References
        ----------
        After the model class reliance of Fisher, Rudin & Dominici, Journal of Machine Learning
        Research 20:177, 2019, which permutes columns instead.
        """
        member = self._member
        worth = np.zeros(member.shape)
        for row, model in zip(worth, self.models, strict=True):
            near = neighbors_of(model.path, model._index)
            row[near.units] = [near.worth(i) for i in range(near.units.size)]
        worth /= max(min(model.objective for model in self.models) - self.floor, 1e-300)
        table = pd.DataFrame({"low": worth.min(axis=0), "high": worth.max(axis=0)}, self._labels)
        return table[member.any(axis=0)].sort_values("high", ascending=False, kind="stable")

    def plot(self, ax: Any = None) -> Any:
        """Heat map of the models (rows, the best at the top) by features, or groups, in the color
        of the sign of the coefficient (blue: positive, red-orange: negative, as in all plots); gray
        where there are several, those of a group of columns or of several responses.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. None means a new figure.

        Returns
        -------
        Axes
            The axes.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> ax = path.near_best(criterion="bic", within=4).plot()
        """
        return forward.plot_model_set(self, ax)

    def _said(self):
        """How many models there are, of which sizes, how far apart, and whether these are all."""
        share = f"{100 * self.within:g} %" if self.score == "objective" else f"{self.within:g}"
        sizes = sorted({model.k for model in self.models})
        k = f"k = {sizes[0]}" if len(sizes) == 1 else f"k = {sizes[0]}..{sizes[-1]}"
        all_ = "the list is complete" if self.complete else f"not complete: {self.reason}"
        models = f"{len(self)} model{'s' if len(self) > 1 else ''} with {k}"
        return f"{models}, {self.score} within {share} of {self.scores[0]:.6g}; {all_}"

    def _repr_html_(self):
        return forward.model_set_html(self)

    def __repr__(self):
        which = "the best of " if len(self) > 1 else "the only one: " * self.complete
        return f"<l0path.ModelSet: {self.models[0]._line()}\n  {which}{self._said()}>"
