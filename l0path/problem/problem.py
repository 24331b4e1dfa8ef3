"""The problem in the solvers' units: what `fit` was asked, with columns standardized on the fly,
weights that sum to one, and rows of weight zero left out.

minimize over (b0, b):  sum_i w_i loss(y_i, o_i + b0 + z_i'b) + lambda0 sum_j f_j [b_j != 0] +
lambda1 ||b||_1 + lambda2 ||b||^2,   lower <= b <= upper       (P)
z_j = (x_j - c_j) / s_j,   b_j = s_j beta_j,   beta0 = b0 - sum_j c_j beta_j
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..designs import AllRows, Derived, Standardized, TrainingSet, check_finite, directions
from ..designs.protocol import traits_of
from .coupled.weibull import refuse_endless
from .groups import one_each, posed_groups
from .losses import Squared
from .responses import EPS, rounding, saturated, without_mean
from .several import class_codes, contrasts, turned
from .verbs import least_value, restricted, unseen

LAST_DIGITS = 8  # relative roundings that a column may vary by and still be constant


@dataclass(frozen=True, kw_only=True)
class Data:
    """The user's data, checked, in the user's units: rows n, columns p. `y` is -1 / 1 for two
    classes, (n, r) for several responses; `class_weight` has a number for each class, negative and
    positive, or is "balanced" or None.
    """

    design: Any
    y: np.ndarray
    loss: Any
    weights: np.ndarray
    class_weight: Any = None
    offset: np.ndarray | None = None
    intercept: bool = True
    standardize: bool = True
    lower: np.ndarray
    upper: np.ndarray
    factor: np.ndarray
    forced: np.ndarray
    excluded: np.ndarray
    names: list
    classes: tuple | None = None
    groups: Any = None  # `groups.Groups`: then the penalty counts these
    # weights are the product of the importance of a row, how many rows it stands for, and the
    # trials of shares; importance: whether the first differs between rows, or classes have weights
    counts: np.ndarray | None = None  # (n,) how many rows each row stands for; None: one
    trials: np.ndarray | None = None  # (n,) of shares
    importance: bool = False
    # (m, 2) columns that are left out, each with the one that it equals: see `copies`
    copies: np.ndarray | None = None
    responses: tuple | None = None  # names of several responses
    response_weights: np.ndarray | None = None
    apart: bool = False  # whether lambda1 is about the coefficients of each response
    strata: tuple | None = None  # labels of the strata of survival times
    index: Any = None  # labels of the rows, of a table

    @cached_property
    def boxed(self):
        """Whether any column that is not excluded has a finite bound."""
        low, high = self.lower[~self.excluded], self.upper[~self.excluded]
        return bool(np.isfinite(low).any() or np.isfinite(high).any())

    @property
    def several(self):
        """Whether there are several responses, each with predictors of its own."""
        return self.responses is not None and not self.loss.traits.by_class

    @property
    def response(self):
        """The arrays that the response is made of: y, and the times of survival."""
        loss = self.loss
        if loss.traits.response != "survival":
            return (self.y,)
        return self.y, loss.start, loss.stop, loss.stratum

    @property
    def units(self):
        """The `Groups` that sizes count, which may be columns."""
        return self.groups or one_each(self.names, self.factor)

    @property
    def spare(self):
        """Whether a column is left out as a copy, (p,) bool."""
        out = np.zeros(self.excluded.size, dtype=bool)
        out[[] if self.copies is None else self.copies[:, 0]] = True
        return out


class Fit(NamedTuple):
    """Coefficients on a support. With q responses b is (k, q), and b0 (r,) in the user's units."""

    support: np.ndarray  # (k,), sorted column indices, forced ones included
    b: np.ndarray  # (k,)
    b0: float  # intercept
    value: float  # loss + shrinkage
    flags: tuple = ()  # of `core.status.FitStatus`

    @property
    def units(self):
        """The units that sizes count: the columns."""
        return self.support

    @property
    def key(self):
        """The units as bytes, which tell fits apart."""
        return self.support.tobytes()


