"""What the data decide where the user does not: grids of lambda1 and lambda2, of lambda0 from the
lower convex hull of (size, objective), and the threshold of the Huber loss.
"""

import itertools
from dataclasses import replace

import numpy as np

from ..problem.losses import Huber
from ..problem.problem import weighted_median
from ..working_set.rows import RowModel

MAD_TO_SD = 1.482602218505602  # standard deviation of a normal variable over its MAD
SDS_OF_HUBER = 1.345  # thresholds of so many standard deviations: 95 % efficiency at the normal
PILOT_READS, PILOT_RENEWALS = 10, 50  # of X in a pilot path; of the threshold on its last support
ALL_EQUAL = 1e-9  # a MAD below this share of the spread of y is 0


def shrink_grid(top, count):
    """`count` values from top down to 1e-4 top, geometric (ours start at the loss's curvature, so
    that the largest halves the coefficients or more).
    """
    return top * np.geomspace(1.0, 1e-4, count) if count > 1 else np.array([top])


def hull(x, F):
    """Lower convex hull of the points (x_i, F_i) towards larger x: list of (i, low, high) with the
    lambda0 interval in which point i minimises F + lambda0 x.

    Intervals are [low, high), adjoining, the first with high = inf; the last point's low is 0.
    Points that no lambda0 picks are left out.
    """
    order = sorted(range(len(x)), key=lambda i: (x[i], F[i]))
    chain = []
    for i in order:
        if chain and x[i] == x[chain[-1]]:
            continue
        while len(chain) >= 2:
            a, b = chain[-2], chain[-1]
            # b lies on or above the line from a to i
            if (F[b] - F[a]) * (x[i] - x[a]) >= (F[i] - F[a]) * (x[b] - x[a]):
                chain.pop()
            else:
                break
        if chain and F[i] >= F[chain[-1]]:
            continue
        chain.append(i)
    edges = [np.inf, *((F[a] - F[b]) / (x[b] - x[a]) for a, b in itertools.pairwise(chain)), 0.0]
    return [(i, float(edges[t + 1]), float(edges[t])) for t, i in enumerate(chain)]


def hull_grid(intervals, count):
    """Dynamic lambda0 values for hull intervals: the end of the null interval, then 1 % below each
    value at which the support changes (inside the next interval).
    """
    values = [intervals[0][1] if intervals[0][1] > 0 else 1.0]
    for _, low, high in intervals[1:]:
        values.append(
            0.99 * high if 0.99 * high > low else np.sqrt(low * high) if low > 0 else 0.5 * high
        )
    return np.array(values[:count])


