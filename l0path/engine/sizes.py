"""What all engines over sizes share: the best fit of each size, whether it was verified, and their
result.
"""

from collections.abc import Callable

import numpy as np

from ..core.status import End, FitStatus, Optimality
from ..exchange.local_search import Store
from .protocols import Point, Session, Slice, SliceResult
from .single_units import compare_all


class SizeEngine:
    """An engine over the sizes 0..max_k of a slice; a subclass says how it searches.

    Parameters
    ----------
    model : GramModel or RowModel
        The working columns.
    store : Store
        The best fit of each size, to begin with the null fit.
    part : Slice
        The slice.
    session : Session
        The clock, the listener and the supports to start from.
    """

    groups = None  # the GroupModel, where groups are chosen

    def __init__(self, model, store, part: Slice, session: Session):
        self.model, self.problem, self.store = model, model.problem, store
        self.lambda1, self.lambda2 = float(part.lambda1), float(part.lambda2)
        self.part, self.session, self.clock = part, session, session.clock
        self.verified, self.rounds = {0: store.key(store.fits[0])}, []

    def run(self) -> None:
        """Search, then compare the model of one column, or group, with all others."""
        self.search()
        if self.part.compare_single:
            self.compare_single()

    def search(self) -> None:
        """Solve and verify every size."""
        raise NotImplementedError

    def next_value(self) -> float | None:
        """The objective of one more unit than the last size; None where it is not known."""
        return None

    # -------------------- what is known of a size

    @property
    def claim(self) -> Optimality:
        """What a verification shows."""
        return Optimality.STATIONARY

    def closed(self, k: int) -> bool:
        """Whether the gap of size k is closed."""
        return False

    def bound(self, k: int) -> float:
        """No model of size k has a lower objective; NaN where nothing is known."""
        return float("nan")

    def dual_points(self) -> np.ndarray:
        """Dual points of the sizes (n, m), weights included."""
        return np.empty((self.problem.X.n, 0))

    def is_verified(self, k: int) -> bool:
        """Whether the fit of size k was verified as it is."""
        return self.verified.get(k) == self.store.key(self.store.fits[k])

    def unverified(self) -> list[int]:
        """Sizes whose fit is not verified."""
        return [k for k in sorted(self.store.fits) if not self.is_verified(k)]

    def optimality(self, k: int) -> Optimality:
        """The class that was checked for the best model of size k."""
        if self.closed(k):
            return Optimality.GLOBAL
        return self.claim if self.is_verified(k) else Optimality.UNVERIFIED

    def point(self, k: int) -> Point:
        """The best model of size k."""
        known = self.store.optimality(k, self.optimality(k))
        return Point(k, self.store.fits[k], known, self.bound(k))

    def mark_verified(self, k: int) -> None:
        """Mark a size verified and tell the listener."""
        if not self.is_verified(k):
            self.verified[k] = self.store.key(self.store.fits[k])
            self.session.listener(self.point(k))

    @property
    def result(self) -> SliceResult:
        """What is solved, valid at any time."""
        store = self.store
        return SliceResult(
            points=tuple(self.point(k) for k in sorted(store.fits)),
            null=store.fits[0],
            last=store.last,
            end=store.end,
            separated=self._separated(),
            scale=store.scale,
            tol=store.tol,
            claim=self.claim,
            dual_points=self.dual_points(),
            starts=tuple(self._units(fit) for k, fit in store.fits.items() if k),
            rounds=tuple(self.rounds),
        )

    def _units(self, fit):
        """The columns, or groups, of a fit."""
        return fit.support if self.groups is None else fit.groups

    def _separated(self):
        """The separated fit at which the sizes end, None where they do not end so."""
        last = self.store.fits.get(self.store.last)
        if self.store.apart is None and last is not None and FitStatus.SEPARATED in last.flags:
            return last
        return self.store.apart

    # -------------------- steps of every search

    def begin(self) -> bool:
        """Report the null fit; False where no larger size is worth having."""
        store, null = self.store, self.store.fits[0]
        self.session.listener(self.point(0))
        separated = FitStatus.SEPARATED in null.flags
        if separated or store.last == 0 or store.perfect(null.value, store.scale):
            store.finish(0, End.SEPARATED if separated else End.SATURATED)
            return False
        return True

    def refit(self, fit):
        """The fit of the same units made anew."""
        return self.model.refit(fit.support, self.lambda1, self.lambda2)

    def refit_all(self, better: Callable | None = None) -> None:
        """Fit every size anew from the rows, because Gram matrices were not exact; `better` says
        which of (new, old) is taken.
        """
        for k, fit in list(self.store.fits.items()):
            new = self.refit(fit)
            if better is None or better(new, fit):
                self.store.fits[k] = new

    def offer_support(self, units) -> None:
        """Let columns, or groups, from elsewhere compete for their size."""
        if 0 < units.size - self.store.n_forced <= self.store.last:
            self.model.grow(units)
            self.store.offer(self.model.refit(units, self.lambda1, self.lambda2))

    def compare_single(self) -> None:
        """Compare the model of size 1 with all others of its size."""
        held = self.store.fits.get(1)
        shrinkage = self.lambda1, self.lambda2
        compare_all(self.model, self.store, *shrinkage, self.clock.poll, self.groups)
        best = self.store.fits.get(1)
        if best is not held or self.store.compared is not None:
            self.session.listener(self.point(1))


class FilledSizes(SizeEngine):
    """Every size from a `Lambda0Path`: the best fit that was met at each size, missing ones by the
    best addition below or the cheapest removal above. Whatever ends it, those met so far are kept.
    """

    def __init__(self, path, part, session):
        self.path, self.finished = path, False
        problem = path.model.problem
        store = Store(
            path.null, problem.forced.size, part.max_k, path.scale, perfect=problem.perfect
        )
        super().__init__(path.model, store, part, session)

    def search(self):
        """Run the path, then fill."""
        try:
            self.path.run()
            fits = self.path.fill(self.part.max_k)
            self.finished = True
        except BaseException:
            fits = self.path.best_by_size()
            raise
        finally:
            self.rounds = self.path.rounds
            for _, fit in sorted(fits.items()):
                self.store.offer(fit)
            sizes = sorted(self.store.fits)
            gap = next((k for k in range(len(sizes)) if sizes[k] != k), len(sizes))
            if self.finished and gap <= self.store.last:
                self.store.finish(gap - 1, self.store.end or End.SATURATED)

    def optimality(self, k):
        """What the lambda0 path checked about this support; "stationary": its coefficients are the
        best on it, no more.
        """
        key = self.store.key(self.store.fits[k])
        for point in self.path.points:
            if point.verified and self.store.key(point.fit) == key:
                return point.optimality
        return Optimality.STATIONARY if self.finished else Optimality.UNVERIFIED

    def dual_points(self):
        """Those of the lambda0 path."""
        return self.path.dual_points()
