"""l0path in a benchmark of the L0 penalty: the best of all sizes at a value of lambda0."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SingleRunCriterion

import l0path


class Solver(BaseSolver):
    """Whole paths; "cd" is coordinate descent with exchanges, "exact" proves what it finds."""

    name = "l0path"
    stopping_criterion = SingleRunCriterion()
    requirements = ["pip::l0path"]
    parameters = {"algorithm": ["swap", "cd"], "max_k": [50]}
    references = ["l0path: whole paths of best-subset models"]

    def set_objective(self, X, y, lambda0, lambda2):
        """Keep the problem."""
        self.X, self.y = X, y
        self.more = {
            "lambda0": [lambda0],
            "lambda2": lambda2,
            "max_k": min(self.max_k, X.shape[1]),
            "algorithm": self.algorithm,
            "fit_intercept": False,
            "standardize": False,
        }

    def warm_up(self):
        """Load or compile kernels, which is not timed."""
        self.run(1)

    def run(self, _):
        """Fit."""
        path = l0path.fit(self.X, self.y, **self.more)
        solution = path._solutions[path.select(lambda0=self.more["lambda0"][0])]
        self.beta = np.zeros(self.X.shape[1])
        self.beta[solution.support] = solution.beta

    def get_result(self):
        """Coefficients."""
        return {"beta": self.beta}
