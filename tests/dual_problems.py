"""Problems whose duals several files of tests solve."""

import numpy as np

from l0path.designs import as_design
from l0path.problem.losses import Hinge, make_loss
from l0path.problem.problem import Data, pose


def problem_of(d):
    """The package's `Problem` of an oracle's instance."""
    design, names, _, _ = as_design(d["X"])
    n, p = d["X"].shape
    wide = {
        key: np.broadcast_to(d.get(key, default), p).astype(float)
        for key, default in (("lower", -np.inf), ("upper", np.inf))
    }
    loss = (
        Hinge()
        if d["loss"] == "hinge"
        else make_loss(d["loss"], d.get("gamma", 0.25), d.get("delta", 1.345))
    )
    weights = np.ones(n) if d.get("weights") is None else d["weights"]
    data = Data(
        design=design,
        y=np.asarray(d["y"], float),
        loss=loss,
        weights=weights,
        offset=d.get("offset"),
        intercept=d.get("intercept", True),
        standardize=d.get("standardize", True),
        factor=d.get("penalty_factor", np.ones(p)),
        forced=np.array(d.get("forced", []), dtype=np.int64),
        excluded=np.zeros(p, bool),
        names=names,
        **wide,
    )
    return pose(data)


def wide(seed=0, n=80, p=300, k=6, rho=0.6, loss="squared", noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = (
        signal + rng.normal(size=n) * noise
        if loss == "squared"
        else np.where(signal + rng.logistic(size=n) > 0, 1.0, -1.0)
    )
    return {"X": X, "y": y, "loss": loss}
