"""The working-set layer: solve the whole path on a few columns, check every size over all p columns
in one batched read, take in the violators, repeat.

A size is *verified* when no exchange with refit, and no addition that would beat the next size,
exists among all p columns: for the squared loss without lambda1 and box by the exact table
("refit_swap"), otherwise among the n_best pairs of a ranking, each refuted by a refit or by chord
steps ("refit_swap_m"). That ranking is not the whole table of the fit's own curvatures: columns are
screened with unweighted Gram rows, and a smooth loss ranks W with the curvatures of a fit close by
(`exchange.verification.rows`).

Numerical limit of both: Gram matrices square the condition of columns, so one that keeps less than
3e-5 of its length beside a support (`exchange.COLLINEAR`) counts as a combination of it, unless
`SupportPath._tell_apart` found it.
"""

import time

import numpy as np

from ..core import threads
from ..core.control import Stop
from ..core.status import End, FitStatus, Optimality
from ..exact.exact_swaps import exact_swaps
from ..exchange import local_search, perturbation
from ..exchange.local_search import LocalSearch, Store
from ..exchange.neighbourhoods.chord import ChordNeighbourhood
from ..exchange.neighbourhoods.gram import GramNeighbourhood
from ..exchange.neighbourhoods.refit import RefitNeighbourhood
from ..exchange.ranking import Wanted
from ..exchange.verification import leading, violators
from ..problem.penalties import separable
from ..working_set.starts import scale_of, seed
from .lambda0_path import candidates_from
from .protocols import Session, Slice
from .sizes import SizeEngine

# columns from which on a read of X costs more than working columns: more of them are taken in at
# once
WIDE = 4096
NEAR = 0.3  # the share of a gain that such an exchange may lose
GLANCES = (
    2  # reads that only look at the residuals of some sizes, before the first check of all sizes
)
LOOKED = 6  # sizes whose residuals are looked at


def make_mover(model, lambda1, lambda2, max_k, scale, settings):
    """What takes steps over the supports of a model: the exact table, chord steps, or refits where
    signs, bounds or jumps of the curvature are in the way.
    """
    free = not lambda1 and not model.problem.boxed
    if free and model.problem.quadratic:
        return GramNeighbourhood(model, lambda2, max_k, scale, settings)
    return (ChordNeighbourhood if free and model.smooth else RefitNeighbourhood)(
        model, lambda1, lambda2, scale, settings
    )


def closed_form(problem, lambda1):
    """Whether tables of exchanges are exact: squared loss, no lambda1, no box."""
    return problem.quadratic and lambda1 == 0 and not problem.boxed


