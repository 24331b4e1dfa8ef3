"""The states of fits, models and searches. Every member is also the text that users see."""

from enum import StrEnum

GLOBAL_GAP = 1e-6  # relative gap to its bound up to which a model is called global, or proven


class FitStatus(StrEnum):
    """Outcome of a restricted fit."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not_converged"
    SEPARATED = "separated"
    MAX_ITER = "max_iter"


class Optimality(StrEnum):
    """The property of a model that was verified, strongest first; those of a smoothed loss are
    about the function that was searched, where results are about another one.
    """

    GLOBAL = "global"
    REFIT_SWAP = "refit_swap"
    REFIT_SWAP_M = "refit_swap_m"
    SWAP = "swap"
    CD = "cd"
    STATIONARY = "stationary"
    UNVERIFIED = "unverified"
    RELAXED = "relaxed"  # a mixture of two optima on one support, which is none itself
    GLOBAL_SMOOTHED = "global_smoothed"
    REFIT_SWAP_SMOOTHED = "refit_swap_smoothed"
    REFIT_SWAP_M_SMOOTHED = "refit_swap_m_smoothed"
    SWAP_SMOOTHED = "swap_smoothed"
    CD_SMOOTHED = "cd_smoothed"


OF_SMOOTHED = {
    Optimality.GLOBAL: Optimality.GLOBAL_SMOOTHED,
    Optimality.REFIT_SWAP: Optimality.REFIT_SWAP_SMOOTHED,
    Optimality.REFIT_SWAP_M: Optimality.REFIT_SWAP_M_SMOOTHED,
    Optimality.SWAP: Optimality.SWAP_SMOOTHED,
    Optimality.CD: Optimality.CD_SMOOTHED,
}


class End(StrEnum):
    """Reason why a search, or a whole path, has no further models."""

    COMPLETE = "complete"
    SEPARATED = "separated"
    SATURATED = "saturated"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    RUNNING = "running"

    @property
    def reason(self):
        """The text for people of an end that cuts work short; "" for others."""
        return {End.TIME_LIMIT: "time_limit reached", End.INTERRUPTED: "interrupted (Ctrl-C)"}.get(
            self, ""
        )

    @property
    def finished(self):
        """Whether nothing cut the work short."""
        return self in (End.COMPLETE, End.SEPARATED, End.SATURATED)


class SearchEnd(StrEnum):
    """Reason why an exact search ended, or is suspended."""

    CLOSED = "closed"
    STOPPED = "stopped"
    NODE_LIMIT = "node_limit"
    NO_BRANCH = "resting"
    STALLED = "stalled"
    TOO_MANY = "too_many"
    TOO_CLOSE = "too_close"
    NO_OPTIMUM = "no_optimum"


def relative_gap(objective, bound):
    """(objective - bound) / max(|objective|, 1e-12)."""
    return (objective - bound) / max(abs(objective), 1e-12)
