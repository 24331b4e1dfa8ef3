"""Declared properties of a loss."""

from typing import NamedTuple

import numpy as np

# how a loss may fall for ever along a direction of the coefficients: never; where it separates the
# classes; where it sends the means of rows with y = 0 to zero; where of all rows at risk those that
# die have the largest predictors; where it sends shares to 0 or 1; where it separates ordered
# classes; where it sends hazards of censored rows to 0, or the shape of all hazards to infinity
NO_RECESSION, SEPARATES, EMPTIES, MONOTONE, FILLS, ORDERED, OUTLASTS = 0, 1, 2, 3, 4, 5, 6
# what is sent where means go to the end of their range
SENT = {
    EMPTIES: "the rates of some rows to zero",
    FILLS: "the shares of some rows to 0 or 1",
    OUTLASTS: "the hazards of some rows to zero",
}
# |eta - offset| beyond which a fit may run off to infinity, by recession: half as far where
# differences of predictors count
FAR_OUT = (20.0, 20.0, 20.0, 10.0, 20.0, 10.0, 10.0)


def nearer(recession, weights):
    """By how much less than FAR_OUT a predictor is far out where weights are far apart: a term of
    weight w at a margin m has w exp(-m) left, which is lost among the others where w is small.

    Parameters
    ----------
    recession : int
        A code of this module.
    weights : ndarray of shape (n,)
        Of rows; those of weight 0 do not count.

    Returns
    -------
    float
        0 for equal weights; infinity where short times may leave as little of any row.
    """
    if recession == OUTLASTS:
        return np.inf
    weights = weights[weights > 0.0]
    apart = -float(np.log(weights.min() / weights.mean()))
    # a member of a risk set has its weight times that of the event
    return 2.0 * apart if recession == MONOTONE else apart


class LossTraits(NamedTuple):
    """The properties of a loss that solvers and results ask for, beside its verbs and those of
    `responses`.

    Attributes
    ----------
    name : str
        Its public name.
    response : {"real", "counts", "classes", "ordered", "survival", "positive", "amounts",
        "shares"}
        What y holds. Classes are -1 and 1 inside, ordered ones
        0, 1, ..., and the events of survival 0 or 1; amounts are
        positive or 0, shares within [0, 1], with the numbers of trials in the weights.
    smoothness : float
        Largest curvature in eta (L of the papers); inf where there is no bound, or where it depends
        on a parameter (see `smoothness`).
    jumps : bool
        Whether the curvature jumps. Where it does not, the curvatures of a fit close by rank
        exchanges.
    curvature_floor : float
        Share of `smoothness` that rows count at least when exchanges are ranked: losses with flat
        pieces have rows without curvature.
    entry_safety : float
        The exact gain of a column that enters is at most so many times its quadratic estimate
        (measured; coordinate descent works out the exact gain of all that could be best).
    link : {"identity", "logit", "softmax", "ordered", "log", ""}
        The predictor as a function of the mean of y; empty where the loss has no mean.
    recession : int
        NO_RECESSION, SEPARATES, EMPTIES, MONOTONE, FILLS, ORDERED or OUTLASTS: how it may fall for
        ever.
    bounded : bool
        Whether its curvature is bounded, which methods of fixed steps need.
    likelihood : bool
        Whether it is a negative log-likelihood, up to constants and a scale.
    parameter : str
        The argument of `fit` that its number comes from; empty where it has none.
    coupled : bool
        Whether it is no sum over rows (see `verbs`).
    intercept : bool
        Whether an intercept can be fitted. Where it would not matter, columns are centered as with
        one.
    pilot : str
        The number that a pilot fit finds where the argument of that name is not given.
    dispersion : int
        How many parameters its likelihood has beside the coefficients that information criteria
        count: shapes and scales that follow by maximum likelihood.
    constant : bool
        Whether results have an intercept that no fit sees, because the best one belongs to every
        predictor.
    predictors : {"one", "classes"}
        What a row has predictors for: one, or one for each response where y has several; or one for
        each class, of which a number common to all says nothing (`several.predictors` counts them).
    """

    name: str
    response: str
    smoothness: float
    jumps: bool
    curvature_floor: float = 0.0
    entry_safety: float = 8.0
    link: str = ""
    recession: int = NO_RECESSION
    bounded: bool = True
    likelihood: bool = False
    parameter: str = ""
    coupled: bool = False
    intercept: bool = True
    pilot: str = ""
    dispersion: int = 0
    constant: bool = False
    predictors: str = "one"

    @property
    def by_class(self):
        """Whether a row has a predictor for each of several classes."""
        return self.predictors == "classes"

    @property
    def gaussian(self):
        """Whether it is the likelihood of the normal distribution, to which sums of squares
        belong.
        """
        return self.name == "squared"

    @property
    def partial(self):
        """Whether it is a partial likelihood, whose terms are events, of the rows at risk then."""
        return self.recession == MONOTONE

    @property
    def free_scale(self):
        """Whether its likelihood has a dispersion that is estimated, so that weights may be
        precisions; weighted likelihoods of the others are pseudo-likelihoods.
        """
        known = self.parameter == "theta" or self.coupled
        return self.gaussian or (self.dispersion > 0 and not known)


def held_by(recession, y):
    """The direction in which each row lets the predictor move along a direction of recession, in
    which a loss falls for ever.

    Parameters
    ----------
    recession : int
        A code of this module.
    y : ndarray of shape (n,)

    Returns
    -------
    signs : ndarray of shape (n,)
        1 or -1: the sign that the predictor of a row may have.
    held : ndarray of bool of shape (n,)
        Rows whose predictor may not change.
    """
    if recession == SEPARATES:
        return y, np.zeros(y.size, dtype=bool)
    if recession == EMPTIES:
        return np.full(y.size, -1.0), y > 0
    return np.where(y >= 1, 1.0, -1.0), (y > 0) & (y < 1)
