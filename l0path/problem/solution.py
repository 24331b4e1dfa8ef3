"""`Solution`: one fit in the user's units."""

from typing import Any, NamedTuple

import numpy as np

from ..core.status import OF_SMOOTHED, FitStatus, Optimality
from .dependence import basic
from .losses import OWN_LOSSES, name_of
from .problem import EPS
from .several import centered, has_free_number, summed_loss
from .traits import NO_RECESSION
from .verbs import Free, free_at

# the flag of a model with fewer coefficients other than 0 than its size
FEWER = "fewer_nonzeros"
# what is promised where exchanges were tried
BY_EXCHANGES = (Optimality.REFIT_SWAP, Optimality.REFIT_SWAP_M)
# begins the flag that says how many exchanges were tried; users see the number in `summary`
EXCHANGES = "m="
# excess of an objective over that of its fit, relative to 1 and to itself, beyond which rounding of
# coefficients in the user's units has lost the fit
LOST = 1e-3
# of the spread of linear predictors: larger rounding of these is seen in the loss
CANCELS = 1e-11


class Solution(NamedTuple):
    """One point: support (sorted indices, forced ones included), beta on it and intercept in the
    user's units; objective = loss + shrinkage (+ lambda0 sum f on a lambda0 grid). With r responses
    beta is (k, r) and the intercept (r,).
    """

    slice: int
    k: int
    support: np.ndarray
    beta: np.ndarray
    intercept: float
    lambda0: float
    lambda1: float
    lambda2: float
    loss: float
    shrinkage: float
    objective: float
    lambda0_low: float = float("nan")
    lambda0_high: float = float("nan")
    lower_bound: float = float("nan")
    status: str = FitStatus.CONVERGED
    optimality: str = Optimality.UNVERIFIED
    flags: tuple = ()
    # numbers of the chosen groups, ascending, forced features included; None without groups
    groups: Any = None
    thresholds: Any = None  # (K - 1,) between K ordered classes
    # its `coupled.hazard.Baseline`, on paths that were stored; of a Weibull model its
    # `ParametricHazard`, with the shape
    baseline: Any = None
    # the share g of the shrunken model, where 1 - g of the coefficients are those of the fit
    # without shrinkage on the same support
    relax: float = 1.0

    @property
    def shape(self):
        """The shape of a Weibull model, None of others."""
        return getattr(self.baseline, "shape", None)

    @property
    def units(self):
        """The units that sizes count: the columns, or the groups."""
        return self.support if self.groups is None else self.groups

    def in_texts(self):
        """With states as plain texts: members of enumerations show their class to users."""
        if {type(text) for text in (self.status, self.optimality, *self.flags)} == {str}:
            return self
        return self._replace(
            status=str(self.status),
            optimality=str(self.optimality),
            flags=tuple(map(str, self.flags)),
        )

    @property
    def n_nonzero(self):
        """The number of coefficients that are not 0."""
        return int(np.count_nonzero(self.beta))

    @property
    def noticed(self):
        """The flags as one text, without the number of exchanges that were tried."""
        return ", ".join(flag for flag in self.flags if not flag.startswith(EXCHANGES))

    @property
    def exchanges(self):
        """The number m of exchanges that "refit_swap_m" refers to; None for other kinds of
        optimality.
        """
        found = [int(flag[len(EXCHANGES) :]) for flag in self.flags if flag.startswith(EXCHANGES)]
        tried = (Optimality.REFIT_SWAP_M, OF_SMOOTHED[Optimality.REFIT_SWAP_M])
        return found[0] if found and self.optimality in tried else None

    @property
    def separated(self):
        """Whether the loss falls for ever along a ray, so that there is no optimum."""
        return self.status == FitStatus.SEPARATED


