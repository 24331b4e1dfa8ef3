"""Instances and problems that several files of tests build: dictionaries in the form of
`oracles.instances`, and what the package makes of them.
"""

import numpy as np
from oracles import scaling

from l0path.core.control import Clock
from l0path.designs import as_design
from l0path.engine.protocols import Session, Slice
from l0path.engine.strategies.sparse import SparseSizes
from l0path.problem.losses import make_loss
from l0path.problem.problem import Data, pose
from l0path.working_set.model import make_model


def problem_of(d):
    """The package's `Problem` of an oracle's instance."""
    design, names, _, _ = as_design(d["X"])
    n, p = d["X"].shape
    wide = {
        "lower": np.broadcast_to(d["lower"], p).astype(float),
        "upper": np.broadcast_to(d["upper"], p).astype(float),
    }
    weights = np.ones(n) if d["weights"] is None else d["weights"]
    data = Data(
        design=design,
        y=d["y"],
        loss=make_loss(d["loss"], d["gamma"], d["delta"]),
        weights=weights,
        offset=d["offset"],
        intercept=d["intercept"],
        standardize=d["standardize"],
        factor=d["penalty_factor"],
        forced=np.array(d["forced"], dtype=np.int64),
        excluded=np.zeros(p, bool),
        names=names,
        **wide,
    )
    return pose(data)


def in_user_units(d, fit):
    """(beta, beta0) of a fit."""
    c, s = scaling(
        d["X"], weights=d["weights"], standardize=d["standardize"], intercept=d["intercept"]
    )
    beta = np.zeros(d["X"].shape[1])
    beta[fit.support] = fit.b / s[fit.support]
    return beta, fit.b0 - c @ beta


def wide_instance(seed=0, n=80, p=400, k=12, rho=0.8, loss="squared", **changes):
    """A design of p > n columns with correlated neighbors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    eta = X[:, :: p // k][:, :k].sum(axis=1)
    y = (
        eta + rng.normal(size=n)
        if loss == "squared"
        else np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0)
    )
    return plain(X, y, loss, **{"standardize": True, "intercept": True, "lambda2": 1e-2} | changes)


def plain(X, y, loss="squared", **changes):
    """An instance without options: no intercept, columns as they are."""
    p = X.shape[1]
    d = dict(
        loss=loss,
        X=X,
        y=y,
        weights=None,
        offset=None,
        lower=-np.inf,
        upper=np.inf,
        penalty_factor=np.ones(p),
        forced=[],
        standardize=False,
        intercept=False,
        gamma=0.25,
        delta=1.345,
    )
    return d | dict(lambda1=0.0, lambda2=0.0) | changes


def solver_path(d, settings, max_k, clock=None, **how):
    """The finished SparseSizes of an instance."""
    part, session = Slice(d["lambda1"], d["lambda2"], max_k), Session(clock or Clock(), **how)
    path = SparseSizes(make_model(problem_of(d)), part, settings, session)
    path.run()
    return path
