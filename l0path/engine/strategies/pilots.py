"""Numbers of a loss that X and y decide before the path, from the residuals of a pilot path: the
threshold of the Huber loss, the theta of the negative binomial loss, and the width over which the
loss of a quantile is smoothed.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from ...problem.families import NegativeBinomial, Quantile
from ...problem.families.counts import LARGEST_THETA, theta_of
from ...problem.losses import Huber
from ...problem.problem import weighted_median
from ...problem.responses import LARGEST_EXPONENT, poisson_start
from ...working_set.rows import RowModel

MAD_TO_SD = 1.482602218505602  # standard deviation of a normal variable over its MAD
SDS_OF_HUBER = 1.345  # thresholds of so many standard deviations: 95 % efficiency at the normal
PILOT_READS, PILOT_RENEWALS = 10, 50  # of X in a pilot path; of the threshold on its last support
ALL_EQUAL = 1e-9  # a MAD below this share of the spread of y is 0
LEAST_WIDTH = 0.05  # of the smoothing of quantiles, in standard deviations of the residuals


def pilot_loss(problem, over=lambda: False):
    """The loss of a problem with the number that a pilot fit finds.

    Parameters
    ----------
    problem : Problem
        Its loss names the number in `traits.pilot`.
    over : callable
        Whether the time is up.

    Returns
    -------
    NamedTuple
        The loss.
    list of str
        What the user should be told.
    """
    pilot = PILOTS[problem.loss.traits.pilot](problem)
    pilot.run(over)
    return pilot.loss(), pilot.notes()


class Pilot(ABC):
    """A pilot path: the number of a loss, renewed on every support, and a model of the loss with it
    on the working columns.

    One column at a time is added, the one of largest standardized gradient, while that is more than
    noise gives, sqrt(2 log p) standard errors (Donoho & Johnstone, Biometrika 81, 1994), up to
    k = min(p, n_eff / 10) columns (forced ones among them; groups count by their columns, bounds
    and shrinkage are left out). On every support the number is computed anew from the residuals, on
    the last one until it no longer changes. A pilot reads X at most ten times. Where the time is up
    the number is the last one.

    Attributes
    ----------
    number : float
        The number that is estimated, positive.
    used : float
        The number with which the last fit was made.
    """

    def __init__(self, problem):
        none = np.full(problem.X.p, np.inf)
        self.problem = replace(problem, lower=-none, upper=none, groups=None)
        r = problem.y - problem.offset
        if problem.intercept:
            r = r - weighted_median(r, problem.weights)
        self.spread = float(problem.weights @ np.abs(r))
        self.begin(r)
        self.model = self.made()
        self.model.grow(problem.forced)

    def run(self, over):
        """Add columns while they tell more than noise, and renew the number on the last support."""
        problem = self.problem
        support = problem.forced
        wanted = min(int(problem.usable.sum()), int(problem.n_eff // 10)) - support.size
        fit = self.refit(support, None)
        for step in range(max(wanted, 0)):
            j = (
                None
                if over() or fit.flags
                else self.best_column(fit, step % -(-wanted // PILOT_READS) == 0, wanted)
            )
            if j is None:
                break
            at = int(np.searchsorted(fit.support, j))
            start = np.insert(fit.b, at, 0.0), fit.b0
            fit = self.refit(np.insert(fit.support, at, j), start)
        for _ in range(PILOT_RENEWALS):
            before = self.number
            if over():
                break
            fit = self.refit(fit.support, (fit.b, fit.b0))
            if abs(self.number - before) <= 1e-12 * before:
                break

    def begin(self, r):
        """The first number; r: y less offset, and less its median with an intercept."""
        self.renew(self.problem.y - r, 0)

    @abstractmethod
    def renew(self, eta, k):
        """Take the number from the predictors of a model with k columns."""

    @abstractmethod
    def loss(self):
        """The loss with the present number."""

    def notes(self):
        """Notes for the user."""
        return []

    def least(self):
        """Gradients of at most this size are rounding."""
        return 0.0

    def made(self):
        """A model of the loss with the number of now."""
        return RowModel(replace(self.problem, loss=self.loss()))

    def refit(self, support, start):
        """The fit on a support, from whose residuals the number is renewed."""
        model = self.made()
        model.share(self.model)
        self.model, self.used = model, self.number
        fit = model.refit(support, 0.0, 0.0, start)
        eta, self.slopes, _ = model.derivatives(fit)
        self.renew(eta, support.size)
        return fit

    def best_column(self, fit, all_columns, wanted):
        """The working column of largest standardized gradient, None if noise gives as much;
        all_columns: take the largest ones of all p columns among the working columns first.
        """
        p, model = self.problem, self.model
        usable = np.flatnonzero(p.usable)
        if all_columns and model.width < usable.size:
            most = max(
                min(
                    2 * -(-wanted // PILOT_READS) + 10,
                    max(model.columns_in_memory // PILOT_READS, 4),
                ),
                1,
            )
            if usable.size > most * PILOT_READS:
                c = np.abs(p.X.correlate(self.slopes[:, None])[:, 0])
                usable = _largest(usable, c / np.sqrt(np.where(p.square > 0, p.square, 1.0)), most)
            model.grow(usable)
        J = model.W
        score = np.abs(model.Z[: model.width] @ self.slopes) / np.sqrt(p.square[J])
        score[~p.usable[J] | np.isin(J, fit.support)] = 0.0
        # slopes are w_i psi_i: noise in a standardized column gives |psi| / sqrt(n), |psi| their
        # root mean square
        psi = float(np.sqrt(self.slopes @ (self.slopes / p.weights)))
        noise = np.sqrt(2.0 * np.log(max(int(p.usable.sum()), 2)) / p.n_eff) * psi
        if not score.size or score.max() <= max(noise, self.least()):
            return None
        return int(J[score == score.max()].min())


def _largest(J, score, most):
    """The `most` columns of J of largest score; ties go to the smaller column."""
    return J[np.argsort(-score[J], kind="stable")[:most]]


class ThresholdPilot(Pilot):
    """The threshold of the Huber loss in units of y,

        delta = 1.345 * 1.4826 * MAD,

    MAD the weighted median size of the residuals: on its last support it is what `rlm` of R's
    package MASS ends with. The factor 1.345 gives 95 % efficiency at normal errors (Huber, Annals
    of Mathematical Statistics 35, 1964). There is no correction for the coefficients fitted: with
    ten observations for each it would be 5 %, and the threshold of `rlm` would not be met.

    Attributes
    ----------
    exact : bool
        Whether more than half of the residuals are equal. The threshold is then a floor, 1.345
        hundredths of the mean absolute deviation of y (1 where y does not vary).
    """

    def renew(self, eta, k):
        r, w = self.problem.y - eta, self.problem.weights
        scale = MAD_TO_SD * float(weighted_median(np.abs(r), w))
        # an intercept between equal values and the others makes equal residuals that are not 0
        alike = float(weighted_median(np.abs(r - weighted_median(r, w)), w))
        self.exact = min(scale, alike) <= ALL_EQUAL * self.spread
        if self.exact:
            scale = 0.01 * self.spread if self.spread > 0 else 1.0 / SDS_OF_HUBER
        self.number = SDS_OF_HUBER * scale

    def loss(self):
        return Huber(self.number)

    def notes(self):
        if not self.exact:
            return []
        return [
            "more than half of the residuals of a pilot fit are equal, so the threshold of the "
            f"Huber loss is a floor, delta = {self.number:.4g}; pass "
            "loss=l0path.losses.Huber(delta=...) in units of y to set it"
        ]

    def least(self):
        return ALL_EQUAL * min(self.used, self.spread)


class ThetaPilot(Pilot):
    """The theta of the negative binomial loss, by maximum likelihood."""

    def begin(self, r):
        p = self.problem
        start = poisson_start(p.y, p.offset, p.weights) if p.intercept else 0.0
        self.renew(p.offset + start, 0)

    def renew(self, eta, k):
        p = self.problem
        self.number = theta_of(p.y, np.exp(np.minimum(eta, LARGEST_EXPONENT)), p.weights)

    def loss(self):
        return NegativeBinomial(self.number)

    def notes(self):
        if self.number < LARGEST_THETA:
            return []
        return [
            "the counts vary no more than Poisson's around a pilot fit, so theta is its largest "
            f"value, {LARGEST_THETA:g}; loss='poisson' gives the same models"
        ]


class WidthPilot(Pilot):
    """The width over which the loss of a quantile is smoothed,

        width = s max(0.05, ((k + log n) / n)^0.4),

    s = 1.4826 MAD of the residuals around their median (He, Pan, Tan & Zhou, Journal of
    Econometrics 232, 2023, section 5).
    """

    def renew(self, eta, k):
        p = self.problem
        r = p.y - eta
        r = r - weighted_median(r, p.weights)
        scale = MAD_TO_SD * float(weighted_median(np.abs(r), p.weights))
        if scale <= ALL_EQUAL * self.spread:
            scale = 0.01 * self.spread if self.spread > 0 else 1.0
        share = ((k + np.log(max(p.n_eff, 2.0))) / max(p.n_eff, 2.0)) ** 0.4
        self.number = scale * max(LEAST_WIDTH, float(share))

    def loss(self):
        return Quantile(self.problem.loss.quantile, self.number)


PILOTS = {"delta": ThresholdPilot, "theta": ThetaPilot, "width": WidthPilot}