def in_user_units(
    problem,
    data,
    weights,
    fit,
    *,
    k,
    number=0,
    lambda0=float("nan"),
    lambda1=0.0,
    lambda2=0.0,
    optimality=Optimality.UNVERIFIED,
    free=-1,
    predicted=None,
):
    """The `Solution` of a `Fit` of a problem: beta = b / s, its loss computed from the coefficients
    as returned.

    Parameters
    ----------
    problem : Problem
        The problem of the fit.
    data : Data
        The data that it was made of.
    weights : ndarray of shape (n,)
        Those of all rows.
    fit : Fit
        A restricted optimum.
    k : int
        The number of chosen columns, or groups.
    number : int, default 0
        That of the slice.
    lambda0, lambda1, lambda2 : float
        The penalties; lambda0 is NaN on a grid of sizes.
    optimality : Optimality
        What was verified.
    free : int, default -1
        How many columns, or groups, may be chosen: the size of which there is one support only.
    predicted : ndarray of shape (n,), optional
        X beta, where it is known.

    Returns
    -------
    Solution
        The fit in the user's units.
    """
    support = fit.support
    if not (lambda1 or lambda2):
        given, fit = fit, _independent(problem, fit)
        predicted = predicted if fit is given else None
    beta, intercept = _coefficients(problem, data, fit, lambda1, lambda2)
    if predicted is None:
        predicted = data.design.dot(support, beta) if support.size else np.zeros(data.y.shape)
    eta = _predictors(problem, data, weights, (support, beta, intercept), predicted)
    loss, own = _loss_at(data, weights, eta)
    intercept = intercept + own.level
    if FitStatus.SEPARATED in fit.flags and data.loss.traits.recession != NO_RECESSION:
        loss = min(loss, float(fit.value))  # the infimum, which coefficients only come close to
    shrinkage = _shrinkage(problem, data, support, beta, lambda1, lambda2)
    if type(data.loss) is type(problem.loss) and not problem.quadratic:
        if loss + shrinkage > fit.value + LOST * (1.0 + abs(fit.value)):
            fit = fit._replace(flags=(*fit.flags, FitStatus.NOT_CONVERGED))
    chosen = None
    if problem.groups is not None:
        chosen = getattr(fit, "groups", np.empty(0, dtype=np.int64))
    flags = (*fit.flags, FEWER) if _fewer(problem, support, beta, chosen) else fit.flags
    on_grid = not np.isnan(lambda0)
    objective = loss + shrinkage
    if on_grid:
        objective += lambda0 * _cost(problem, support, beta, chosen)
    status = _status(data, flags)
    if status == FitStatus.SEPARATED and (on_grid or data.loss.traits.recession == NO_RECESSION):
        optimality = Optimality.UNVERIFIED  # its infimum is not known, or was not compared
    alone = k == 0 and not problem.forced.size and not on_grid
    known = status != FitStatus.SEPARATED or data.loss.traits.recession != NO_RECESSION
    alone = alone and known
    only = alone or (known and not on_grid and k in (0, free))  # there is one support of its size
    return Solution(
        slice=number,
        k=k,
        support=support,
        beta=beta,
        intercept=intercept,
        lambda0=lambda0,
        lambda1=lambda1,
        lambda2=lambda2,
        loss=loss,
        shrinkage=shrinkage,
        objective=objective,
        lower_bound=objective if alone and status == FitStatus.CONVERGED else float("nan"),
        status=status,
        optimality=_optimality(optimality, status, flags, on_grid, only, alone),
        flags=tuple(flags),
        groups=chosen,
        thresholds=own.thresholds,
        baseline=own.baseline,
    )


def mixed(problem, data, weights, shrunken, plain, *, shares, measured=True):
    """The mixtures of a shrunken `Solution` with the fit of its support without shrinkage.

    Each has the coefficients, and the intercept, g times those of the former plus 1 - g times those
    of the latter. Its loss and objective are those of its own coefficients; it is no optimum, so
    nothing is claimed of it. Thresholds between ordered classes, and the intercept and shape of a
    Weibull model, are the best ones for its predictor, as those of every model are.

    Parameters
    ----------
    problem, data, weights : as in in_user_units
        The problem of both.
    shrunken : Solution
    plain : Fit
        On the support of it.
    shares : sequence of float
        The g, from 0 to 1.
    measured : bool, default True
        Whether loss and objective are computed; NaN else.

    Returns
    -------
    list of Solution
        One for each g, separated where `plain` is.
    """
    s, support = shrunken, shrunken.support
    predicted, plain = None, _independent(problem, plain)
    beta, intercept = _coefficients(problem, data, plain)
    if measured or s.thresholds is not None or s.baseline is not None:
        Z = data.design.columns(support)
        predicted = Z @ s.beta, Z @ beta
    flags = [flag for flag in (*s.flags, *plain.flags) if not flag.startswith(EXCHANGES)]
    flags = tuple(flag for flag in dict.fromkeys(flags) if flag != FEWER)
    s = s._replace(
        lambda0_low=float("nan"),
        lambda0_high=float("nan"),
        lower_bound=float("nan"),
        status=_status(data, flags),
        optimality=Optimality.RELAXED,
        flags=flags,
    )
    told = {"weights": weights, "predicted": predicted, "measured": measured}
    return [_mixture(problem, data, s, (beta, intercept), g=g, **told) for g in shares]


def _mixture(problem, data, s, plain, *, g, weights, predicted, measured):
    """One of the mixtures of `mixed`. plain: (beta, intercept); predicted: X beta of both."""
    beta = g * s.beta + (1.0 - g) * plain[0]
    intercept = g * s.intercept + (1.0 - g) * plain[1]
    loss = shrinkage = float("nan")
    own, cost = Free(), 0.0
    if predicted is not None:
        eta = intercept + g * predicted[0] + (1.0 - g) * predicted[1]
        eta = eta if data.offset is None else eta + data.offset
        loss, own = _loss_at(data, weights, eta)
        intercept = intercept + own.level
    if measured:
        shrinkage = _shrinkage(problem, data, s.support, beta, s.lambda1, s.lambda2)
        if not np.isnan(s.lambda0):
            cost = s.lambda0 * _cost(problem, s.support, beta, s.groups)
    return s._replace(
        beta=beta,
        intercept=intercept,
        loss=loss,
        shrinkage=shrinkage,
        objective=loss + shrinkage + cost,
        flags=(*s.flags, FEWER) if _fewer(problem, s.support, beta, s.groups) else s.flags,
        thresholds=own.thresholds,
        baseline=own.baseline,
        relax=float(g),
    )


