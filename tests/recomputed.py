"""The objective of a model of a path, computed anew from its coefficients and the data."""

import numpy as np

from l0path.problem.problem import row_weights
from l0path.problem.responses import reported
from l0path.problem.several import summed_loss
from l0path.problem.solution import present


def objective_of(path, rule=None, *, X=None, y=None, **selector):
    """loss + lambda1 ||b||_1 + lambda2 ||b||_2^2 (+ lambda0 sum_j f_j [b_j != 0] on a lambda0 grid)
    of the model that a selector names, in units of the mean loss.
    """
    model = path.model(rule, **selector)
    path, s = model.path, model._solution
    data, meta = path._data(X, y), path._meta
    eta = path._link(data.design, s) + (0.0 if data.offset is None else data.offset)
    b = (s.beta.T * meta.scale[s.support]).T
    if data.responses is not None:
        b = (b * np.sqrt(data.response_weights)).ravel()
    value = (
        summed_loss(reported(data.loss), data.y, eta, row_weights(data), data.response_weights)
        + s.lambda1 * np.abs(b).sum()
        + s.lambda2 * b @ b
    )
    if meta.grid == "lambda0":
        if meta.groups is not None:
            return float(value + s.lambda0 * meta.groups.factor[s.groups].sum())
        counted = ~np.isin(s.support, meta.forced) & present(s.beta)
        value += s.lambda0 * meta.factor[s.support][counted].sum()
    return float(value)
