"""What is declared of a loss."""

from typing import NamedTuple

# how a loss may fall for ever along a direction of the coefficients: never; where it separates the
# classes; where it sends the means of rows with y = 0 to zero; where those that die first lead
NO_RECESSION, SEPARATES, EMPTIES, MONOTONE = 0, 1, 2, 3


class LossTraits(NamedTuple):
    """What solvers and results ask about a loss, beside its verbs and those of `responses`.

    Attributes
    ----------
    name : str
        Its public name.
    response : {"real", "counts", "classes", "survival"}
        What y holds. Classes are -1 and 1 inside, and the events of survival 0 or 1.
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
    link : {"identity", "logit", "log", ""}
        The predictor as a function of the mean of y; empty where the loss has no mean.
    recession : int
        NO_RECESSION, SEPARATES, EMPTIES or MONOTONE: how it may fall for ever.
    bounded : bool
        Whether its curvature is bounded, which methods of fixed steps need.
    likelihood : bool
        Whether it is a negative log-likelihood, up to constants and a scale.
    parameter : str
        The argument of `fit` that its number comes from; empty where it has none.
    coupled : bool
        Whether it is no sum over rows (see `verbs`).
    intercept : bool
        Whether an intercept can be fitted. Where it would not matter, columns are centred as with
        one.
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

    @property
    def gaussian(self):
        """Whether it is the likelihood of the normal distribution, to which sums of squares
        belong.
        """
        return self.likelihood and self.link == "identity"
