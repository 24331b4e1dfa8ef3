"""Every size from a lambda0 path: the best fit that was met at each size, missing ones by the best
addition below or the cheapest removal above.
"""

from ...core.status import End, Optimality
from ...exchange.local_search import SolutionPool
from ..sizes import SizeStrategy


class FilledSizes(SizeStrategy):
    """The sizes of a `Lambda0Path`; whatever ends it, those met so far are kept."""

    def __init__(self, path, part, session):
        self.path, self.finished = path, False
        problem = path.model.problem
        pool = SolutionPool(
            path.null, problem.forced.size, part.max_k, path.scale, perfect=problem.perfect
        )
        super().__init__(path.model, pool, part, session)
        self.rounds = path.rounds

    def refine(self, sizes):
        """Fits of the path are accurate."""

    def search(self):
        """Run the path, which reports its points itself, then fill."""
        try:
            self.path.run()
            fits = self.path.fill(self.part.max_k)
            self.finished = True
        except BaseException:
            fits = self.path.best_by_size()
            raise
        finally:
            for _, fit in sorted(fits.items()):
                self.pool.update(fit)
            sizes = sorted(self.pool.fits)
            gap = next((k for k in range(len(sizes)) if sizes[k] != k), len(sizes))
            if self.finished and gap <= self.pool.last:
                self.pool.finish(gap - 1, self.pool.end or End.SATURATED)

    def optimality(self, k):
        """The optimality that the lambda0 path verified for this support; "stationary" where the
        coefficients are the best on it and nothing else is known.
        """
        key = self.pool.fits[k].key
        for point in self.path.points:
            if point.verified and point.fit.key == key:
                return point.optimality
        return Optimality.STATIONARY if self.finished else Optimality.UNVERIFIED

    def dual_points(self):
        """The dual points of the lambda0 path."""
        return self.path.dual_points()
