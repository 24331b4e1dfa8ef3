"""Least squares with an L0 penalty and a ridge: what a solver returns is scored by

1 / (2 n) ||y - X b||^2 + lambda0 ||b||_0 + lambda2 ||b||^2.
"""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """lambda0 is `reg` times the least value at which the empty model is the best of size <= 1."""

    name = "L0 regression"
    min_benchopt_version = "1.6"
    parameters = {"reg": [0.1, 0.01], "ridge": [1e-3]}

    def set_data(self, X, y):
        """Keep the data; columns and y are centered by the data set."""
        self.X, self.y, n = X, y, len(y)
        gains = (X.T @ y / n) ** 2 / (2.0 * ((X * X).sum(axis=0) / n + 2.0 * self.ridge))
        self.lambda0 = self.reg * float(gains.max())

    def evaluate_result(self, beta):
        """The value of coefficients, and their number."""
        left = self.y - self.X @ beta
        chosen = int(np.count_nonzero(beta))
        loss = 0.5 * float(left @ left) / len(self.y) + self.ridge * float(beta @ beta)
        return {"value": loss + self.lambda0 * chosen, "chosen": chosen}

    def get_one_result(self):
        """The empty model."""
        return {"beta": np.zeros(self.X.shape[1])}

    def get_objective(self):
        """What `set_objective` of a solver gets."""
        return {"X": self.X, "y": self.y, "lambda0": self.lambda0, "lambda2": self.ridge}