def _independent(problem, fit):
    """A fit without shrinkage with coefficients on independent columns only; those of single
    columns, and of squared losses, are so already.
    """
    if problem.groups is None or problem.quadratic or problem.boxed:
        return fit
    return basic(problem, fit)


def _predictors(problem, data, weights, coefficients, predicted):
    """The linear predictors of all rows, offset included, for the coefficients (support, beta,
    intercept) and predicted = X beta. Where columns lie so far from the origin that rounding of
    X beta would be seen in the loss they are centered first.
    """
    support, beta, intercept = coefficients
    eta, center = intercept + predicted, problem.X.center[support]
    spread = weights @ np.abs(eta - weights @ eta)
    if (EPS * (np.abs(center) @ np.abs(beta)) > CANCELS * spread).any():
        eta = intercept + center @ beta + (data.design.columns(support) - center) @ beta
    return eta if data.offset is None else eta + data.offset


def _loss_at(data, weights, eta):
    """(mean loss, `Free`) of predictors eta."""
    loss = summed_loss(data.loss, data.y, eta, weights, data.response_weights)
    return loss, free_at(data.loss, data.y, eta, weights)


def _shrinkage(problem, data, support, beta, lambda1, lambda2):
    """lambda1 ||b||_1 + lambda2 ||b||^2 of the standardized coefficients of beta in the user's
    units; of several responses the sum by their weights, of several classes the least of all
    coefficients that say the same.
    """
    if not (lambda1 or lambda2):
        return 0.0
    scale = problem.X.scale[support]
    if problem.turn is None:
        b = beta * scale
        return float(lambda1 * np.abs(b).sum() + lambda2 * b @ b)
    b, v = beta * scale[:, None], data.response_weights
    b = centered(b, lambda1, lambda2) if has_free_number(data.loss) else b
    return float((lambda1 * np.abs(b).sum(axis=0) + lambda2 * (b * b).sum(axis=0)) @ v)


def _coefficients(problem, data, fit, lambda1=0.0, lambda2=0.0):
    """(beta, intercept) of a fit, in the user's units; those of classes as the penalties, which
    are least there, have them. Intercepts of classes sum to zero, or that of a baseline is 0.
    """
    X, support = problem.X, fit.support
    if problem.turn is None:
        beta = fit.b / X.scale[support]
        intercept = float(fit.b0 - X.center[support] @ beta) if data.intercept else 0.0
    else:
        beta = fit.b / X.scale[support][:, None] @ problem.turn
        intercept = fit.b0 - X.center[support] @ beta if data.intercept else np.zeros(beta.shape[1])
        if lambda1 and has_free_number(data.loss):
            own = centered(fit.b @ problem.turn, lambda1, lambda2)
            beta = own / X.scale[support][:, None]
    return beta, intercept


def present(beta):
    """Whether each of k columns has a coefficient that is not 0, (k,), for beta (k,) or (k, r)."""
    return beta != 0 if beta.ndim == 1 else (beta != 0).any(axis=1)


def in_use(support, beta, groups):
    """The units of a solution: columns with a coefficient that is not 0, or the chosen groups."""
    return support[present(beta)] if groups is None else groups


def _fewer(problem, support, beta, chosen):
    """Whether a chosen column, or all columns of a chosen group, have a coefficient of 0."""
    if problem.groups is None:
        return np.count_nonzero(present(beta)) < support.size
    counts = np.zeros(problem.X.p, dtype=bool)
    counts[support[present(beta)]] = True
    return not problem.groups.with_columns(counts)[chosen].all()


def _cost(problem, support, beta, chosen):
    """sum f_j over the columns with a coefficient that is not 0, or the chosen groups."""
    return float(problem.unit_factor[in_use(support, beta, chosen)].sum())


def _status(data, flags):
    """The status of the fit; the hinge has an optimum where it separates, of loss 0."""
    own = name_of(data.loss) in OWN_LOSSES
    if FitStatus.SEPARATED in flags and (own or data.loss.traits.recession != NO_RECESSION):
        return FitStatus.SEPARATED
    if FitStatus.NOT_CONVERGED in flags:
        return FitStatus.NOT_CONVERGED
    return FitStatus.CONVERGED


def _optimality(verified, status, flags, on_grid, only, alone):
    """The optimality of a fit, from the state of its verification. only: whether there is one
    support of its size; alone: whether this one has no column.
    """
    # a separated fit whose infimum was not reached has both flags
    apart, known = FitStatus.SEPARATED in flags, FitStatus.NOT_CONVERGED not in flags
    if not known and verified in BY_EXCHANGES:
        return Optimality.UNVERIFIED  # exchanges were compared with what is not its optimum
    if status == FitStatus.CONVERGED and apart and not on_grid:
        verified = Optimality.GLOBAL  # no loss of a hinge is below 0
    if known and (alone or (only and verified != Optimality.UNVERIFIED)):
        return Optimality.GLOBAL  # near combinations leave supports of columns unverified
    return verified
