"""Hazards of survival times as records."""

from typing import NamedTuple

import numpy as np


class Baseline(NamedTuple):
    """Breslow's estimator (Biometrics 30, 1974): the cumulative hazard of a row whose predictor is
    0, as logarithms, since predictors of separated models lie beyond what exp has numbers for. In
    each stratum it is 0 before the first event time, does not change between two, and at each rises
    by the weight of the events over S = sum w_i exp(eta_i) of the rows at risk. Under Efron's ties
    d events of one time, with mean weight w and the sum T of w_i exp(eta_i), leave the rows at risk
    by d-ths: it rises by the sum of w / (S - j/d T) over j = 0..d-1, as in R's `survfit`
    (Therneau & Grambsch, Modeling Survival Data, 2000, section 10.2.3).

    times (g,): event times by stratum; block (s + 1,): where strata begin in it; log_hazard (g,):
    from each of these times on.
    """

    times: np.ndarray
    block: np.ndarray
    log_hazard: np.ndarray


class ParametricHazard(NamedTuple):
    """The cumulative hazard exp(level + eta) t^shape of a Weibull model. times (g,): event times of
    the fit, where they are asked for.
    """

    level: float
    shape: float
    times: np.ndarray = np.empty(0)
