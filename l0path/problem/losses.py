"""Losses as records of numbers, and the names of all losses. A class has the value, slope and
curvature of one row, for Python and for kernels, its conjugate (`conjugates`), and what results ask
(`responses`).

    loss                                   value, eta = linear predictor, m = y eta        y
    squared                                (y - eta)^2 / 2                                 real
    logistic                               log(1 + exp(-m))                                -1, 1
    squared_hinge                          max(0, 1 - m)^2                                 -1, 1
    smoothed_hinge(gamma)                  0 | (1 - m)^2 / (2 gamma) | 1 - m - gamma / 2   -1, 1
    huber(delta), r = eta - y              r^2 / 2 | delta |r| - delta^2 / 2               real
    poisson                                exp(eta) - y eta                                counts
    hinge, for exact solving only          max(0, 1 - m)                                   -1, 1

Slopes and curvatures are derivatives in eta. Sources: Dedieu, Hazimeh & Mazumder (JMLR 22:135,
2021), section 2 (classification losses); Liu et al. (ICML 2017), section 3 (smoothed hinge); Huber
(1964).
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from ..core.dispatch import generic_in_python, with_verbs
from ..core.elementary import binary_gap, entropy_rise, exp_minus, exponential, log1p_unit
from .coupled.cox import Cox
from .coupled.ordinal import Ordinal
from .coupled.weibull import Weibull
from .responses import EPS, poisson_start, saturated
from .traits import EMPTIES, SEPARATES, LossTraits
from .verbs import value

NAMES = {}  # classes of losses that are sums over rows, by their names


def named(kind):
    """A class decorator: records of a loss that is a sum over rows are known by `traits.name`."""
    NAMES[kind.traits.name] = kind
    return with_verbs(kind)


@named
class Squared(NamedTuple):
    """Half the squared error."""

    traits = LossTraits(
        "squared", "real", 1.0, False, entry_safety=1.0, link="identity", likelihood=True
    )

    def value(self, y, eta):
        return 0.5 * (y - eta) * (y - eta)

    def slope(self, y, eta):
        return eta - y

    def curvature(self, y, eta):
        return 1.0

    def conjugate(self, y, r):
        return r * (0.5 * r + y)

    def interval(self, y):
        return np.full(y.shape, -np.inf), np.full(y.shape, np.inf)

    def conjugate_slope(self, y, r):
        return r + y

    def rounding(self, y, weights, size):
        return 8 * (EPS * size) ** 2

    def log_likelihood(self, constant, n):
        """constant: less the mean logarithm of the weights, by which variances are divided."""
        return lambda mean_loss: -0.5 * n * (np.log(4.0 * math.pi * mean_loss) + 1.0 + constant)


@named
class Logistic(NamedTuple):
    """Log(1 + exp(-y eta))."""

    traits = LossTraits(
        "logistic",
        "classes",
        0.25,
        jumps=False,
        entry_safety=2.0,
        link="logit",
        recession=SEPARATES,
        likelihood=True,
    )

    def value(self, y, eta):
        m = y * eta
        return log1p_unit(exp_minus(abs(m))) + (0.0 if m > 0.0 else -m)

    def slope(self, y, eta):
        m = y * eta
        e = exp_minus(abs(m))
        return -y * (e if m > 0.0 else 1.0) / (1.0 + e)

    def curvature(self, y, eta):
        e = exp_minus(abs(eta))
        return e / ((1.0 + e) * (1.0 + e))

    def fenchel_gap(self, y, eta, at, dual):
        return binary_gap(-y * at, y * (at - dual))

    def conjugate(self, y, r):
        q = np.clip(-y * r, 0.0, 1.0)
        return scipy.special.xlogy(q, q) + scipy.special.xlog1py(1.0 - q, -q)

    def interval(self, y):
        return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)

    def conjugate_slope(self, y, r):
        q = np.clip(-y * r, CLASS_MARGIN, 1.0 - CLASS_MARGIN)
        return -y * np.log(q / (1.0 - q))

    def null_start(self, y, offset, weights):
        mean = float(weights @ y)
        if abs(mean) < 1.0:
            return float(np.log((1 + mean) / (1 - mean)))
        return float(np.log(weights[y > 0].sum() / weights[y < 0].sum()))  # one class hardly counts


@named
class SquaredHinge(NamedTuple):
    """max(0, 1 - y eta)^2."""

    traits = LossTraits("squared_hinge", "classes", 2.0, True, 0.02, entry_safety=4.0)

    def value(self, y, eta):
        gap = max(1.0 - y * eta, 0.0)
        return gap * gap

    def slope(self, y, eta):
        return -2.0 * y * max(1.0 - y * eta, 0.0)

    def curvature(self, y, eta):
        return 2.0 if y * eta < 1.0 else 0.0

    def fenchel_gap(self, y, eta, at, dual):
        s, gap = -y * dual, 1.0 - y * eta
        return math.inf if s < 0.0 else 0.25 * s * s - s * gap + max(gap, 0.0) ** 2

    def conjugate(self, y, r):
        return y * r + 0.25 * r * r

    def interval(self, y):
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def conjugate_slope(self, y, r):
        return y + 0.5 * r


@named
class SmoothedHinge(NamedTuple):
    """The hinge with its corner replaced by a parabola of width gamma."""

    traits = LossTraits("smoothed_hinge", "classes", math.inf, True, 0.1, parameter="gamma")

    gamma: float

    def value(self, y, eta):
        gap = max(1.0 - y * eta, 0.0)
        return 0.5 * gap * gap / self.gamma if gap < self.gamma else gap - 0.5 * self.gamma

    def slope(self, y, eta):
        return -y * min(max((1.0 - y * eta) / self.gamma, 0.0), 1.0)

    def curvature(self, y, eta):
        gap = 1.0 - y * eta
        return 1.0 / self.gamma if gap > 0.0 and gap < self.gamma else 0.0

    def fenchel_gap(self, y, eta, at, dual):
        s, gap = -y * dual, 1.0 - y * eta
        return (
            math.inf
            if s < 0.0 or s > 1.0
            else 0.5 * self.gamma * s * s - s * gap + value(self, y, eta)
        )

    def smoothness(self):
        return 1.0 / self.gamma

    def conjugate(self, y, r):
        return y * r + 0.5 * self.gamma * r * r

    def conjugate_slope(self, y, r):
        return y + self.gamma * r

    interval = Logistic.interval


@named
class Huber(NamedTuple):
    """Squared inside |r| <= delta, linear outside."""

    traits = LossTraits(
        "huber", "real", 1.0, True, 0.02, link="identity", parameter="delta", pilot="delta"
    )

    delta: float

    def value(self, y, eta):
        r = abs(eta - y)
        return 0.5 * r * r if r <= self.delta else self.delta * r - 0.5 * self.delta * self.delta

    def slope(self, y, eta):
        return min(max(eta - y, -self.delta), self.delta)

    def curvature(self, y, eta):
        return 1.0 if abs(eta - y) <= self.delta else 0.0

    def fenchel_gap(self, y, eta, at, dual):
        return (
            math.inf
            if abs(dual) > self.delta
            else 0.5 * dual * dual - dual * (eta - y) + value(self, y, eta)
        )

    def interval(self, y):
        return np.full(y.shape, -self.delta), np.full(y.shape, self.delta)

    def null_start(self, y, offset, weights):
        return float(np.median(y - offset))

    conjugate = Squared.conjugate
    conjugate_slope = Squared.conjugate_slope
    rounding = Squared.rounding


@named
class Poisson(NamedTuple):
    """Poisson deviance up to a constant, log link."""

    traits = LossTraits(
        "poisson",
        "counts",
        math.inf,
        jumps=False,
        entry_safety=3.0,
        link="log",
        recession=EMPTIES,
        bounded=False,
        likelihood=True,
    )

    def value(self, y, eta):
        return exponential(eta) - y * eta

    def slope(self, y, eta):
        return exponential(eta) - y

    def curvature(self, y, eta):
        return exponential(eta)

    def fenchel_gap(self, y, eta, at, dual):
        mean = at + y
        if dual + y < 0.0 or mean <= 0.0:
            return math.inf
        return mean * entropy_rise((dual - at) / mean)

    def conjugate(self, y, r):
        t = np.maximum(r + y, 0.0)
        return scipy.special.xlogy(t, t) - t

    def interval(self, y):
        return -y, np.full(y.shape, np.inf)

    def null_start(self, y, offset, weights):
        return poisson_start(y, offset, weights)

    def saturated(self, y):
        return y - y * np.log(np.where(y > 0, y, 1.0))

    def rounding(self, y, weights, size):
        return 16 * EPS * max(abs(float(weights @ saturated(self, y))), float(weights @ y))

    def log_constant(self, y, trials=None):
        return np.array([math.lgamma(v + 1.0) for v in y])


@with_verbs
class Hinge(NamedTuple):
    """max(0, 1 - y eta), for bounds and exact solving: it has no curvature, so no other solver
    takes it. width: that of the smoothed hinge whose slopes stand in for its own
    (`relaxation.smooth`).
    """

    traits = LossTraits("hinge", "classes", math.inf, jumps=True, bounded=False)

    width: float = 0.1

    def value(self, y, eta):
        return max(1.0 - y * eta, 0.0)

    def slope(self, y, eta):
        return -y if y * eta < 1.0 else 0.0

    def smooth(self):
        return SmoothedHinge(self.width)

    def conjugate(self, y, r):
        return y * r

    interval = Logistic.interval


# logistic: how far from the ends of its domain a dual slope is taken, so that it is finite
CLASS_MARGIN = 1e-12
ETA_CAP = 30.0  # |eta| of a separated or diverging fit stops here: exp(30) = 1e13


class Multinomial(NamedTuple):
    """-log P(class), P proportional to exp(eta_r) for the classes r: y and eta have a column for
    each class, so its value is in `several`.
    """

    traits = LossTraits(
        "multinomial",
        "classes",
        0.5,
        jumps=False,
        link="softmax",
        recession=SEPARATES,
        likelihood=True,
        predictors="classes",
    )

    baseline: float = 0.0  # 1 where the coefficients of the first class are 0, see `contrasts`


ALIASES = {
    "SquaredError": "squared",
    "gaussian": "squared",
    "Logistic": "logistic",
    "SquaredHinge": "squared_hinge",
}
EXACT = {"hinge": Hinge}  # losses of algorithm="exact" alone
SEVERAL = {"multinomial": Multinomial}  # losses of several predictors
# losses that are no sum over rows
COUPLED = {"cox": Cox, "ordinal": Ordinal, "weibull": Weibull}
SURVIVAL = {name for name, kind in COUPLED.items() if kind.traits.response == "survival"}
OWN_LOSSES = {}  # losses of the user's own by name: see `families.own`
CLASSIFICATION = {
    name for name, kind in (NAMES | EXACT | SEVERAL).items() if kind.traits.response == "classes"
}


@generic_in_python
def smoothness(loss):
    """Largest curvature of the loss in eta (L of the papers); infinite where there is no bound."""
    return loss.traits.smoothness


def name_of(loss):
    """The public name of a loss record."""
    return loss.traits.name


def kind_named(name):
    """The class of the records of a public name."""
    for kinds in (OWN_LOSSES, COUPLED, SEVERAL, EXACT):
        if name in kinds:
            return kinds[name]
    return NAMES[name]


# losses of rows that take no table of several responses: y of two columns says something else
# there, or the loss is refitted by linear programs
ONE_RESPONSE = ("binomial", "hinge", "quantile")


def takes_several(name):
    """Whether the loss of a public name takes several responses that share the columns of a
    model.
    """
    traits = traits_named(name)
    return name not in ONE_RESPONSE and not (traits.by_class or traits.coupled)


def traits_named(name):
    """The LossTraits of a public name."""
    return kind_named(name).traits


def canonical_name(name, exact=False):
    """The loss's own name for a name or alias; ValueError for a name that is not a loss of `fit`.
    exact: for algorithm="exact", which takes the hinge too.
    """
    if isinstance(name, type):
        raise ValueError(
            f"loss={name.__name__} is a class; pass a record of it: loss={name.__name__}(...)"
        )
    if not isinstance(name, str) and type(name) not in OWN_LOSSES.values():
        before = getattr(getattr(type(name), "traits", None), "name", None)
        if before in OWN_LOSSES:
            raise ValueError(
                f"loss={name!r} is a record of a class that was defined anew as the loss "
                f"{before!r}; make the record anew"
            )
        raise ValueError(
            f"loss={name!r} must be the name of a loss, such as 'squared' or 'logistic', or a "
            "record of a class with the decorator l0path.own_loss, or of a NamedTuple with the "
            "methods value, slope and curvature of (self, y, eta), or of all rows"
        )
    if name in EXACT:
        if exact:
            return name
        raise ValueError(
            f"loss={name!r} has no curvature and serves algorithm='exact' only; use that, or "
            "loss='smoothed_hinge' or 'squared_hinge'"
        )
    full = name.traits.name if type(name) in OWN_LOSSES.values() else ALIASES.get(name, name)
    known = NAMES | SEVERAL | COUPLED
    if full not in known and full not in OWN_LOSSES:
        raise ValueError(f"loss={name!r} is not known; choose one of {', '.join(known)}")
    return full


# what an argument that a loss takes its number from must be
MEANINGS = {
    "gamma": "a positive number, the width of the smoothed corner (default 0.25)",
    "delta": "a positive number in units of y (None: from the residuals of a robust pilot fit)",
    "theta": "a positive number (None: from a pilot fit)",
    "power": "a number with 1 < power <= 2, such as 1.5",
    "quantile": "a number between 0 and 1, such as 0.9",
}
UNSET = {"power": 1.5, "quantile": 0.5}  # where none is given
# where an argument is not just positive: it is above the first and at most the second number
RANGES = {"power": (1.0, 2.0), "quantile": (0.0, 1.0 - 1e-12)}


def check_range(argument, value, name):
    """Raise ValueError for a number of a loss out of its range; name: as the user gave it."""
    low, high = RANGES.get(argument, (0.0, np.finfo(float).max))
    if not low < value <= high:
        raise ValueError(f"{name}={value!r} must be {MEANINGS[argument]}")


def make_loss(name, gamma=0.25, delta=1.0, **more):
    """The record of a loss name. gamma > 0: width of the smoothed hinge; delta > 0: threshold of
    the Huber loss, in units of y; more: theta > 0, 1 < power <= 2, 0 < quantile < 1 and width > 0
    of `families`.
    """
    kind = kind_named(name)
    argument = kind.traits.parameter
    if not argument:
        return kind()
    numbers = {"gamma": gamma, "delta": delta, **more}
    value = numbers.setdefault(argument, UNSET.get(argument, 1.0))
    check_range(argument, value, argument)
    return kind(*(float(numbers.get(field, 1.0)) for field in kind._fields))
