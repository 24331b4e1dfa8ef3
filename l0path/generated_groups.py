"""The support path over the number of groups by the feature generating machine; with `polish` it generates for the search over groups, whose swaps are checked over all of them."""
import time

from .group_path import GroupPath
from .solvers.feature_generating import GroupGeneratingSolver
from .solvers.local_search import LocalSearch


class GeneratedGroups(GroupPath):
    """Every size 0..max_k for one (lambda1, lambda2); interface of `GroupPath`, whose search with swaps follows where the settings ask for `polish`."""

    def __init__(self, model, *, settings, **more):
        super().__init__(model, settings=LocalSearch(effort="fast"), **more)
        self.generating = settings
        self.solver = GroupGeneratingSolver(self.model, settings, self.scale)

    def _seed(self):
        """The groups that blocks of every size are made of, each size from the one below."""
        started, store = time.perf_counter(), self.store
        for k in range(1, store.last + 1):
            if k > store.last:
                break
            self.clock.poll()
            near = max(j for j in store.fits if j < k)
            outcome = self.solver.solve(k, store.fits[near], self.clock.poll)
            store.offer(outcome.fit)
            self.model.grow(outcome.fit.groups)
        m = self.model.model
        self.rounds.append({"reads": m.reads, "working": m.width, "members": self.model.W.size, "tables": m.tables, "refits": m.refits, "checked": 0, "verified": 0,
                            "search_seconds": time.perf_counter() - started, "verify_seconds": 0.0, **self.solver.profile()})

    def _search(self, done):
        if self.generating.polish:
            super()._search(done)

    def _verify(self, sizes):
        """Swaps over all groups with `polish`; else a size is what was generated for it, with its coefficients at their best."""
        if self.generating.polish:
            super()._verify(sizes)
        else:
            for k in sizes:
                self._settle(k)

    def optimality(self, k):
        """ "global" where the gap of the size is closed, else "stationary"; "unverified" where a run was stopped before its check."""
        if self.solver.closed(k, self.store.fits[k]):
            return "global"
        return "stationary" if self.verified.get(k) == self.store.fits[k].key else "unverified"

    def bound(self, k):
        """What no fit of k groups falls below, NaN where there is none."""
        return self.solver.bounds.get(k, float("nan"))