def huber_threshold(problem, over=lambda: False):
    """Threshold of the Huber loss from the residuals of a pilot path of that loss.

    The pilot adds one column at a time, the one of largest standardised gradient, while that is
    more than noise gives, sqrt(2 log p) standard errors (Donoho & Johnstone, Biometrika 81, 1994),
    up to k = min(p, n_eff / 10) columns (forced ones among them; groups count by their columns, the
    box and the shrinkage are left out). On every support the threshold is renewed from the
    residuals,

        delta = 1.345 * 1.4826 * MAD,

    MAD their weighted median size, and on the last support until it no longer changes: on that
    support it is what `rlm` of R's package MASS ends with. The factor 1.345 gives 95 % efficiency
    at normal errors (Huber, Annals of Mathematical Statistics 35, 1964). There is no correction for
    the coefficients fitted: with ten observations for each it would be 5 %, and the threshold of
    `rlm` would not be met. A pilot reads X at most ten times.

    Parameters
    ----------
    problem : Problem
        Its loss is not looked at.
    over : callable
        Whether the time is up; the threshold is then the last one.

    Returns
    -------
    float
        The threshold in units of y, positive.
    bool
        Whether it is a floor, because more than half of the residuals are equal: 1.345 hundredths
        of the mean absolute deviation of y (1 where y does not vary).
    """
    pilot, support = _Pilot(problem), problem.forced
    wanted = min(int(problem.usable.sum()), int(problem.n_eff // 10)) - support.size
    fit = pilot.refit(support, None)
    for step in range(max(wanted, 0)):
        j = (
            None
            if over()
            else pilot.best_column(fit, step % -(-wanted // PILOT_READS) == 0, wanted)
        )
        if j is None:
            break
        at = int(np.searchsorted(fit.support, j))
        start = np.insert(fit.b, at, 0.0), fit.b0
        fit = pilot.refit(np.insert(fit.support, at, j), start)
    for _ in range(PILOT_RENEWALS):
        before = pilot.delta
        if over():
            break
        fit = pilot.refit(fit.support, (fit.b, fit.b0))
        if abs(pilot.delta - before) <= 1e-12 * before:
            break
    return pilot.delta, pilot.exact


class _Pilot:
    """The state of `huber_threshold`: the threshold, and a model of the loss with it on the working
    columns.
    """

    def __init__(self, problem):
        none = np.full(problem.X.p, np.inf)
        self.problem = replace(problem, lower=-none, upper=none, groups=None)
        r = problem.y - problem.offset
        if problem.intercept:
            r = r - weighted_median(r, problem.weights)
        self.spread = float(problem.weights @ np.abs(r))
        self.renew(r)
        self.model = self.made()
        self.model.grow(problem.forced)

    def renew(self, r):
        """Take the threshold from the residuals of a model."""
        w = self.problem.weights
        scale = MAD_TO_SD * float(weighted_median(np.abs(r), w))
        # an intercept between equal values and the others makes equal residuals that are not 0
        alike = float(weighted_median(np.abs(r - weighted_median(r, w)), w))
        self.exact = min(scale, alike) <= ALL_EQUAL * self.spread
        if self.exact:
            scale = 0.01 * self.spread if self.spread > 0 else 1.0 / SDS_OF_HUBER
        self.delta = SDS_OF_HUBER * scale

    def made(self):
        """A model of the loss with the threshold of now."""
        return RowModel(replace(self.problem, loss=Huber(self.delta)))

    def refit(self, support, start):
        """The fit on a support, from whose residuals the threshold is renewed."""
        model = self.made()
        model.share(self.model)
        self.model, self.used = model, self.delta
        fit = model.refit(support, 0.0, 0.0, start)
        eta, self.slopes, _ = model.derivatives(fit)
        self.renew(self.problem.y - eta)
        return fit

    def best_column(self, fit, look, wanted):
        """The working column of largest standardised gradient, None if noise gives as much; look:
        take the largest ones of all p columns among the working columns first.
        """
        p, model = self.problem, self.model
        usable = np.flatnonzero(p.usable)
        if look and model.width < usable.size:
            most = max(
                min(2 * -(-wanted // PILOT_READS) + 10, max(model.room // PILOT_READS, 4)), 1
            )
            if usable.size > most * PILOT_READS:
                c = np.abs(p.X.correlate(self.slopes[:, None])[:, 0])
                usable = _largest(usable, c / np.sqrt(np.where(p.square > 0, p.square, 1.0)), most)
            model.grow(usable)
        J = model.W
        score = np.abs(model.Z[: model.width] @ self.slopes) / np.sqrt(p.square[J])
        score[~p.usable[J] | np.isin(J, fit.support)] = 0.0
        # slopes are w_i psi_i: noise in a standardised column gives |psi| / sqrt(n), |psi| their
        # root mean square
        psi = float(np.sqrt(self.slopes @ (self.slopes / p.weights)))
        noise = np.sqrt(2.0 * np.log(max(int(p.usable.sum()), 2)) / p.n_eff) * psi
        if not score.size or score.max() <= max(noise, ALL_EQUAL * min(self.used, self.spread)):
            return None
        return int(J[score == score.max()].min())


def _largest(J, score, most):
    """The `most` columns of J of largest score; ties go to the smaller column."""
    return J[np.argsort(-score[J], kind="stable")[:most]]
