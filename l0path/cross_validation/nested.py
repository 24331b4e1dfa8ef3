"""Nested cross-validation: how well the whole procedure predicts, the choice of the model
included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from .. import formula
from ..core import forward
from ..core.arguments import finite, is_whole, same_index, vector, whole
from ..core.hints import hands_on
from ..core.printed import Table
from ..core.progress import Bar
from ..core.status import End
from ..core.types import Matrix, Seed
from ..core.warnings import recorded
from ..designs.protocol import is_design
from ..engine.costs import tell_if_long
from ..engine.request import ARGUMENTS, request
from ..errors import refuse_masked
from ..paths import Model
from ..paths.predicting import linear_predictor
from ..paths.records import Source
from ..problem.families.trials import loss_meant
from ..problem.losses import canonical_name
from ..problem.specified import LossRecord
from .processes import draw_seed, warn_once
from .run import asked_of, cv_fit
from .scoring import HeldOutRows, in_classes, metric_of, score, times_of_fold
from .splits import _labels, check_arguments, is_splitter, make_splits, repeats_of, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHOICE = ["k", "n_features", "lambda0", "lambda1", "lambda2", "relax"]


class NestedCV:
    """Result of `nested_cv`: scores of a choice of model on rows that it has not seen.

    Attributes
    ----------
    table : DataFrame
        One row per outer fold: k, n_features, lambda0, lambda1, lambda2 and relax of the model
        chosen on its training rows; inner_mean, the inner score by which it was chosen, which is
        optimistic; score, on the held-out rows, which neither fit nor choice have seen; n_train and
        n_test.
    models : list of Model
        The model chosen in each outer fold. Its path holds no data.
    splits : list of (train, test)
        Row indices of the outer folds.
    repeats : ndarray of shape (n_folds,)
        The repeat of each outer fold.
    held_out : ndarray of shape (n,), or (n, r) for several responses or classes
        Predictions (`Model.predict`) of each row by the models that have not seen it, averaged over
        repeats; NaN for a row in no fold.
    scoring : str
        The metric.
    greater_is_better : bool
        Whether large values of the metric are good.
    rule : str or callable
        The rule of choice.
    random_state : int
        The seed that drew the folds.
    status : str
        "complete: ...", or what stopped the run. Then everything here is of the outer folds that
        finished.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        models: list[Model],
        splits: list,
        held_out: np.ndarray,
        *,
        metric: Any,
        rule: str | Callable,
        random_state: int,
        status: str,
        repeats: np.ndarray,
        y: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.status, self.repeats = status, repeats
        self._y, self._weights = y, weights
        self.table, self.models = Table(table), models
        self.splits, self.held_out = splits, held_out
        self.scoring = metric.name
        self.greater_is_better = metric.greater_is_better
        self.rule = rule
        self.random_state = random_state

    @property
    def mean(self) -> float:
        """The plain mean of the scores of the outer folds."""
        return float(self.table["score"].mean())

    @property
    def sd(self) -> float:
        """The sample standard deviation of the scores of the outer folds, within a repeat; NaN for
        one fold.
        """
        return float(spread(self.table["score"].to_numpy(), self.repeats)[0])

    @property
    def se(self) -> float:
        """The standard error of `mean`: sd / sqrt(number of outer folds of a repeat).

        Training sets overlap, so it is optimistic. NaN for one fold.
        """
        return float(spread(self.table["score"].to_numpy(), self.repeats)[1])

    def plot_roc(self, *, ax: Axes | None = None, label: str | None = None) -> Axes:
        """ROC curve of the held-out predictions of a nested cross-validation.

        Each row is ranked by the model of the outer fold that has seen it neither in the fit nor in
        the choice of the model.

        Parameters
        ----------
        ax, label : as in Model.plot
            The Axes to draw into (None makes a figure), and the label of the curve.

        Returns
        -------
        Axes
            The Axes of matplotlib.
        """
        return forward.plot_nested_roc(self, ax=ax, label=label)

    def plot_calibration(
        self, *, bins: int = 10, ax: Axes | None = None, label: str | None = None
    ) -> Axes:
        """Calibration curve of the held-out predictions of a nested cross-validation.

        Parameters
        ----------
        bins : int, default 10
            The number of bins, as in `Model.plot`.
        ax, label : as in Model.plot
            The Axes to draw into (None makes a figure), and the label of the curve.

        Returns
        -------
        Axes
            The Axes of matplotlib.
        """
        return forward.plot_nested_calibration(self, bins=bins, ax=ax, label=label)

    def save(self, file: str | PathLike) -> None:
        """Write the nested cross-validation to a file, which `l0path.load(file)` reads back.

        It holds the table, the chosen models, the folds, the held-out predictions, and the response
        and weights that the plots and scores of them need; X is never in it.

        Parameters
        ----------
        file : str or path
            The file to write. One that is there is replaced as a whole.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        return forward.save_nested(self, file)

    def _repr_html_(self):
        """The model chosen in each outer fold of a `NestedCV` and its score."""
        return forward.nested_html(self)

    def __len__(self):
        return len(self.table)

    def __repr__(self):
        sizes = ", ".join(map(str, self.table["k"]))
        said = f"scoring {self.scoring}: {self.mean:.4g} (se {self.se:.2g})"
        return (
            f"<l0path.NestedCV: {len(self)} outer folds, {said}; k by {self.rule!r}: {sizes}; "
            f"{self.status}>"
        )


@hands_on(*ARGUMENTS, *signature(cv_fit).parameters)
def nested_cv(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    outer: int | Iterable | Any = 5,
    rule: str | Callable = "min",
    cv: int | Iterable | Any = 10,
    scoring: str | Callable | None = None,
    groups_cv: ArrayLike | None = None,
    n_repeats: int = 1,
    sample_weight: ArrayLike | str | None = None,
    freq_weight: ArrayLike | str | None = None,
    trials: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    strata: ArrayLike | str | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
    **arguments: Any,
) -> NestedCV:
    """Score the choice of a model by cross-validation on rows that the choice has not seen.

    For every outer fold `cv_fit` runs on its training rows alone, `rule` chooses a model by the
    inner scores, and that model, fitted on all of these rows, is scored on the rows left out. The
    mean of these scores estimates the error of the procedure "cv_fit, then model(rule)". The least
    cv_mean of one `cv_fit` is smaller on average, because it is the best of several.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix or str
        As in `l0path.fit`; its rows are copied, one outer fold at a time. Or a formula with a
        DataFrame as y, encoded on all rows (levels, knots, centers).
    y : array-like of shape (n,), DataFrame or None
        The response, as in `l0path.fit`.
    outer : int, splitter, iterable, or array-like, default 5
        The outer folds, in the forms of `cv` in `cv_fit`. Those of a number are shuffled, and
        stratified for classes.
    rule : str or callable, default "min"
        The choice in each outer fold: "min", "sparse", "1se", or a criterion such as "bic".
    cv : int or splitter, default 10
        The inner folds.
    scoring : str, scorer, or callable, optional
        As in `cv_fit`, for the inner choice and the outer score. The `delta` of a Huber deviance is
        that of the outer training rows, unless it is given. None means "deviance".
    groups_cv : array-like of shape (n,) or str, optional
        Labels of rows that stay together, outside and inside. None keeps no rows together.
    n_repeats : int, default 1
        Repeats of an integer `outer`.
    sample_weight, freq_weight, trials, offset, strata : array-like of shape (n,) or str, optional
        As in `l0path.fit`. Held-out scores are weighted.
    random_state : int, Generator, or None
        The seed of the outer folds, and of the inner folds of each. None draws one.
    progress : bool, optional
        A bar on stderr that shows the outer folds, as in `l0path.fit`. A call that takes long says
        first how many fits it makes and roughly how long, unless this is False.
    **arguments : Any
        Other arguments of `cv_fit` and `l0path.fit`, such as max_k, loss, lambda2, relax and n_jobs
        (processes for the inner folds). `time_limit` is for each outer fold.

    Returns
    -------
    NestedCV
        The scores and the chosen models. At Ctrl-C, or where the time limit leaves an outer fold
        without a choice, it holds the outer folds that finished, and `status` says so.

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of the above, and where `cv_fit` raises them.
    KeyboardInterrupt or TimeoutError
        If no outer fold finished.

    References
    ----------
    - Varma & Simon, BMC Bioinformatics 7:91, 2006.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> l0path.nested_cv(X, y, outer=3, cv=5, rule="1se", max_k=4, random_state=1).table.k.tolist()
    [2, 2, 3]
    """
    by_row = {
        "outer": outer,
        "groups_cv": groups_cv,
        "sample_weight": sample_weight,
        "freq_weight": freq_weight,
        "trials": trials,
        "offset": offset,
        "strata": strata,
    }
    X, y, arguments = formula.open_formula(X, y, {**arguments, **by_row})
    outer, groups_cv, *given = map(arguments.pop, by_row)
    rows = dict(zip(list(by_row)[2:], given, strict=True))
    table = X.X if isinstance(X, formula.Encoded) else X
    same_index(X=table, y=y, outer=outer, groups_cv=groups_cv)
    loss = loss_meant(arguments.get("loss", "squared"), y, rows["trials"])
    name = canonical_name(loss, exact=True)
    metric = metric_of(scoring, name)
    _check_inner(cv)
    _named_outer(check_arguments, outer, n_repeats, groups_cv)
    seed = draw_seed(random_state)
    names = {name: arguments[name] for name in ("feature_names", "pos_label") if name in arguments}
    given = arguments.get("loss", "squared")
    record = given if isinstance(given, LossRecord) else name if isinstance(loss, str) else loss
    data = request(X, y, loss=record, **rows, **names, algorithm=_any_loss(name)).data
    labels = None if groups_cv is None else _labels(groups_cv, data.design.n, "groups_cv")
    splits = _named_outer(
        make_splits, outer, data, table, groups_cv=groups_cv, n_repeats=n_repeats, seed=seed
    )
    loop = OuterLoop(
        data,
        _rows_of(X),
        {"y": y, **rows, "groups_cv": labels},
        metric,
        rule,
        {"cv": cv, "scoring": scoring, "random_state": seed, "certify": False, **arguments},
    )
    loop.run(splits, progress)
    warn_once([], loop.warned, len(splits), "outer folds")
    return loop.result(splits, seed)


class OuterLoop:
    """The outer folds of a nested cross-validation, one after the other, and their results.

    Parameters
    ----------
    data : Data
        The response, weights and offset of all rows.
    rows_of : callable
        X at given rows.
    by_row : dict
        Arguments of `cv_fit` that have a value for each row, or None.
    metric : Metric
        The score.
    rule : str or callable
        The choice in each outer fold.
    arguments : dict
        The other arguments of `cv_fit`.
    """

    def __init__(self, data, rows_of, by_row, metric, rule, arguments):
        self.data, self.rows_of, self.by_row = data, rows_of, by_row
        self.metric, self.rule, self.arguments = metric, rule, arguments
        self.rows, self.models, self.warned = [], [], []
        self.cut_short, self.end = 0, ""
        self.total, self.times = None, np.zeros(data.design.n)

    def run(self, splits, progress):
        """Go through the folds. Those finished before an interruption or a time limit are kept; an
        exception is raised if there are none.
        """
        self.tell_cost(splits, progress)
        with Bar(progress, "l0path outer folds", len(splits), "fold") as bar:
            for train, test in splits:
                try:
                    inner, caught = self.inner(train)
                except (KeyboardInterrupt, TimeoutError) as stopped:
                    interrupted = isinstance(stopped, KeyboardInterrupt)
                    self.end = (End.INTERRUPTED if interrupted else End.TIME_LIMIT).reason
                    if not self.models and not interrupted:
                        raise
                    break
                if inner._end == End.INTERRUPTED:
                    # some of its inner folds finished: not the choice that was asked for
                    self.end = inner._end.reason
                    break
                self.warned.append([(w.category, str(w.message)) for w in caught])
                self.cut_short += inner._end != End.COMPLETE
                self.choose(inner, train, test)
                bar.update()
        if not self.models:
            raise KeyboardInterrupt("nested_cv was interrupted before one outer fold finished")

    def tell_cost(self, splits, progress):
        """Say what all of this takes, where that is long."""
        taken, given = self.taken(splits[0][0]), dict(self.arguments)
        del given["scoring"]  # it changes no cost
        with recorded():  # warnings come again
            asked = asked_of(self.rows_of(splits[0][0]), **taken, **given)
        remedy = "a smaller max_k=, outer= or cv=, or n_jobs=-1,"
        tell_if_long("nested_cv", asked, len(splits), 1, remedy, progress)

    def taken(self, train):
        """The arguments that have a value for each row, at the training rows."""
        return {name: _take(value, train, name) for name, value in self.by_row.items()}

    def inner(self, train):
        """(cross-validation on the training rows, its warnings)."""
        with recorded() as caught:
            return cv_fit(self.rows_of(train), **self.taken(train), **self.arguments), caught

    def choose(self, inner, train, test):
        """Choose a model by the inner scores, and score it on the rows left out."""
        i, data = inner.select(self.rule), self.data
        row, path = inner.scores.iloc[i], inner._path
        survival = data.loss.traits.response == "survival"  # risk sets hold training rows too
        rows = np.arange(data.design.n) if survival else test
        eta = linear_predictor(
            path._new_design(self.rows_of(rows))[0],
            None if data.offset is None else data.offset[rows],
            path._solutions[i],
        )
        times = times_of_fold(data, eta, (train, test)) if survival else None
        eta = eta[test] if survival else eta
        y, eta = in_classes(data.loss, path._solutions[i], data.y[test], eta)
        held_out = HeldOutRows(y, eta, data.weights[test], path, times)
        self.rows.append(
            {
                **row[CHOICE],
                "inner_mean": row["cv_mean"],
                "score": score(self.metric, held_out),
                "n_train": train.size,
                "n_test": test.size,
            }
        )
        predicted = path._transform(eta, None)
        if self.total is None:
            self.total = np.zeros((self.times.size, *predicted.shape[1:]))
        np.add.at(self.total, test, predicted)
        np.add.at(self.times, test, 1.0)
        path._source = Source()
        self.models.append(path.model(index=i))

    def table(self):
        """One row per fold that finished."""
        index = pd.RangeIndex(len(self.rows), name="fold")
        return pd.DataFrame(self.rows, index=index).astype({"k": np.int64, "n_features": np.int64})

    def held_out(self):
        """Mean prediction of each row by models that have not seen it, NaN for a row in no fold."""
        seen, out = self.times > 0, np.full(self.total.shape, np.nan)
        out[seen] = (self.total[seen].T / self.times[seen]).T
        return out

    def result(self, splits, seed):
        """The `NestedCV` of the folds that finished."""
        done = len(self.models)
        return NestedCV(
            self.table(),
            self.models,
            splits[:done],
            self.held_out(),
            metric=self.metric,
            rule=self.rule,
            random_state=seed,
            status=self.status(len(splits)),
            repeats=repeats_of(splits)[:done],
            y=self.data.y,
            weights=self.data.weights,
        )

    def status(self, n_splits):
        """A sentence that says how the loop ended."""
        done = len(self.models)
        said = (
            f"{self.end}; {done} of {n_splits} outer folds finished, the others are left out"
            if self.end
            else f"complete: {done} outer folds"
        )
        if self.cut_short:
            said += f"; in {self.cut_short} of them the time limit ended inner folds"
        return said


def _any_loss(loss):
    """An algorithm that takes the loss."""
    return "exact" if loss == "hinge" else "swap"


def _check_inner(cv):
    """The inner folds must be a rule that can be applied to any training set."""
    if is_whole(cv):
        whole(cv, "cv", 2)
    elif not is_splitter(cv):
        raise TypeError(
            f"cv={cv!r} must be a number of inner folds or a scikit-learn splitter: the inner "
            "folds differ by outer fold, so they cannot be given row by row"
        )


def _named_outer(call, *arguments, **more):
    """Call a function, and replace `cv` by `outer` in the errors that it raises."""
    try:
        return call(*arguments, **more)
    except (TypeError, ValueError) as error:
        raise type(error)(
            str(error)
            .replace("cv=", "outer=", 1)
            .replace(": cv must be", ": it must be")
            .replace("cv (fold ids)", "outer (fold ids)")
        ) from error


def _rows_of(X):
    """A function rows -> X at these rows (a copy), for an array, DataFrame, sparse matrix or nested
    lists.
    """
    if isinstance(X, formula.Encoded):
        inner = _rows_of(X.X)
        return lambda rows: X._replace(X=inner(rows), index=X.index[rows])
    if isinstance(X, pd.DataFrame):
        return lambda rows: X.iloc[rows]
    if scipy.sparse.issparse(X):
        by_row = X.tocsr()
        return lambda rows: by_row[rows]
    if is_design(X):
        raise TypeError(
            f"X is a design ({type(X).__name__}) whose rows cannot be taken apart; pass nested_cv "
            "an array, a DataFrame or a sparse matrix"
        )
    refuse_masked(X, "X")
    array = np.asarray(X)
    return lambda rows: array[rows]


def _take(value, rows, name):
    """The entries of an argument by row at these rows; pandas objects keep their index."""
    if value is None:
        return None
    if isinstance(value, (pd.Series, pd.DataFrame)):
        return value.iloc[rows]
    if isinstance(value, (pd.api.extensions.ExtensionArray, pd.Index)):
        return value[rows]
    refuse_masked(value, name)
    array = np.asarray(value)
    return finite(vector(value, rows.size, name), name) if array.ndim == 0 else array[rows]
