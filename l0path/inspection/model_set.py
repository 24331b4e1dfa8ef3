"""`ModelSet`: models nearly as good as the best one, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix

MOST_SUBSTITUTES = 4  # columns of a set of substitutes at most


def signs(solution):
    """The signs of the coefficients of a solution, (k,); of several responses 1 for each column."""
    beta = solution.beta
    return np.sign(beta) if beta.ndim == 1 else np.ones(len(beta))


@dataclass(frozen=True, kw_only=True)
class ModelSet:
    """All models that are nearly as good as the best one, of one size, or of all sizes by a
    criterion.

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
        Whether no other model is within these limits. Else the search was ended by max_models, the
        time limit or Ctrl-C, and `models` are those found by then.

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
    floor: float = 0.0

    def __len__(self):
        return len(self.models)

    def __iter__(self):
        return iter(self.models)

    @property
    def _path(self):
        return self.models[0].path

    @property
    def _member(self):
        """(models, p) whether a column is in a model."""
        out = np.zeros((len(self), len(self._path.names)), dtype=bool)
        for row, model in zip(out, self.models, strict=True):
            row[model.support] = True
        return out

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model, the best first: k, the score, its difference from the best one
        (relative for the objective), the deviance ratio and the features.
        """
        best = self.scores[0]
        apart = self.scores - best
        return pd.DataFrame(
            {
                "k": [model.k for model in self.models],
                self.score: self.scores,
                "apart": apart / max(best - self.floor, 1e-300)
                if self.score == "objective"
                else apart,
                "deviance_ratio": [model.deviance_ratio for model in self.models],
                "features": [", ".join(model.features) for model in self.models],
            }
        )

    @property
    def frequencies(self) -> pd.Series:
        """The share of the models that each column is in, for columns of at least one model."""
        share = self._member.mean(axis=0)
        out = pd.Series(share, index=pd.Index(self._path.names, name="feature"), name="frequency")
        return out[share > 0].sort_values(ascending=False, kind="stable")

    def weights(self, kind: str | ArrayLike = "bic") -> np.ndarray:
        """Weights of the models that sum to 1.

        Parameters
        ----------
        kind : str or array-like of shape (models,), default "bic"
            "akaike" for exp(-AIC / 2), "bic" for exp(-BIC / 2), each up to a factor, or numbers
            >= 0, which are divided by their sum.

        Returns
        -------
        ndarray of shape (models,)
            The weights.

        Raises
        ------
        ValueError
            If the kind is not known, or the numbers are not weights.

        References
        ----------
        Burnham & Anderson, Model Selection and Multimodel Inference, 2002, section 2.9; Raftery,
        Sociological Methodology 25, 1995.
        """
        if isinstance(kind, str):
            name = {"akaike": "aic", "bic": "bic"}.get(kind)
            if name is None:
                raise ValueError(f"weights of kind {kind!r} are not known; use 'akaike' or 'bic'")
            value = self._path.score_table()[name].to_numpy()
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
            For each column of at least one model (and each response or class) the `mean` over the
            models, its `spread` (the standard deviation between them), and the `weight` of the
            models that have it.
        """
        w, meta = self.weights(weights), self._path.meta
        first, per = len(meta.first_names), 1 if meta.responses is None else len(meta.responses)
        coef = np.zeros((len(self), first + len(meta.names), per))
        for row, model in zip(coef, self.models, strict=True):
            solution = model.path.solutions[model.index]
            row[first + solution.support] = solution.beta.reshape(-1, per)
            if first:
                ahead = solution.thresholds if meta.ordered else solution.intercept
                row[:first] = np.reshape(ahead, (first, per))
        coef = coef.reshape(len(self), -1)
        mean = w @ coef
        spread = np.sqrt(w @ (coef - mean) ** 2)
        weight = np.append(np.ones(first), w @ self._member)
        inside = np.append(np.ones(first, dtype=bool), self._member.any(axis=0))
        index = meta.rows_of_coefficients(range(len(meta.names)))
        if meta.responses is not None:
            index = pd.MultiIndex.from_product([index, meta.response_index])
        table = pd.DataFrame(
            {"mean": mean, "spread": spread, "weight": np.repeat(weight, per)}, index=index
        )
        return table[np.repeat(inside, per)]

    def predict(self, X: Matrix, weights: str | ArrayLike = "bic") -> pd.DataFrame:
        """Averaged predictions for new rows.

        Parameters
        ----------
        X : array-like of shape (m, p), DataFrame, sparse matrix or design
            The new rows, as in `Path.predict`.
        weights : str or array-like, default "bic"
            As in `weights`.

        Returns
        -------
        DataFrame
            `mean`, and `spread`, the standard deviation between the models; of several responses
            or classes with a column for each.
        """
        each = [model.predict(X) for model in self.models]
        w, values = self.weights(weights), np.array([np.asarray(one) for one in each])
        mean = np.tensordot(w, values, axes=1)
        index = each[0].index if isinstance(each[0], (pd.Series, pd.DataFrame)) else None
        spread = np.sqrt(np.tensordot(w, (values - mean) ** 2, axes=1))
        if mean.ndim > 1:
            names = self._path.meta.response_index
            tables = {"mean": mean, "spread": spread}
            tables = {name: pd.DataFrame(t, index, names) for name, t in tables.items()}
            return pd.concat(tables, axis=1)
        return pd.DataFrame({"mean": mean, "spread": spread}, index=index)

    @property
    def substitutes(self) -> list[tuple]:
        """The minimal sets of at most 4 columns of which every model has at least one, the smallest
        first: a set of two columns says that each model within the limits needs one of them.

        Raises
        ------
        ValueError
            If the set is not complete: a model that was not found may have none of them.
        """
        if not self.complete:
            raise ValueError(
                "substitutes are known only where all models were found; raise max_models or "
                "time_limit, or lower within="
            )
        member, names = self._member, self._path.names
        used, out = np.flatnonzero(member.any(axis=0)), []
        for size in range(1, MOST_SUBSTITUTES + 1):
            smaller = [set(one) for one in out]
            for chosen in combinations(used.tolist(), size):
                if member[:, chosen].any(axis=1).all() and not any(
                    one <= set(chosen) for one in smaller
                ):
                    out.append(chosen)
        return [tuple(names[j] for j in chosen) for chosen in out]

    @property
    def importance(self) -> pd.DataFrame:
        """For each column of at least one model, the smallest and the largest increase of the
        objective, over the models, when the column is left out of the model and the others are
        fitted again; 0 for a model without it. Relative to the objective of the best model.

        References
        ----------
        After the model class reliance of Fisher, Rudin & Dominici, Journal of Machine Learning
        Research 20:177, 2019, which permutes columns instead.
        """
        names = self._path.names
        worth = np.zeros((len(self), len(names)))
        for row, model in zip(worth, self.models, strict=True):
            if model.support.size:
                row[model.support] = model.summary().table.increase_if_dropped.to_numpy()
        worth /= max(min(model.objective for model in self.models) - self.floor, 1e-300)
        table = pd.DataFrame(
            {"low": worth.min(axis=0), "high": worth.max(axis=0)},
            index=pd.Index(names, name="feature"),
        )
        return table[self._member.any(axis=0)].sort_values("high", ascending=False, kind="stable")

    def plot(self, ax: Any = None) -> Any:
        """Heat map of the models (rows, the best at the top) by columns, in the colour of the sign
        of the standardised coefficient; of several responses in one colour.

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
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        sign = np.zeros(self._member.shape)
        for row, model in zip(sign, self.models, strict=True):
            solution = model.path.solutions[model.index]
            row[solution.support] = signs(solution)
        order = [self._path.names.index(name) for name in self.frequencies.index]
        ax.imshow(sign[:, order], aspect="auto", cmap="RdBu", vmin=-1.5, vmax=1.5)
        ax.set_xticks(range(len(order)), [self._path.names[j] for j in order], rotation=90)
        ax.set(ylabel="model, the best at the top", xlabel="column, the most frequent first")
        return ax

    def __repr__(self):
        share = f"{100 * self.within:g} %" if self.score == "objective" else f"{self.within:g}"
        of = "of the least objective" if self.score == "objective" else f"of the best {self.score}"
        sizes = sorted({model.k for model in self.models})
        k = f"k = {sizes[0]}" if len(sizes) == 1 else f"k = {sizes[0]}..{sizes[-1]}"
        all_ = "no other is" if self.complete else "not complete: the search was ended"
        return f"<l0path.ModelSet: {len(self)} models, {k}, within {share} {of}; {all_}>"
