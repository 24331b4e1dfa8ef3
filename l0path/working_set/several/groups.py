"""Working groups of columns for several responses, or several classes."""

import numpy as np

from ...core.status import FitStatus
from ..groups import GroupFit, GroupModel, carried


class ResponseGroupModel(GroupModel):
    """`GroupModel` of a ResponseModel or a MultinomialModel: coefficients b (k, q). Tables of
    exchanges rank, and refits decide.
    """

    def __init__(self, model, lambda1, lambda2):
        super().__init__(model, lambda1, lambda2)
        self.closed = self.exact = False

    def refit(self, groups, start=None, target=np.inf):
        """As `GroupModel.refit`. Where columns are linearly dependent and no ridge tells them
        apart, those of a basis have coefficients.
        """
        groups = np.asarray(groups, dtype=np.int64)
        self.grow(groups)
        model, support = self.model, self.union(groups)
        if self.problem.quadratic:
            if model.near is not None and model.negligible_ridge(self.lambda2):
                return GroupFit(*model.on_rows(support, self.lambda2)[0], groups)
            return GroupFit(*model.refit(support, 0.0, self.lambda2), groups)
        kept, shared = np.arange(support.size), None
        if not self.lambda2:
            kept = model.independent(support)
        part = support[kept]
        if start is not None and FitStatus.SEPARATED not in start.flags:
            shared = carried(start, part), start.b0
        fit = model.refit(part, 0.0, self.lambda2, shared, target)
        if fit is None:
            return None
        b = np.zeros((support.size, fit.b.shape[1]))
        b[kept] = fit.b
        return GroupFit(support, b, fit.b0, fit.value, fit.flags, groups)

    first_below = GroupModel.first_of

    def near_fit(self, fit):
        """(ResponseQuadratic on the working columns, mean): F near a fit is mean times it."""
        found = self.model.quadratic(fit, self.lambda2)
        return (found, 1.0) if self.problem.quadratic else found

    def gradients(self, fits):
        """[(gradient (p, q) of the quadratic at a fit, mean)] over all columns, in one read."""
        model = self.model
        if not self.problem.quadratic:
            return [(state.c, state.mean) for state in model.over_all(fits, self.lambda2)]
        model.reads += 1
        C = self.problem.X.correlate(np.hstack([-model.derivatives(fit).slopes for fit in fits]))
        return [(c, 1.0) for c in np.split(C, len(fits), axis=1)]