class GroupFit(NamedTuple):
    """A `Fit` with its groups, ascending, forced features included; support is the union of their
    usable columns.
    """

    support: np.ndarray
    b: np.ndarray
    b0: float
    value: float
    flags: tuple
    groups: np.ndarray

    @property
    def units(self):
        """The units that sizes count: the groups."""
        return self.groups

    @property
    def key(self):
        """The groups as bytes."""
        return self.groups.tobytes()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """(P) for one set of weights. X standardized design (n active rows, p); y, weights, offset
    (n,); factor, lower, upper, square (p,), usable (p,) bool; forced indices.
    """

    X: Standardized
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    loss: Any
    intercept: bool
    factor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    square: np.ndarray  # weighted mean square of each standardized column: 1 when standardized
    usable: np.ndarray
    forced: np.ndarray
    n_eff: float
    shift: float  # what was taken off a squared loss's y: its intercept
    groups: Any = None
    floor: float = (
        0.0  # the least value the mean loss can take: that of predicting every y; -inf: not known
    )
    noise: float = 0.0  # what rounding of y leaves of it
    # (q, r): what brings coefficients (k, q) of the q responses seen back to the user's r;
    # y is (n, q) then, and shift (r,) in the user's units
    turn: np.ndarray | None = None
    responses: tuple | None = None  # names of the user's r responses

    @property
    def centered(self):
        """Whether columns are about their means: with an intercept, or where none would matter."""
        return self.intercept or not self.loss.traits.intercept

    @property
    def free_intercept(self):
        """Whether the intercept is fitted with the coefficients; that of a squared loss is the
        `shift`.
        """
        return self.intercept and not self.quadratic

    @property
    def quadratic(self):
        """Whether the loss is squared, so that Gram matrices say everything."""
        return isinstance(self.loss, Squared)

    def predictor(self, fit, Z):
        """(n,) offset and intercept, and the columns of a fit, the rows of Z (k, n), times its
        coefficients.
        """
        return self.offset + fit.b @ Z + (fit.b0 - self.shift)

    def locked(self, J):
        """A mask of the columns J (indices) that are forced."""
        if not self.forced.size:  # np.isin takes longer than a small fit can afford
            return np.zeros(len(J), dtype=bool)
        return np.isin(J, self.forced)

    def rounding(self, J):
        """A bound on the rounding in unit columns that are combinations of others among the columns
        J, for coefficients of size 1: larger where columns are far from the origin that was
        subtracted.
        """
        length = self.X.scale[J] * np.sqrt(np.maximum(self.square[J], 1e-300))
        away = np.abs(self.X.center[J]) / length
        return 32.0 * EPS * (1.0 + float(away.max(initial=0.0)))

    def perfect(self, value, scale):
        """Whether a mean loss is as low as it can be, up to rounding; scale: that of the null
        model. Nothing is where the least loss is not known, or where it is beyond all numbers.
        """
        return value < np.inf and value - self.floor <= self.left_of_perfect(scale)

    def left_of_perfect(self, scale):
        """What rounding leaves of a mean loss that is as low as it can be."""
        return 1e-13 * scale + self.noise

    @cached_property
    def boxed(self):
        """Whether any usable column has a finite bound."""
        return bool(
            np.isfinite(self.lower[self.usable]).any() or np.isfinite(self.upper[self.usable]).any()
        )

    @property
    def predictors(self):
        """The number q of predictors of a row."""
        return 1 if self.turn is None else len(self.turn)

    @property
    def refit_rows(self):
        """The cost of a refit, in rows of one response; the number of refits depends on it."""
        return self.n_eff * self.predictors**2

    @property
    def selectable(self):
        """Usable columns that are not forced (p,)."""
        out = self.usable.copy()
        out[self.forced] = False
        return out

    @cached_property
    def of_each(self):
        """The problem of each of several responses that share nothing but the columns of a model;
        empty where there are none.
        """
        if not responses_apart(self.loss, self.turn):
            return []
        return [
            replace(
                self,
                y=y,
                offset=offset,
                turn=None,
                groups=None,
                floor=_least(self.loss, y, self.weights),
                noise=rounding(self.loss, y, self.weights, float(np.abs(y).max())),
            )
            for y, offset in zip(_columns(self.y), _columns(self.offset), strict=True)
        ]

    def fits_of_each(self, fit):
        """The `Fit` of each of the problems `of_each`; their values are not known."""
        own = fit.b * np.diagonal(self.turn)
        return [
            Fit(fit.support, np.ascontiguousarray(own[:, s]), float(fit.b0[s]), np.nan, fit.flags)
            for s in range(len(self.of_each))
        ]

    @property
    def one_gram(self):
        """Whether one Gram matrix and one vector of products say everything about all models:
        single columns, squared loss, one response.
        """
        return self.quadratic and self.groups is None and self.turn is None

    def closed_form(self, lambda1):
        """Whether best coefficients have a closed form, so that tables of exchanges are exact:
        squared loss, no lambda1, no bounds.
        """
        return self.quadratic and not lambda1 and not self.boxed

    @property
    def by_rows(self):
        """Whether the loss is a sum over rows of a function of one predictor each: neither classes
        or responses nor rows are fitted together.
        """
        return self.turn is None and not self.loss.traits.coupled

    # -------------------- the units that are chosen: columns, or groups of columns

    @cached_property
    def units(self):
        """The `Groups` that sizes count, which may be columns, under their numbers."""
        return self.groups or one_each(range(self.factor.size), self.factor)

    @property
    def free_units(self):
        """Units that may be chosen (units,) bool: they have a usable column, and are not forced."""
        return self.selectable if self.groups is None else self.groups.selectable(self.usable)

    @property
    def held_units(self):
        """Units that every model has, ascending."""
        if self.groups is None:
            return self.forced[self.usable[self.forced]].astype(np.int64)
        return np.flatnonzero((self.groups.factor == 0) & self.groups.with_columns(self.usable))

    @property
    def units_to_choose(self):
        """How many units may be chosen."""
        return int(self.free_units.sum())

    @property
    def unit_factor(self):
        """What multiplies lambda0 in the cost of each unit (units,)."""
        return self.units.factor

    @property
    def even_cost(self):
        """What a unit that may be chosen costs for lambda0 = 1; None where they differ."""
        costs = np.unique(self.unit_factor[self.free_units])
        return None if costs.size > 1 else float(costs.sum())

    @property
    def hierarchy(self):
        """Which groups need others in a model, None where none does."""
        return self.units.hierarchy

    def fit_of(self, fit, units):
        """The fit of a set of units, ascending and held ones among them, from that of its
        columns.
        """
        return fit if self.groups is None else GroupFit(*fit, units)

    def columns_of(self, units):
        """Columns of a set of units, held ones among them: they themselves, or those of groups with
        the forced ones.
        """
        if self.groups is None:
            return units
        columns = np.concatenate([self.forced, *(self.groups.of(g) for g in units)])
        found = np.unique(columns).astype(np.int64)
        return found[self.usable[found]]


