"""What a path is made of: one `Meta` for the fit, one `Solution` for each point, both plain data in
the user's units.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.arguments import shown
from ..core.status import FitStatus, Optimality
from ..problem.losses import Logistic, Poisson, mean_of_rows

# the flag of a model that was searched without columns that separate the classes
LEFT_OUT = "left_out"
# begins the flag that says how many exchanges were tried; users see the number in `summary`
EXCHANGES = "m="


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What all points share. center, scale (p,): of the standardisation; null_loss: mean loss of
    intercept and offset alone; n_eff: the n of the criteria;
    floor: mean loss of predicting every y, 0 but for poisson; has_offset: whether new rows need an
    offset besides the terms offset(...) of a formula; offset_name: the column of a table it is in.
    """

    names: list
    n: int
    p: int
    n_eff: float
    loss: str
    loss_parameter: float | None
    intercept: bool
    standardize: bool
    null_loss: float
    center: np.ndarray
    scale: np.ndarray
    forced: np.ndarray
    factor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    excluded: np.ndarray
    classes: tuple | None = None
    penalty: str = "L0"
    algorithm: str = "swap"
    grid: str = "support"
    has_offset: bool = False
    offset_name: str | None = None
    weighted: bool = False
    by_name: bool = False
    response: str | None = None
    random_state: int | None = None
    checksum: str = ""
    groups: Any = None  # `l0path.problem.groups.Groups`
    formula: Any = None  # `l0path.formula.Formula`
    log_constant: float = (
        0.0  # mean of log(y!) for poisson: what the negative log-likelihood has beyond the loss
    )
    floor: float = 0.0

    def deviance_ratio(self, loss):
        """1 - (loss - floor) / (null_loss - floor) of a mean loss: the share of the null deviance
        that is explained; NaN where there is none to explain.
        """
        null = self.null_loss - self.floor
        return 1.0 - (loss - self.floor) / null if null > 0 else np.nan

    @property
    def about(self):
        """What the linear predictor of a classification speaks for: "P(y = 'b')" where the loss has
        probabilities, "positive class 'b'" else; "" for real responses.
        """
        if self.classes is None:
            return ""
        label = shown(self.classes[1])
        if self.loss == "logistic":
            return f"P({self.response or 'y'} = {label})"
        return f"positive class {label}"


class Solution(NamedTuple):
    """One point: support (sorted indices, forced ones included), beta on it and intercept in the
    user's units; objective = loss + shrinkage (+ lambda0 sum f on a lambda0 grid).
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
    status: str = "converged"
    optimality: str = Optimality.UNVERIFIED
    flags: tuple = ()
    groups: Any = (
        None  # numbers of the chosen groups, ascending, forced ones included; None without groups
    )

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
    def noticed(self):
        """The flags as one text, without the number of exchanges that were tried."""
        return ", ".join(flag for flag in self.flags if not flag.startswith(EXCHANGES))

    @property
    def exchanges(self):
        """How many exchanges "refit_swap_m" is about; None for other kinds of optimality."""
        found = [int(flag[len(EXCHANGES) :]) for flag in self.flags if flag.startswith(EXCHANGES)]
        return found[0] if found and self.optimality == Optimality.REFIT_SWAP_M else None

    @property
    def separated(self):
        """Whether the loss falls for ever along a ray, so that there is no optimum."""
        return self.status == FitStatus.SEPARATED

    @property
    def left_out(self):
        """Whether columns that separate the classes at a size took no part in its search."""
        return LEFT_OUT in self.flags


@dataclass
class Source:
    """What is kept in memory only: the data and the settings that made the path; `save` and pickle
    leave it out.
    """

    data: Any = None
    plan: Any = None
    extra: dict = field(default_factory=dict)


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
    as returned; weights (n,) of all rows.
    free: how many columns, or groups, may be chosen: the size of which there is one support only.
        predicted (n,): X beta, where it is known.
    """
    X, support = problem.X, fit.support
    beta = fit.b / X.scale[support]
    intercept = float(fit.b0 - X.center[support] @ beta) if data.intercept else 0.0
    if predicted is None:
        predicted = data.design.dot(support, beta) if support.size else np.zeros(data.y.size)
    eta = intercept + predicted
    if data.offset is not None:
        eta = eta + data.offset
    loss = mean_of_rows(data.loss, data.y, eta, weights)
    b = beta * X.scale[support]
    shrinkage = float(lambda1 * np.abs(b).sum() + lambda2 * b @ b)
    grouped = problem.groups
    chosen = None if grouped is None else getattr(fit, "groups", np.empty(0, dtype=np.int64))
    fewer = (
        np.count_nonzero(beta) < support.size
        if grouped is None
        else any(not np.isin(grouped.of(g), support[beta != 0]).any() for g in chosen)
    )
    flags = (*fit.flags, "fewer_nonzeros") if fewer else tuple(fit.flags)
    apart = FitStatus.SEPARATED in flags  # a hinge has an optimum there, of loss 0
    status = (
        FitStatus.SEPARATED
        if apart and isinstance(data.loss, Logistic | Poisson)
        else FitStatus.NOT_CONVERGED
        if FitStatus.NOT_CONVERGED in flags
        else "converged"
    )
    if status != "converged" and apart:
        # there is no optimum to be checked: the loss goes on falling along a ray
        optimality = Optimality.UNVERIFIED
    elif apart and np.isnan(lambda0):
        optimality = Optimality.GLOBAL  # no loss is below 0
    on_grid = not np.isnan(lambda0)
    loose = (beta != 0) & ~np.isin(support, problem.forced)
    objective = (
        loss
        + shrinkage
        + (
            lambda0
            * float(
                (data.factor[support[loose]] if grouped is None else grouped.factor[chosen]).sum()
            )
            if on_grid
            else 0.0
        )
    )
    alone = k == 0 and not problem.forced.size and not on_grid
    if (
        optimality != Optimality.UNVERIFIED
        and status == "converged"
        and (alone or (not on_grid and k == free))
    ):
        optimality = Optimality.GLOBAL  # the only support of its size
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
        lower_bound=objective if alone and status == "converged" else float("nan"),
        status=status,
        optimality=optimality,
        flags=flags,
        groups=chosen,
    )
