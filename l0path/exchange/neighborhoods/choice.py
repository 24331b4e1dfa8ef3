"""Choice of the neighborhood that serves a problem, where the settings do not name their own."""

from .chord import ChordNeighborhood, OrderedNeighborhood
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
    if model.problem.turn is not None and not model.problem.quadratic:
        from .multinomial import MultinomialNeighborhood  # its kernels serve this loss alone

        return MultinomialNeighborhood(model, 0.0, part.lambda2, scale, settings)
    if settings.neighborhood is not None:
        return settings.neighborhood(model, part.lambda1, part.lambda2, scale, settings)
    free = not part.lambda1 and not model.problem.boxed and not refits
    if free and model.problem.quadratic:
        return GramNeighborhood(model, part.lambda2, part.max_k, scale, settings)
    if free and model.problem.loss.traits.response == "ordered":
        return OrderedNeighborhood(model, 0.0, part.lambda2, scale, settings)
    by_trials = free and trials and model.shares
    kind = ChordNeighborhood if by_trials else RefitNeighborhood
    return kind(model, part.lambda1, part.lambda2, scale, settings)