def codes_of(data):
    """The class numbers (n,) of the rows of `Data` with classes, ordered ones among them."""
    ordered = data.loss.traits.response == "ordered"
    return data.y.astype(np.int64) if ordered else class_codes(data.y)


def row_weights(data, keep=None):
    """Weights of all rows (n,), sum one, class weights included; `keep` (n,) bool or multiplicities
    restricts to a training set. Class balance is taken within it.
    """
    w = data.weights / data.weights.max()  # so that no sum overflows
    w = w if keep is None else w * keep
    if data.class_weight is not None:
        codes, r = codes_of(data), len(data.classes)
        if isinstance(data.class_weight, str):  # "balanced": all classes get the same
            totals = np.bincount(codes, weights=w, minlength=r)
            each = (1.0 / r) / np.maximum(totals, 1e-300)
        else:
            each = np.array(data.class_weight)
        w = w * each[codes]
    total = w.sum()
    if not total > 0:
        raise ValueError(
            "the weights (sample_weight times class_weight) sum to zero on the rows to be fitted; "
            "give at least one row a positive weight"
        )
    return w / total


def copies_of(weights, counts=None, keep=None):
    """(n,) how many rows each row stands for: `counts` (None: one), 0 where its weight is 0, times
    its multiplicity `keep` in a training set.
    """
    some = weights > 0
    out = some.astype(np.float64) if counts is None else np.where(some, counts, 0.0)
    return out if keep is None else out * keep


def counted_rows(data, keep=None):
    """The n of criteria: the number of rows of positive weight, each as often as it counts, or of
    events of a partial likelihood.
    """
    copies = copies_of(data.weights, data.counts, keep)
    return float(copies @ data.y if data.loss.traits.partial else copies.sum())


def counted_for_sizes(data, keep=None):
    """The number of rows, or of events of survival times, that default sizes are half of."""
    copies = copies_of(data.weights, data.counts, keep)
    return float(copies @ data.y if data.loss.traits.response == "survival" else copies.sum())


def counted_trials(data, keep=None):
    """The trials of shares in all rows, times their importance, whose mean over the rows is 1."""
    copies = copies_of(data.weights, data.counts, keep)
    w = data.weights if keep is None else data.weights * keep
    each = np.divide(w, data.trials, out=np.zeros(w.size), where=data.trials > 0)
    return float(copies.sum() * (w.sum() / each.sum()))


def loss_of_rows(data, keep=None):
    """The loss of the rows of positive weight in a training set: one that keeps rows is that of
    these alone, and Efron's ties count a row as often as it is in the set.
    """
    active = data.weights > 0 if keep is None else data.weights * keep > 0
    again = keep is not None and data.loss.traits.partial and np.max(keep) > 1
    if again:
        copies = copies_of(data.weights, data.counts, keep)
        return data.loss.restricted(data.y, np.flatnonzero(active), counts=copies)
    return data.loss if active.all() else restricted(data.loss, data.y, np.flatnonzero(active))


