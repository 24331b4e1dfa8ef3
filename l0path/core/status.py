"""The states of fits, models and searches. Every member is also the text that users see."""

from enum import StrEnum


class FitStatus(StrEnum):
    """How a restricted fit ended."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not_converged"
    SEPARATED = "separated"
    MAX_ITER = "max_iter"


class Optimality(StrEnum):
    """What was verified for a model, strongest first."""

    GLOBAL = "global"
    REFIT_SWAP = "refit_swap"
    REFIT_SWAP_M = "refit_swap_m"
    SWAP = "swap"
    CD = "cd"
    STATIONARY = "stationary"
    UNVERIFIED = "unverified"


class End(StrEnum):
    """Why a path has no larger size."""

    SEPARATED = "separated"
    SATURATED = "saturated"
