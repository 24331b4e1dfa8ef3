"""The one loop over the sizes of a slice: improve on the working columns, verify over all columns,
let those that would improve a size enter, repeat.

How sizes are improved and verified is a strategy (`strategies/`), whose steps are declared in
`protocols.Phase`; a strategy may begin with phases of its own. What all strategies share is here:
the best fit of each size, whether it was verified, and their result.
"""

from collections.abc import Callable

import numpy as np

from ..core import threads
from ..core.control import Stop
from ..core.status import End, FitStatus, Optimality
from ..exact.single_units import compare_all
from ..exchange import local_search
from .protocols import Point, Session, Slice, SliceResult
from .rounds import Rounds


class SizeStrategy:
    """The sizes 0..max_k of a slice; a subclass says how they are searched (`protocols.Phase`).

    Parameters
    ----------
    model : GramModel or RowModel
        The working columns.
    pool : SolutionPool
        The best fit of each size, to begin with the null fit.
    part : Slice
        The slice.
    session : Session
        The clock, the listener and the supports to start from.
    """

    groups = None  # the GroupModel, where groups are chosen
    solver = None  # of one size at a time, where there is one: it knows bounds

    def __init__(self, model, pool, part: Slice, session: Session):
        self.model, self.problem, self.pool = model, model.problem, pool
        self.lambda1, self.lambda2 = float(part.lambda1), float(part.lambda2)
        self.part, self.session, self.clock = part, session, session.clock
        self.verified, self.rounds = {0: pool.fits[0].key}, Rounds()

    def run(self) -> None:
        """Search until every size is verified, then compare the model of size 1 with all others.
        Fits are brought to full accuracy, also where a clock ended the search.
        """
        # products on working columns are small; full-width ones use the design's own threads
        with threads.one_blas_thread():
            try:
                self.search()
            except Stop:
                self.refine(self.pool.fits)
                raise
            self.refine(self.pool.fits)
        if self.part.compare_single:
            self.compare_single()

    def search(self) -> None:
        """Run the phases, where there are sizes to be searched."""
        if self.begin():
            for phase in self.phases():
                self.rounds.run(phase)

    def phases(self) -> tuple:
        """The phases of the search."""
        return (self,)

    def next_value(self) -> float | None:
        """The objective of one more unit than the last size; None where it is not known."""
        return None

    # -------------------- what is known of a size

    @property
    def optimality_if_verified(self) -> Optimality:
        """The class of a model that passed the verification."""
        return Optimality.STATIONARY

    def closed(self, k: int) -> bool:
        """Whether the gap of size k is closed."""
        return self.solver is not None and self.solver.closed(k, self.pool.fits[k])

    def bound(self, k: int) -> float:
        """A lower bound on the objectives of all models of size k; NaN where none is known: there
        is no solver with a dual, or not all columns were read yet.
        """
        return float("nan") if self.solver is None else self.solver.bounds.get(k, float("nan"))

    def dual_points(self) -> np.ndarray:
        """Dual points of the sizes (n, m), weights included."""
        return np.empty((self.problem.X.n, 0))

    def is_verified(self, k: int) -> bool:
        """Whether the fit of size k was verified as it is."""
        known = self.verified.get(k)
        return known is not None and known == self.pool.fits[k].key

    def unverified(self) -> list[int]:
        """Sizes whose fit is not verified."""
        # not by `is_verified`: asked for every size after every round
        fits, verified = self.pool.fits, self.verified
        return [k for k in sorted(fits) if verified.get(k) != fits[k].key]

    def optimality(self, k: int) -> Optimality:
        """The class that was checked for the best model of size k."""
        if self.closed(k):
            return Optimality.GLOBAL
        return self.optimality_if_verified if self.is_verified(k) else Optimality.UNVERIFIED

    def point(self, k: int) -> Point:
        """The best model of size k."""
        known = self.pool.optimality(k, self.optimality(k))
        return Point(k, self.pool.fits[k], known, self.bound(k))

    def mark_verified(self, k: int) -> None:
        """Mark a size verified and tell the listener."""
        if not self.is_verified(k):
            self.verified[k] = self.pool.fits[k].key
            self.session.listener(self.point(k))

    @property
    def result(self) -> SliceResult:
        """The models solved so far; valid at any time."""
        pool = self.pool
        return SliceResult(
            points=tuple(self.point(k) for k in sorted(pool.fits)),
            null=pool.fits[0],
            last=pool.last,
            end=pool.end,
            separated=pool.apart,
            tied=self.tied(pool.apart),
            scale=pool.scale,
            tol=pool.tol,
            optimality_if_verified=self.optimality_if_verified,
            dual_points=self.dual_points(),
            starts=tuple(fit.units for k, fit in pool.fits.items() if k),
            rounds=tuple(self.rounds),
        )

    def tied(self, fit) -> int:
        """How many supports of the size of a separated fit were found that reach its objective."""
        if fit is None:
            return 0
        limits = getattr(self.model, "limits", {})
        within = fit.value + self.pool.tolerance(fit.value)
        return sum(
            other is not None and other.value <= within and other.support.size == fit.support.size
            for other in limits.values()
        )

    def profile(self) -> tuple:
        """The numbers for `Rounds.end`."""
        members = (self.groups or self.model).members
        return self.model, members, len(self.pool.fits) - len(self.unverified())

    # -------------------- steps of every search

    def sweep(self, done: set) -> None:
        """Steps of the neighborhood up and down the sizes until nothing improves; `done` are
        those taken already.
        """
        local_search.search(self.pool, self.neighborhood, done, self.clock.poll)

    def refine(self, sizes) -> None:
        """Bring the fits of these sizes to full accuracy; simplified Newton steps stop at 1e-12 of
        the objective. Sizes beyond a complete separation are no more.
        """
        fits = self.pool.fits
        for k in sorted(set(sizes) & set(fits)):
            if k > self.pool.last:
                return
            fits[k] = self.neighborhood.refined(fits[k])
            far = FitStatus.SEPARATED in fits[k].flags
            if k and far and self.pool.perfect(fits[k].value, self.pool.scale):
                self.pool.finish(k, FitStatus.SEPARATED)

    def begin(self) -> bool:
        """Report the null fit; False where no larger size needs to be searched."""
        pool, null = self.pool, self.pool.fits[0]
        self.session.listener(self.point(0))
        perfect = pool.perfect(null.value, pool.scale)
        if pool.last == 0 or perfect or not np.isfinite(null.value):
            apart = perfect and FitStatus.SEPARATED in null.flags
            pool.finish(0, End.SEPARATED if apart else End.SATURATED)
            return False
        return True

    def refit(self, fit):
        """The fit of the same units made anew."""
        return self.model.refit(fit.support, self.lambda1, self.lambda2)

    def refit_all(self, better: Callable | None = None) -> None:
        """Fit every size anew from the rows, because Gram matrices were not exact; `better` says
        which of (new, old) is taken.
        """
        for k, fit in list(self.pool.fits.items()):
            new = self.refit(fit)
            if better is None or better(new, fit):
                self.pool.fits[k] = new

    def offer_support(self, units) -> None:
        """Compare columns, or groups, found elsewhere with the best model of their size."""
        if 0 < units.size - self.pool.n_forced <= self.pool.last:
            self.model.grow(units)
            self.pool.update(self.model.refit(units, self.lambda1, self.lambda2))

    def compare_single(self) -> None:
        """Compare the model of size 1 with all others of its size."""
        held = self.pool.fits.get(1)
        shrinkage = self.lambda1, self.lambda2
        compare_all(self.model, self.pool, *shrinkage, self.clock.poll, self.groups)
        best = self.pool.fits.get(1)
        if best is not held or self.pool.compared is not None:
            self.session.listener(self.point(1))
