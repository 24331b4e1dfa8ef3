"""`Path`: methods that choose one solution, by size, penalty, index or rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..core.types import Matrix, Rule, Selector
from .model import Model

if TYPE_CHECKING:
    from ..inspection import ModelSet


class Choosing:
    """Methods of `Path` that choose one solution."""

    @property
    def delta(self) -> float | None:
        """The threshold of the Huber loss in units of y, one for all models; else None."""
        return self.meta.loss_parameter if self.meta.traits.parameter == "delta" else None

    @property
    def theta(self) -> float | None:
        """The theta of the negative binomial loss, one for all models; else None."""
        return self.meta.loss_parameter if self.meta.traits.parameter == "theta" else None

    def index(
        self,
        rule: Rule | None = None,
        *,
        k: int | None = None,
        lambda0: float | None = None,
        index: int | None = None,
        slice: int | None = None,
        lambda1: float | None = None,
        lambda2: float | None = None,
    ) -> int:
        """The index of the one solution that a selector names.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size (5 is the same as k=5), a criterion such as "aic" or "bic", or a function of the
            path that returns an index.
        k : int, optional
            The size.
        lambda0 : float, optional
            A value of the grid (to 1e-8, relative), or on a path of sizes any value in a model's
            interval [lambda0_low, lambda0_high).
        index : int, optional
            The row of `table`.
        slice : int, optional
            The number of the slice, where there are several.
        lambda1, lambda2 : float, optional
            The penalties of the slice, where there are several.

        Returns
        -------
        int
            A row of `table`.

        Raises
        ------
        LookupError
            If no solution, or several, match; neighbours or slices are named.
        TypeError
            Unless exactly one of rule, k, lambda0 and index is given.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.index(6), path.index(k=6), path.index(lambda0=1500.0), path.index("bic")
        (6, 6, 6, 6)
        """
        given = [
            name
            for name, value in (("rule", rule), ("k", k), ("lambda0", lambda0), ("index", index))
            if value is not None
        ]
        if len(given) != 1:
            raise TypeError(
                "choose a solution by exactly one of k=, lambda0=, index= or a rule such as "
                f"'bic'; got {', '.join(given) or 'none'}"
            )
        if isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
            given, k, rule = ["k"], int(rule), None
        if index is not None:
            if (
                isinstance(index, (bool, np.bool_))
                or not isinstance(index, (int, np.integer))
                or not -len(self) <= index < len(self)
            ):
                raise LookupError(
                    f"index={index!r} is not on the path; it has rows 0..{len(self) - 1}"
                )
            return int(index) % len(self)
        rows = self._rows(slice, lambda1, lambda2)
        if rule is not None:
            within = slice is not None or lambda1 is not None or lambda2 is not None
            return self._by_rule(rule, rows if within else None)
        slices = sorted({self.solutions[i].slice for i in rows})
        if len(slices) > 1:
            shown = "; ".join(
                f"slice={s}: lambda1={a:.4g}, lambda2={b:.4g}" for s, a, b in self._slices(slices)
            )
            raise LookupError(
                f"{given[0]}={k if k is not None else lambda0!r} needs one slice, the path has "
                f"{len(slices)}; add slice=, lambda1= or lambda2= ({shown})"
            )
        return self._by_size(k, rows) if k is not None else self._by_lambda0(lambda0, rows)

    def _slices(self, slices):
        seen = {s.slice: (s.slice, s.lambda1, s.lambda2) for s in self.solutions}
        return [seen[s] for s in slices]

    def _rows(self, slice, lambda1, lambda2):
        rows = list(range(len(self)))
        for name, value in (("slice", slice), ("lambda1", lambda1), ("lambda2", lambda2)):
            if value is not None:
                if not isinstance(value, (int, float, np.integer, np.floating)):
                    raise TypeError(
                        f"{name}={value!r} must be a number, that of a slice of the path"
                    )
                have = sorted({getattr(self.solutions[i], name) for i in rows})
                rows = [
                    i
                    for i in rows
                    if abs(getattr(self.solutions[i], name) - value) <= 1e-8 * abs(value)
                ]
                if not rows:
                    raise LookupError(
                        f"{name}={value!r} is not on the path; it has {name} in {have[:20]}"
                    )
        return rows

    def _by_rule(self, rule, rows):
        if callable(rule):
            i = rule(self)
            if (
                isinstance(i, (bool, np.bool_))
                or not isinstance(i, (int, np.integer))
                or not 0 <= i < len(self)
            ):
                raise LookupError(
                    f"the rule {rule!r} returned {i!r}; it must return the index of a row of "
                    f"path.table, an integer in 0..{len(self) - 1}"
                )
            return int(i)
        return self.select(rule, rows=rows)

    def _by_size(self, k, rows):
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"k={k!r} must be a whole number, the size of a model")
        sized = [i for i in rows if self.solutions[i].k == k]
        if not sized:
            below, above = (
                [self.solutions[i].k for i in rows if self.solutions[i].k < k],
                [self.solutions[i].k for i in rows if self.solutions[i].k > k],
            )
            near = [
                f"k={max(below)}" if below else "",
                f"k={min(above)}" if above else "",
            ]
            found = [size for size in near if size]
            sizes = f"size{' is' if len(found) == 1 else 's are'}"
            raise LookupError(
                f"k={k} is not on the path; the nearest {sizes} {' and '.join(found) or 'none'}"
            )
        return min(sized, key=lambda i: (self.solutions[i].loss + self.solutions[i].shrinkage, i))

    def _by_lambda0(self, value, rows):
        if not isinstance(value, (int, float, np.number)) or not value >= 0:
            raise LookupError(f"lambda0={value!r} must be a number >= 0")
        if self.meta.grid == "lambda0":
            hit = [
                i
                for i in rows
                if abs(self.solutions[i].lambda0 - value) <= 1e-8 * max(abs(value), 1e-300)
            ]
            grid = np.array([self.solutions[i].lambda0 for i in rows])
            near = _neighbours(grid, value)
            remedy = f"the nearest on the grid are {near}; fit with lambda0={value:.6g}"
        else:
            hit = [
                i
                for i in rows
                if self.solutions[i].lambda0_low <= value < self.solutions[i].lambda0_high
            ]
            low = min(
                (
                    self.solutions[i].lambda0_low
                    for i in rows
                    if not np.isnan(self.solutions[i].lambda0_low)
                ),
                default=np.nan,
            )
            remedy = f"the path covers lambda0 >= {low:.6g}; raise max_k to go below"
        if not hit:
            raise LookupError(f"lambda0={value!r} is not on the path: {remedy}")
        return hit[0]

    def model(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> Model:
        """The `Model` that a selector names.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        Model
            One solution of the path. Where terms have several columns (factors, groups), a
            criterion chooses among all sets of at most 20 terms, and `chosen_by` says so, or why
            it was among the rows of the path alone. A model that is no row is one of a path with
            a further row, `model.path`.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.model(6)  # or path.model(k=6)
        <l0path.Model: k = 6, loss 49800.2, deviance ratio 0.5087, global; AtBat, Hits, Walks,
        CRBI, Division_W, PutOuts>
        >>> path.model("bic").features
        ['AtBat', 'Hits', 'Walks', 'CRBI', 'Division_W', 'PutOuts']
        """
        path, index, chosen_by = self._best(rule, **selector)
        return Model(path, index, chosen_by)

    def _at(self, rule=None, **selector):
        """(path, row) of a selector: this path, or one with a further row (`best_model`)."""
        return self._best(rule, **selector)[:2]

    def _best(self, rule=None, **selector):
        """`_at`, and what was compared, as in `Model.chosen_by`."""
        if isinstance(rule, str) and not selector and self.meta.unlike_terms:
            from .criteria import best_model

            return best_model(self, rule)
        return self, self.index(rule, **selector), ""

    def _best_by(self, names, options):
        """The best models by criteria, of all sets of terms: `inspection.all_models.best_by`."""
        from ..inspection import best_by

        return best_by(self, names, options)

    def support(self, rule: Rule | None = None, **selector: Unpack[Selector]) -> np.ndarray:
        """The column indices of a solution, ascending, forced ones included.

        Parameters
        ----------
        rule : int, str, or callable, optional
            A size, a criterion or a function of the path, as in `Path.index`.
        **selector : int or float
            k, lambda0, index, slice, lambda1, lambda2, as in `Path.index`.

        Returns
        -------
        ndarray of int
            Indices of columns of X.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.support(k=6)
        array([ 0,  1,  5, 11, 14, 15])
        """
        path, index = self._at(rule, **selector)
        return path.solutions[index].support.copy()

    def select(
        self,
        rule: str,
        *,
        rows: Sequence[int] | None = None,
        p_total: int | None = None,
        sigma2: float | None = None,
        ebic_gamma: float = 1.0,
        separated: bool = False,
    ) -> int:
        """The index of the solution with the smallest criterion.

        Where terms have several columns (factors, groups), the best model by a criterion need not
        be a row of the path. All sets of at most 20 terms are compared, as in `Path.model`, unless
        there is shrinkage, bounds, several slices, or no data because the path was loaded; there
        the choice is among the rows.

        Rows whose likelihood has no finite maximum, or says nothing, take no part: rows whose
        columns separate the classes (unless separated=True), rows of zero loss (up to rounding,
        squared loss), and rows with df >= n.

        Parameters
        ----------
        rule : str, int, or callable
            "aic", "aicc", "bic", "ebic", "gic", "mbic", "cp" (squared loss only); a size, or a
            function of the path, as in `Path.index`.
        rows : sequence of int, optional
            Indices to choose among: no other model is compared. None means all.
        p_total, sigma2 : as in Path.score_table
            The number of columns at the beginning, and the noise variance.
        ebic_gamma : float, default 1.0
            The parameter of ebic, from 0 to 1.
        separated : bool, default False
            Whether rows whose columns separate the classes take part.

        Returns
        -------
        int
            A row of `path.table`. Ties (1e-10 relative) go to the fewest nonzeros, then to the
            first row.

        Raises
        ------
        ValueError
            If the rule is unknown, or the loss has no likelihood.
        LookupError
            If no row is left, or if a set of terms that is no row is better; `Path.model` gives it.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.select("bic")
        6
        >>> path.select("aic")
        10
        """
        from .criteria import select

        return select(
            self,
            rule,
            rows=rows,
            p_total=p_total,
            sigma2=sigma2,
            ebic_gamma=ebic_gamma,
            separated=separated,
        )

    def score_table(
        self,
        p_total: int | None = None,
        sigma2: float | None = None,
        *,
        ebic_gamma: float = 1.0,
        separated: bool = False,
    ) -> pd.DataFrame:
        """Log-likelihood and information criteria of every solution, rows as `path.table`.

        Parameters
        ----------
        p_total : int, optional
            The number of columns at the beginning, when X holds those a screening left over; ebic,
            gic and mbic then charge for all of them. None means p.
        sigma2 : float, optional
            The noise variance for cp, in squared units of y. None means RSS / (n - rank) of the
            full model if n > p + 1 (and p <= 2000), else of the largest model on the path. NaN if
            that takes the data and the path was loaded from a file.
        ebic_gamma : float, default 1.0
            The parameter of ebic, from 0 (bic) to 1, which is consistent for any p that is a power
            of n.
        separated : bool, default False
            Whether rows whose columns separate the classes take part. Their likelihood has no
            finite maximum, so otherwise everything but their df is NaN.

        Returns
        -------
        DataFrame
            A row for each solution. Where terms have several columns, the best model by a criterion
            need not be one of them: `Path.model` compares all sets of terms. The columns are
            loglik, df, aic, aicc, bic, ebic, gic and mbic, and for the squared loss also rss,
            r2_adjusted and cp. df counts nonzero coefficients, intercepts or thresholds, and the
            dispersion, scale or theta that the likelihood of some losses has (gamma, Tweedie,
            quantile, negative binomial), but not the variance of the squared loss. The loglik of a
            perfect fit is as large as rounding makes it, up to inf; `select` passes it over.

        Raises
        ------
        ValueError
            If the loss has no likelihood (such as the hinge and Huber losses). Choose there by
            `l0path.cv_fit`.

        Notes
        -----
        The formulas are at the top of `l0path.paths.criteria`. The `attrs` of the table
        say what went in: n (n_eff), p (columns that compete: p_total less the forced ones),
        ebic_gamma, sigma2 (squared loss), and `formulas`, the criteria as texts in these
        quantities, df, m = df (+ 1 under the squared loss) and chosen, the number of nonzero
        coefficients that were not forced.

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.score_table()[["df", "aic", "bic", "cp"]].loc[5:7].round(1)
           df     aic     bic    cp
        5   6  3794.6  3816.1  21.6
        6   7  3787.2  3812.2  14.0
        7   8  3786.3  3814.9  13.1
        >>> path.score_table().attrs["n"]
        263.0
        """
        from .criteria import score_table

        return score_table(self, p_total, sigma2, ebic_gamma=ebic_gamma, separated=separated)

    def near_best(
        self,
        k: int | None = None,
        *,
        within: float | None = None,
        criterion: str | None = None,
        max_models: int = 10_000,
        time_limit: float | None = None,
        progress: bool | None = None,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
    ) -> ModelSet:
        """All models nearly as good as the best one, as a `ModelSet`.

        With k these are the models S of k columns with objective(S) <= (1 + within) x the best
        objective of the size (where the least value of the loss is not 0, this value is first taken
        off both). With a criterion they are the models of any size with criterion(S) <= the best
        value + within. The loss is smooth, without lambda1; a ridge goes with k and a squared loss
        of single columns. Equal columns count as different ones. Models without a finite optimum
        (separated classes) are not listed, and the set is not complete (Fisher et al., JMLR 2019).

        Parameters
        ----------
        k : int, optional
            The size of the models, in columns or groups. None: all sizes, compared by `criterion`.
        within : float, optional
            The largest distance from the best model: a share of the objective beyond the least
            value of the loss (None means 0.01), or a difference of the criterion (None means 2).
        criterion : str, optional
            As in `best_subset`, for all sizes.
        max_models : int, default 10000
            The most models. Where there are more, the search ends, and the set is not complete.
        time_limit : float, optional
            Seconds. None means no limit.
        progress : bool, optional
            A line on stderr that shows seconds, models and nodes, as in `l0path.fit`.
        X, y : array-like, optional
            The data of the fit, needed after loading a path.

        Returns
        -------
        ModelSet
            The models, and what they have in common; `complete`: none is missing, else `reason`.

        Raises
        ------
        ValueError
            If an argument is out of range, or the problem is not served (see `best_subset`).

        Examples
        --------
        >>> import l0path
        >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y)
        >>> path.near_best(criterion="bic", within=2)
        <l0path.ModelSet: 4 models, k = 6..8, within 2 of the best bic; no other is>
        """
        from ..inspection import near_best

        return near_best(
            self, k, within=within, criterion=criterion, X=X, y=y,
            **{"max_models": max_models, "time_limit": time_limit, "progress": progress},
        )  # fmt: skip


def _neighbours(grid, value):
    """The grid values next to `value`, for messages."""
    below, above = grid[grid < value], grid[grid > value]
    near = [*([below.max()] if below.size else []), *([above.min()] if above.size else [])]
    return " and ".join(f"{x:.6g}" for x in near) or "none"
