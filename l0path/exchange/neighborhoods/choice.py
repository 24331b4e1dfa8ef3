"""Choice of the neighborhood that serves a problem, where the settings do not name their own."""

from ...problem.traits import ORDERED
from ..decisions import by_chord_steps, by_refits, by_thresholds
from .gram import GramNeighborhood
from .refit import RefitNeighborhood


def neighborhood_of(model, part, scale, settings, *, trials=True, refits=False):
    """The neighborhood of single columns for a model and a slice.

    Parameters
    ----------
    model : GramModel or RowModel
        The working columns.
    part : Slice
        `lambda1`, `lambda2` and `max_k`, the largest size.
    scale : float
        The size of the objective that tolerances refer to.
    settings : LocalSearch
        How many exchanges are tried.
    trials : bool, default True
        Whether trial steps may decide exchanges of smooth losses; else refits do.
    refits : bool, default False
        Whether refits decide in any case: near combinations are among the working columns, and
        tables made of Gram matrices are not exact there.

    Returns
    -------
    Neighborhood
        That of the settings, if they name one. Else by the exact table for the squared loss, by
        trial steps for a smooth loss, by bounds and refits for ordered classes; by refits where
        lambda1, bounds or jumps of the curvature are in the way.
    """
    if settings.neighborhood is not None:
        return settings.neighborhood(model, part.lambda1, part.lambda2, scale, settings)
    free = not part.lambda1 and not model.problem.boxed and not refits
    if free and model.problem.quadratic:
        return GramNeighborhood(model, part.lambda2, part.max_k, scale, settings)
    decide = by_refits
    if free and model.problem.loss.traits.recession == ORDERED:
        decide = by_thresholds
    elif free and ((trials and model.shares) or (model.rough and model.smooth)):
        decide = by_chord_steps
    return RefitNeighborhood(model, part.lambda1, part.lambda2, scale, settings, decide)