class SupportPath(SizeEngine):
    """Every size 0..max_k for one (lambda1, lambda2) by exchanges of single columns."""

    def __init__(self, model, part, settings, session):
        self.settings, self.exact = settings, closed_form(model.problem, part.lambda1)
        model.grow(model.problem.forced)
        null = model.null(float(part.lambda1), float(part.lambda2))
        scale = scale_of(model, null)
        store = Store(
            null, model.problem.forced.size, part.max_k, scale, settings.tol, model.problem.perfect
        )
        super().__init__(model, store, part, session)
        self.scale, self.most = scale, part.max_k
        self.rng = np.random.default_rng(0) if session.rng is None else session.rng
        self.apart = False  # whether refits decide because of near combinations
        self.escaped = False  # whether supports of other algorithms have competed
        self.mover = make_mover(model, self.lambda1, self.lambda2, part.max_k, scale, settings)

    def search(self):
        """Rounds of search on W and verification over all columns, until every size is verified."""
        with (
            threads.one_blas_thread()
        ):  # products on W are small; full-width ones use the design's own threads
            try:
                self._run()
            except Stop:
                self._refine(self.store.fits)
                raise
            self._refine(self.store.fits)

    def _refine(self, sizes):
        """Bring the fits of these sizes to full accuracy; moves by chord steps stop at 1e-12 of the
        objective.
        """
        for k in list(sizes):
            self.store.fits[k] = self.mover.refined(self.store.fits[k])

    def _run(self):
        if not self.begin():
            return
        if not self.model.width > self.model.problem.forced.size:
            if self.model.problem.quadratic:
                seed(self.model, self.store.fits[0], self.store.last, self.lambda1)
                for _ in range(GLANCES if self.exact else 0):
                    self._glance()
            else:
                self.scout()
        self._tell_apart()
        for support in self.session.supports:
            self.offer_support(support)
        done, escapes = set(), 2 if self.settings.effort == "high" else 0
        overshoots = 2 if self.settings.effort != "fast" else 0
        while True:
            started = time.perf_counter()
            self._search(done)
            if overshoots == 2:
                overshoots -= 1
                if perturbation.oscillate(self.store, self.mover, self.clock.poll):
                    self._search(done)
            searched = time.perf_counter()
            todo = self.unverified()
            grew = self.verify(todo) if todo else False
            if grew:
                self._tell_apart()
                done.clear()
            self.rounds.append(
                {
                    "reads": self.model.reads,
                    "working": self.model.width,
                    "members": self.model.members,
                    "tables": self.model.tables,
                    "refits": self.model.refits,
                    "checked": len(todo),
                    "verified": len(self.store.fits) - len(self.unverified()),
                    "search_seconds": searched - started,
                    "verify_seconds": time.perf_counter() - searched,
                }
            )
            if self.unverified():
                continue
            if overshoots:
                overshoots -= 1
                perturbation.oscillate(self.store, self.mover, self.clock.poll)
                if self.exact:  # with a fixed seed: the default path depends on the data only
                    rng = np.random.default_rng(0)
                    perturbation.perturb(self.store, self.mover, rng, 4, done, self.clock.poll)
            elif escapes:
                escapes -= 1
                self.escape(done)
            elif (
                self.settings.swap_size == 2
                and self.settings.effort != "high"
                and perturbation.double_swaps(self.store, self.mover, 4, self.clock.poll)
            ):
                done.clear()
            elif self.settings.swap_size > 2 and exact_swaps(
                self.store,
                self.model,
                self.settings.swap_size,
                self.lambda1,
                self.lambda2,
                self.clock.poll,
            ):
                done.clear()
            else:
                return

    def _tell_apart(self):
        """Let refits decide every move where near combinations are among the working columns: there
        the table of exchanges, which is made of Gram matrices, is not exact. Whether that is new.
        """
        model, store = self.model, self.store
        gram = model if model.problem.quadratic else model.flat()
        known = 0 if not self.apart else gram.near.size
        found = gram.faint(self.lambda2) and (gram.look_for_near() or gram.near is not None)
        if not found or gram.near.size == known:
            return False
        model.near, model.unclear = gram.near, gram.unclear
        self.apart, self.exact, self.verified = True, False, {}
        self.mover = RefitNeighbourhood(
            model, self.lambda1, self.lambda2, self.scale, self.settings
        )
        if store.end == End.SATURATED:
            store.last, store.end = self.most, ""
        self.refit_all()
        self.verified[0] = store.key(store.fits[0])
        return True

    def _glance(self):
        """Let the columns most correlated with the residuals of a few sizes into W, by a read of X
        with as few right-hand sides: the first check then starts from supports that need fewer
        others.
        """
        model, problem = self.model, self.model.problem
        usable = int(problem.usable.sum())
        if model.width >= usable:
            return
        self._search(set())
        sizes = sorted(
            {int(k) for k in np.linspace(2, max(self.store.fits), LOOKED)} & set(self.store.fits)
        )
        b = np.zeros((len(sizes), model.width))
        for row, k in zip(b, sizes, strict=True):
            row[model.where[self.store.fits[k].support]] = self.store.fits[k].b
        residual = b @ model.Z[: model.width]  # in place: n may be millions
        np.subtract(problem.y, residual, out=residual)
        residual *= problem.weights
        top = leading(
            model,
            residual.T,
            min(60 if problem.X.p >= WIDE else 30, max(model.room // LOOKED, 4), usable),
        )
        model.grow(np.unique(np.concatenate(top)))

    def _search(self, done):
        """Sweeps over the sizes until nothing improves."""
        local_search.search(self.store, self.mover, done, self.clock.poll)

    def scout(self):
        """The squared-loss path of the pseudo-response -loss'(null), whose exact tables cost next
        to nothing: its supports enter W and compete for their sizes.
        """
        null, proxy = self.store.fits[0], self.model.flat()
        curvature = max(float(self.model.derivatives(null)[2].sum()), 1e-12)
        part = Slice(0.0, self.lambda2 / curvature, self.store.last)
        fast = LocalSearch(effort="fast", tol=self.settings.tol)
        path = SupportPath(proxy, part, fast, Session(self.clock))
        held = proxy.reads
        path.run()
        found = path.result.starts
        self.model.share(proxy)
        self.model.reads += proxy.reads - held
        seed(
            self.model,
            null,
            max(self.store.last // 2, 10),
            self.lambda1,
            extra=np.unique(np.concatenate([np.empty(0, np.int64), *found])),
        )
        for support in found:
            self.offer_support(support)

    @property
    def claim(self):
        """All exchanges, or those of a ranking."""
        return Optimality.REFIT_SWAP if self.exact else Optimality.REFIT_SWAP_M

    def next_value(self):
        """Value of one more column than the last size, by its best addition; None when there is
        none.
        """
        new = self.mover.add(self.store.fits[self.store.last], polish=False)
        return None if new is None else new.value

    def escape(self, done):
        """Effort "high": supports of other algorithms, random restarts and double swaps."""
        if not self.escaped:
            for support in candidates_from(self.model, self.part, self.clock):
                self.offer_support(support)
        self.escaped = True
        self._search(done)
        rounds = 30 if self.exact else 10
        perturbation.perturb(self.store, self.mover, self.rng, rounds, done, self.clock.poll)
        if perturbation.double_swaps(self.store, self.mover, 5, self.clock.poll):
            self._search(done)

    def offer_support(self, support):
        """Let a support from elsewhere (another slice, loss or algorithm) compete for its size."""
        k = support.size - self.model.problem.forced.size
        if 0 < k <= self.store.last:
            self.model.grow(support)
            free = not (self.lambda1 or self.lambda2 or self.model.boxed)
            if free and self.model.dependent(support):
                return  # sizes end where every other column is a combination of those chosen
            self.store.offer(self.model.refit(support, self.lambda1, self.lambda2))

    def verify(self, sizes):
        """Check these sizes over all columns; violators enter W. True if W grew."""
        fits = self.store.fits
        sizes = [k for k in sizes if FitStatus.SEPARATED not in fits[k].flags]
        for k in [k for k in fits if FitStatus.SEPARATED in fits[k].flags]:
            self.mark_verified(k)
        if not sizes:
            return False
        self.clock.poll()
        self._refine(sizes)
        targets = [
            max(fits[k].value - fits[k + 1].value, 0.0) + self.store.tolerance(fits[k + 1].value)
            if k + 1 in fits
            else 1e300
            for k in sizes
        ]
        if self.exact:
            bars = [-self.store.tolerance(fits[k].value) for k in sizes]
            wide = self.model.problem.X.p >= WIDE
            # where a read is dear, exchanges that would lose less than a share of what the next
            # column gains come along: after a change elsewhere they may pay, and a round is saved
            gains = [
                fits[k].value - fits[k + 1].value
                if k + 1 in fits
                else fits[k - 1].value - fits[k].value
                if k - 1 in fits
                else 0.0
                for k in sizes
            ]
            ceilings = [
                max(NEAR * gain, bar) if wide else bar
                for gain, bar in zip(gains, bars, strict=True)
            ]
            count = 30 if wide else 10
            near = violators(
                self.model,
                [fits[k] for k in sizes],
                [Wanted(*pair, count) for pair in zip(targets, ceilings, strict=True)],
                separable(0.0, 0.0, self.lambda2),
            )
            found = [
                [c for c in candidates if c.change < bar]
                for candidates, bar in zip(near, bars, strict=True)
            ]
            for k, candidates in zip(sizes, found, strict=True):
                if not candidates:
                    self.mark_verified(k)
            # a violator already in W was left by a search that ended early (max_swaps, "fast"):
            # that size stays unverified unless W grows
            grew = any(found) and self.model.grow(
                np.array(
                    sorted({c.into for candidates in near for c in candidates}), dtype=np.int64
                )
            )
            if not grew:
                for k, candidates in zip(sizes, found, strict=True):
                    self._take(k, candidates)
            return grew
        found = violators(
            self.model,
            [fits[k] for k in sizes],
            [
                Wanted(
                    target,
                    1e300,
                    local_search.pairs_tried(
                        self.settings, self.model.problem.n_eff, fits[k].support.size
                    ),
                )
                for k, target in zip(sizes, targets, strict=True)
            ],
            separable(0.0, self.lambda1, self.lambda2),
        )
        grew = self.model.grow(
            np.array(sorted({c.into for candidates in found for c in candidates}), dtype=np.int64)
        )
        for k, candidates in zip(sizes, found, strict=True):
            self.clock.poll()
            self._confirm(k, candidates)
        return grew

    def _take(self, k, candidates):
        """Carry out the best exchange of a size directly."""
        fit = self.store.fits.get(k)
        for c in candidates[:1]:
            support = np.sort(np.append(fit.support[fit.support != c.out], c.into))
            if (
                not self.store.offer(self.model.refit(support, self.lambda1, self.lambda2))
                and k in self.store.fits
            ):
                self.mark_verified(
                    k
                )  # the table and the refit agree to rounding: no real improvement

    def _confirm(self, k, candidates):
        """Refits decide what the ranking of a size proposed; verified when none improves."""
        fit = self.store.fits.get(k)
        if fit is None:
            return
        improved = False
        for c in candidates:
            if c.out < 0 and k + 1 in self.store.fits:
                held = self.store.fits[k + 1]
                new = self.mover._refit(
                    np.sort(np.append(fit.support, c.into)),
                    fit,
                    held.value - self.store.tolerance(held.value),
                )
                if new is not None and self.store.offer(new):
                    improved = True
                break
        better = self.mover.swap(fit, thorough=True)
        if better is not fit and self.store.offer(better):
            improved = True
        if not improved and self.store.fits.get(k) is fit:
            self.mark_verified(k)
