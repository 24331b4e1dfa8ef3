"""l0path in benchopt's benchmark of MCP regression.

The MCP of a coefficient is at most gamma lmbd^2 / 2, and that much from |b| = gamma lmbd on. So

    1 / (2 n) ||y - X b||^2 + gamma lmbd^2 / 2 ||b||_0

is an upper bound of the objective, and equals it where all coefficients are large or 0. The solver
minimizes this bound; it is no solver of the MCP itself where coefficients are small.
"""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SingleRunCriterion

import l0path


class Solver(BaseSolver):
    """The best subset of the L0 problem above."""

    name = "l0path"
    stopping_criterion = SingleRunCriterion()
    requirements = ["pip::l0path"]
    references = ["l0path: whole paths of best-subset models"]

    def set_objective(self, X, y, lmbd, gamma):
        """Keep the problem."""
        self.X, self.y, self.lambda0 = X, y, 0.5 * gamma * lmbd**2

    def warm_up(self):
        """Load or compile kernels, which is not timed."""
        self.run(1)

    def run(self, _):
        """Fit."""
        options = {"fit_intercept": False, "standardize": False}
        path = l0path.fit(self.X, self.y, lambda0=[self.lambda0], **options)
        solution = path._solutions[path.select(lambda0=self.lambda0)]
        self.beta = np.zeros(self.X.shape[1])
        self.beta[solution.support] = solution.beta

    def get_result(self):
        """Coefficients, named as the benchmark names them."""
        return {"beta": self.beta}
