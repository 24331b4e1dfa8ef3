"""l0path in benchopt's benchmark of the lasso path: with lambda0 = 0 its coordinate descent solves
the lasso, in units of the mean loss, so lambda1 is the benchmark's lambda over n.
"""

import numpy as np
from benchopt import BaseSolver

import l0path
from l0path.solvers import CoordinateDescent


class Solver(BaseSolver):
    """Coordinate descent without an L0 penalty, from the largest lambda1 to the smallest."""

    name = "l0path"
    sampling_strategy = "tolerance"
    requirements = ["pip::l0path"]
    references = ["l0path: whole paths of best-subset models"]

    def set_objective(self, X, y, lambdas, fit_intercept):
        """Keep the problem."""
        self.X, self.y, self.lambdas, self.intercept = X, y, lambdas, fit_intercept

    def warm_up(self):
        """Load or compile kernels, which is not timed."""
        self.run(1e-4)

    def run(self, tol):
        """Fit the whole path."""
        path = l0path.fit(
            self.X,
            self.y,
            lambda0=[0.0],
            lambda1=np.asarray(self.lambdas) / len(self.y),
            algorithm=CoordinateDescent(tol=float(np.clip(tol, 1e-14, 1e-4))),
            fit_intercept=self.intercept,
            standardize=False,
            max_k=self.X.shape[1],
        )
        p = self.X.shape[1]
        self.coefs = np.zeros((p + int(self.intercept), len(self.lambdas)))
        for column, solution in zip(self.coefs.T, path._solutions, strict=True):
            column[solution.support] = solution.beta
            if self.intercept:
                column[p] = solution.intercept

    def get_result(self):
        """Coefficients (columns, values of lambda), intercepts below."""
        return {"coefs": self.coefs}
