"""Choice of the working columns that serve a problem."""

from ..problem.conjugates import smooth
from .gram import GramModel
from .hinge import KinkedModel
from .rows import RowModel


def make_model(problem, max_iter=1000):
    """The working columns of a problem, none at first; max_iter: the steps of a refit at most."""
    if problem.turn is not None and not problem.quadratic:
        from .several.predictors import PredictorsModel as kind  # kernels of these losses alone
    elif problem.quadratic:
        kind = GramModel
    else:
        kind = RowModel if smooth(problem.loss) is problem.loss else KinkedModel
    model = kind(problem)
    model.max_iter = max_iter
    return model
