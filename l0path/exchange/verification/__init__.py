"""Verification of fits over all columns: the best exchanges that all p columns offer, by one or two
batched reads of X, here or on the workers of a cluster.
"""

from . import gram, responses, rows

__all__ = ["leading", "violators"]


def violators(model, fits, wanted, penalty):
    """The best exchanges of fits over all p columns.

    For the squared loss they are exact on the quadratic; without lambda1 and box the coefficients
    are taken anew from the supports. Every other loss ranks them, see `rows`.

    Parameters
    ----------
    model : GramModel or RowModel
        The working columns, which have all members of the fits.
    fits : list of Fit
    wanted : list of Wanted
        One for each fit.
    penalty : Separable
        lambda0, lambda1 and lambda2.

    Returns
    -------
    list of Candidates
        Ascending by the predicted change of the objective.
    """
    check, out = gram if model.problem.quadratic else rows, []
    if model.problem.turn is not None:
        check = responses
    for part in model.flat().batches(fits):
        out += check.violators(model, fits[part], wanted[part], penalty)
    return out


def leading(model, fits, most):
    """The usable columns of largest |z'r| / ||z|| for the residuals r of the squared loss, a norm
    over the responses, by one read of X.

    Parameters
    ----------
    model : GramModel
        The working columns, which have all members of the fits.
    fits : list of Fit
    most : int
        How many columns for each fit.

    Returns
    -------
    list of ndarray
        The columns of each fit.
    """
    check = gram if model.problem.turn is None else responses
    model.reads += 1
    return check.leading(model, fits, most)
