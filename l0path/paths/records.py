"""What a path is made of: one `Meta` for the fit, one `Solution` for each point, both plain data in the user's units."""
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What all points share. center, scale (p,): of the standardisation; null_loss: mean loss of intercept and offset alone; n_eff: the n of the criteria."""

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
    weighted: bool = False
    by_name: bool = False
    response: str | None = None
    n_dropped: int = 0
    random_state: int | None = None
    checksum: str = ""
    groups: Any = None  # `l0path.groups.Groups`
    log_constant: float = 0.0  # mean of log(y!) for poisson: what the negative log-likelihood has beyond the loss


class Solution(NamedTuple):
    """One point: support (sorted indices, forced ones included), beta on it and intercept in the user's units; objective = loss + shrinkage (+ lambda0 sum f on a lambda0 grid)."""

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
    optimality: str = "unverified"
    flags: tuple = ()
    groups: Any = None  # numbers of the chosen groups, ascending, forced ones included; None without groups


@dataclass
class Source:
    """What is kept in memory only: the data and the settings that made the path; `save` and pickle leave it out."""

    data: Any = None
    plan: Any = None
    extra: dict = field(default_factory=dict)