def pose(data, keep=None, all_rows=None):
    """Problem of all rows, or of a training set `keep` (n,) bool: moments, scales and bounds are
    taken there, X is not copied.

    all_rows: AllRows of the same data, from whose sums those of a training set follow by
    subtraction
        where that is safe.
    """
    full = row_weights(data, keep)
    active, loss = full > 0, loss_of_rows(data, keep)
    rows = None if active.all() else np.flatnonzero(active)
    weights = full if rows is None else full[rows]
    y, offset = data.y, np.zeros(data.y.shape) if data.offset is None else data.offset
    y, offset = (y, offset) if rows is None else (y[rows], offset[rows])
    size = float(np.abs(y).max())
    y, offset, shift, turn = _centered(data, y, offset, weights)
    alone = responses_apart(data.loss, turn)
    y = np.ascontiguousarray(y, dtype=np.float64)
    if alone:
        _refuse_endless_levels(data, y, weights)
    centered = data.intercept or not data.loss.traits.intercept
    with np.errstate(over="ignore", invalid="ignore"):
        held = None if all_rows is None or keep is None else all_rows.less(keep, full)
        if held is None and traits_of(data.design).prefetch:
            _prefetch(data, rows, weights, y, keep is None)
        mean, second = (
            data.design.moments(full, centered) if held is None else (held.mean, held.second)
        )
        if centered:
            second = np.where(constant(mean, second), 0.0, second)
    nonfinite = np.flatnonzero(~(np.isfinite(mean) & np.isfinite(second)))
    if nonfinite.size:
        check_finite(data.design, data.names)
        raise ValueError(
            f"X has entries too large to be squared in {nonfinite.size} columns, the first "
            f"{data.names[nonfinite[0]]}; rescale them"
        )
    # without an intercept columns keep their origin, and the scale is their root mean square
    scale = (
        np.sqrt(np.where(second > 0, second, 1.0)) if data.standardize else np.ones(data.design.p)
    )
    if loss.traits.constant:
        refuse_endless(loss, y)
    parts = [(1.0, y)]
    if data.responses is not None:
        v = data.response_weights
        parts = list(zip(v, _columns(y), strict=True)) if alone else [(float(v.sum()), y)]
    noise = sum(share * rounding(loss, one, weights, size) for share, one in parts)
    X = (
        Standardized(data.design, mean, scale, rows)
        if held is None
        else TrainingSet(held, scale, rows, weights, y)
    )
    square = second / scale**2
    usable = _usable(data, second, unseen(loss, y, weights, X, square))
    return Problem(
        X=X,
        y=y,
        weights=weights,
        offset=np.ascontiguousarray(offset, dtype=np.float64),
        loss=loss,
        intercept=data.intercept,
        factor=data.factor,
        lower=data.lower * scale,
        upper=data.upper * scale,
        square=square,
        usable=usable,
        forced=data.forced[usable[data.forced]],
        n_eff=counted_rows(data, keep),
        shift=shift,
        groups=posed_groups(data.groups, usable, data.excluded),
        floor=sum(share * _least(loss, one, weights) for share, one in parts),
        noise=noise,
        turn=turn,
        responses=data.responses,
    )


def _refuse_endless_levels(data, y, weights):
    """Refuse several responses y (n, r) of which one has no finite intercept: of two classes the
    same in all rows, or of counts without any.
    """
    high, low = (weights @ (y > 0)) > 0, (weights @ (y < 0)) > 0
    apart = np.array([without_mean(data.loss, total) for total in weights @ y])
    if data.loss.traits.response == "classes":
        apart |= ~(high & low)
    if apart.any():
        s = int(np.flatnonzero(apart)[0])
        raise ValueError(
            f"y is {int(high[s])} in every row of this fit for {data.responses[s]}; leave this "
            "response out, or take fewer folds or larger samples"
        )


def responses_apart(loss, turn):
    """Whether there are several responses that share nothing but the columns of a model, see
    `response_sum`; turn: as in `Problem`.
    """
    return turn is not None and not (loss.traits.by_class or isinstance(loss, Squared))


def _columns(y):
    """The columns of y (n, r), each in a piece."""
    return [np.ascontiguousarray(one) for one in y.T]


def constant(mean, second):
    """(p,) whether columns are constant up to rounding, from their means and second moments about
    these: sums such as a + (1 - a) differ from 1 in their last digits, and no more is in them.
    """
    return np.sqrt(second) <= LAST_DIGITS * EPS * np.abs(mean)


def _centered(data, y, offset, weights):
    """(y, offset, shift, turn) of a problem: a squared loss takes the offset off y, and its mean if
    there is an intercept.
    """
    if not isinstance(data.loss, Squared):
        turn = None
        if data.responses is not None:
            turn = np.diag(1.0 / np.sqrt(data.response_weights))
        if data.loss.traits.by_class:
            turn = contrasts(y.shape[1], data.loss.baseline)
            offset = offset - offset[:, :1] if data.loss.baseline else offset
        return y, offset, 0.0, turn
    y, offset = y - offset, np.zeros(weights.size)
    shift = weights @ y if data.intercept else np.zeros(y.shape[1:])
    if data.responses is None:
        return y - float(shift), offset, float(shift), None
    y, turn = turned(y - shift, weights, data.response_weights, data.apart or data.boxed)
    return y, offset, shift, turn


def _least(loss, y, weights):
    """The least value the mean loss can take."""
    if loss.traits.coupled:
        return least_value(loss, y, weights)
    return float(np.sum(weights @ saturated(loss, y)))


def _usable(data, second, unseen):
    """Columns (p,) that vary, that the loss sees and that are not excluded. A forced column that
    does not vary has coefficient 0: it is refused where that is outside its bounds.
    """
    usable = (second > 0) & ~unseen & ~data.excluded & ~data.spare
    if data.intercept and isinstance(data.names, Derived):
        usable[data.names.repeated(second)] = False
    dropped = data.forced[~usable[data.forced]]
    dropped = dropped[(data.lower[dropped] > 0) | (data.upper[dropped] < 0)]
    if dropped.size:
        j = dropped[0]
        raise ValueError(
            f"{data.names[j]} is in always_include with bounds [{data.lower[j]:g}, "
            f"{data.upper[j]:g}] that leave out 0, but it is constant in the rows of this fit, so "
            "its coefficient is 0; take it out of always_include, or widen its bounds"
        )
    return usable


def _prefetch(data, rows, weights, y, first):
    """Announce to a design whose reads are expensive the products needed after its moments:
    products with y, and in a first fit the sketches of `duplicates`.
    """
    ahead = [directions(data.design.n)] if first else []
    if isinstance(data.loss, Squared):
        y = y.reshape(weights.size, -1)
        full = np.zeros((data.design.n, y.shape[1]))
        full[slice(None) if rows is None else rows] = weights[:, None] * y
        ahead.append(full)
    if ahead:
        data.design.foresee(np.hstack(ahead))


def all_rows_of(model, jobs=1):
    """AllRows of a model on the working columns that was fitted to all rows; jobs: processes that
    share the memory allowed.
    """
    p = model.problem
    more = {}
    if p.quadratic:
        more = {"y": p.y, "products": model.q_all} if p.turn is None else {}
        if model.cluster is None:
            more |= {"members": sorted(model.row_of, key=model.row_of.get), "rows": model.rows}
    return AllRows(p.X, p.weights, p.square, p.centered, jobs=jobs, **more)


def with_loss(problem, loss):
    """The problem with another loss on the same y, which is not squared."""
    size = float(np.abs(problem.y).max())
    return replace(
        problem,
        loss=loss,
        floor=float(problem.weights @ saturated(loss, problem.y)),
        noise=rounding(loss, problem.y, problem.weights, size),
    )


def weighted_median(x, weights):
    """Smallest x_i with at least half the weight at or below it, averaged with the next where the
    half is met exactly.
    """
    order = np.argsort(x, kind="stable")
    x, cumulative = x[order], np.cumsum(weights[order])
    half = 0.5 * cumulative[-1]
    at = int(np.searchsorted(cumulative, half * (1 - 1e-12)))
    tie = abs(cumulative[at] - half) <= 1e-12 * cumulative[-1]
    later = np.flatnonzero(cumulative > half * (1 + 1e-12))
    return 0.5 * (x[at] + x[later[0]]) if tie and later.size else x[at]


def checksum(data):
    """A cheap digest of the data: the response, and up to 64 evenly spaced columns of X."""
    digest = hashlib.blake2b(digest_size=16)
    design = data.design
    J = np.unique(np.linspace(0, design.p - 1, min(design.p, 64)).astype(np.int64))
    digest.update(repr((design.n, design.p)).encode())
    step = max(1, (1 << 20) // max(design.n, 1))
    for start in range(0, J.size, step):
        digest.update(np.ascontiguousarray(design.columns(J[start : start + step]).T).tobytes())
    for part in data.response:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
