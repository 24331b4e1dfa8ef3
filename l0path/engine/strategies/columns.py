"""Exchanges of single columns: the whole path is searched on a few columns, then every size is
checked over all p columns in one batched read, and the columns that improve one enter.

A size is *verified* when no exchange with refit, and no addition that would beat the next size,
exists among all p columns: for the squared loss without lambda1 and box by the exact table
("refit_swap"), otherwise among the n_best pairs of a ranking, each refuted by a refit or by chord
steps ("refit_swap_m"). That ranking is not the whole table of the fit's own curvatures: columns are
screened with unweighted Gram rows, and a smooth loss ranks W with the curvatures of a fit close by
(`exchange.verification.rows`).

Numerical limit of both: Gram matrices square the condition of columns, so one that keeps less than
3e-5 of its length beside a support (`exchange.COLLINEAR`) counts as a combination of it, unless
`ColumnExchanges.tell_apart` found it.
"""

import numpy as np

from ...exact.exact_swaps import exact_swaps
from ...exchange import local_search, perturbation
from ...exchange.local_search import ON_THE_WAY, LocalSearch, SolutionPool, pairs_tried
from ...exchange.neighborhoods.choice import neighborhood_of
from ...exchange.ranking import Wanted, entering
from ...exchange.verification import leading, violators
from ...problem.penalties import separable
from ...working_set.starts import scale_of, seed
from ..lambda0.candidates import candidates_from
from ..protocols import Session, Slice
from .exchanges import ExchangeStrategy

# columns from which on a read of X costs more than working columns: more of them are taken in at
# once
WIDE = 4096
NEAR = 0.3  # the share of a gain that such an exchange may lose
# reads that only correlate the residuals of some sizes, before the first check of all sizes
SCREENING_PASSES = 2
SCREENED_SIZES = 6  # sizes whose residuals are correlated
# the share of its reach that an oscillation of verified sizes uses where refits decide: logistic
# paths (1000 x 1000, 24 seeds) are as good with 0.25, 0.4, 0.6 and 1, and 0.25 takes as long
OSCILLATED = 0.4


class ColumnExchanges(ExchangeStrategy):
    """Every size 0..max_k for one (lambda1, lambda2) by exchanges of single columns."""

    def __init__(self, model, part, settings, session):
        self.settings, self.exact = settings, model.problem.closed_form(part.lambda1)
        model.grow(model.problem.forced)
        null = model.null(float(part.lambda1), float(part.lambda2))
        scale = scale_of(model, null)
        pool = SolutionPool(
            null, model.problem.forced.size, part.max_k, scale, settings.tol, model.problem.perfect
        )
        super().__init__(model, pool, part, session)
        self.neighborhood = neighborhood_of(model, part, scale, settings)

    @property
    def predicted(self):
        """Whether exchanges are predicted so closely, those with columns outside W too, and X is
        read at so little cost, that each prediction decides what is done about a size.
        """
        return not self.exact and self.neighborhood.foretells and self.problem.X.p < WIDE

    def start(self):
        """Seed the working columns, and compare the supports of the session."""
        found = ()
        if not self.model.width > self.model.problem.forced.size:
            if self.model.problem.quadratic:
                seed(self.model, self.pool.fits[0], self.pool.last)
                for _ in range(SCREENING_PASSES if self.exact else 0):
                    self.take_correlated()
            else:
                found = self.start_from_squares()
        self.tell_apart()  # before refits, which nearly dependent columns slow down
        for support in found:
            self.offer_support(support)
        self.offer_all()

    def improve(self):
        """Sweeps over the sizes until nothing improves. Where tables of exchanges are exact, an
        oscillation costs little and is part of the first round; else it is a way out later on,
        since the columns that the first check brings change most sizes. Where exchanges are
        predicted, the first round is one sweep upwards.
        """
        if self.exact:
            super().improve()
            return
        first, self.first = self.first, False
        if first and self.predicted and self.settings.effort != "fast":
            local_search.sweep(self.pool, self.neighborhood, True, self.done, self.clock.poll)
        else:
            self.sweep(self.done)

    def ways_out(self):
        """Ways out of the local optima found, by turns with rounds: another oscillation, random
        restarts, supports of other algorithms, larger exchanges as long as they improve.
        """
        pool, model, poll = self.pool, self.model, self.clock.poll
        high, m = self.settings.effort == "high", self.settings.swap_size
        if self.settings.effort != "fast":
            share = 1.0 if self.exact else OSCILLATED
            perturbation.oscillate(pool, self.neighborhood, poll, share)
            if self.exact and self.session.thorough:
                rng = np.random.default_rng(0)  # fixed: the default path depends on the data only
                perturbation.perturb(pool, self.neighborhood, rng, 4, self.done, poll)
            yield True
        for first in (True, False) if high else ():
            self.restart(with_others=first)
            yield True
        while (
            m == 2 and not high and perturbation.double_swaps(pool, self.neighborhood, 4, poll)
        ) or (m > 2 and exact_swaps(pool, model, m, self.lambda1, self.lambda2, poll)):
            self.done.clear()
            yield True

    def gram(self):
        """As in `ExchangeStrategy`."""
        return self.model.flat()

    def use_refits(self):
        """Let refits decide every exchange."""
        gram = self.gram()
        self.model.near, self.model.unclear, self.model.close = gram.near, gram.unclear, gram.close
        self.exact = False
        self.neighborhood = neighborhood_of(
            self.model, self.part, self.scale, self.settings, refits=True
        )

    def take_correlated(self):
        """Let the columns most correlated with the residuals of a few sizes into W, by a read of X
        with as few right-hand sides: the first check then starts from supports that need fewer
        others.
        """
        model, problem = self.model, self.model.problem
        usable = int(problem.usable.sum())
        if model.width >= usable:
            return
        self.sweep(set())
        sizes = sorted(
            {int(k) for k in np.linspace(2, max(self.pool.fits), SCREENED_SIZES)}
            & set(self.pool.fits)
        )
        most = min(
            60 if problem.X.p >= WIDE else 30,
            max(model.columns_in_memory // SCREENED_SIZES, 4),
            usable,
        )
        fits = [self.pool.fits[k] for k in sizes]
        model.grow(np.unique(np.concatenate(leading(model, fits, most))))

    def start_from_squares(self):
        """The squared-loss path of slopes at the null fit, whose exact tables cost next to nothing:
        its columns enter W, and its supports, which are returned, may compete for their sizes.
        """
        null = self.pool.fits[0]
        proxy, curvature = self.model.squares(null)
        part = Slice(0.0, self.lambda2 / curvature, self.pool.last)
        fast = LocalSearch(effort="fast", tol=self.settings.tol)
        path = ColumnExchanges(proxy, part, fast, Session(self.clock))
        held = proxy.reads
        path.run()
        found = path.result.starts
        self.model.grow(proxy.W)
        self.model.reads += proxy.reads - held
        seed(self.model, null, max(self.pool.last // 2, 10))
        return () if self.predicted else found  # else a sweep finds supports as low

    def next_value(self):
        """Value of one more column than the last size, by its best addition; None when there is
        none.
        """
        new = self.neighborhood.add(self.pool.fits[self.pool.last], polish=False)
        return None if new is None else new.value

    def restart(self, with_others):
        """Effort "high": random restarts and double swaps; with_others: after supports of other
        algorithms have competed.
        """
        if with_others:
            for support in candidates_from(self.model, self.part, self.clock):
                self.offer_support(support)
        self.sweep(self.done)
        rounds = 30 if self.exact else 10
        perturbation.perturb(
            self.pool, self.neighborhood, self.rng, rounds, self.done, self.clock.poll
        )
        if perturbation.double_swaps(self.pool, self.neighborhood, 5, self.clock.poll):
            self.sweep(self.done)

    def offer_support(self, support):
        """Compare a support from elsewhere (another slice, loss or algorithm) with the best of its
        size; a refit starts from the coefficients of that, or of the size before.
        """
        fits, k = self.pool.fits, support.size - self.model.problem.forced.size
        if not 0 < k <= self.pool.last:
            return
        self.model.grow(support)
        free = not (self.lambda1 or self.lambda2 or self.model.boxed)
        if free and self.model.dependent(support):
            return  # sizes end where every other column is a combination of those chosen
        if self.exact:
            self.pool.update(self.model.refit(support, self.lambda1, self.lambda2))
            return
        held = fits.get(k)
        target = np.inf if held is None else held.value - self.pool.tolerance(held.value)
        near = fits.get(k, fits.get(k - 1, fits[0]))
        new = self.neighborhood.refit(support, near, target)
        if new is not None:
            self.pool.update(new)

    def verify(self, sizes):
        """Check these sizes over all columns; those that improve one enter W."""
        fits = self.pool.fits
        self.clock.poll()
        if 1 in sizes and not self.exact and self.part.compare_single:
            self.compare_single()  # so that none of its swaps needs a refit
        self.refine(sizes)
        sizes = [k for k in sizes if k in fits]  # both may find where the sizes end
        if not sizes:
            return
        # an addition counts where it would beat the next size
        targets = [
            max(fits[k].value - fits[k + 1].value, 0.0) + self.pool.tolerance(fits[k + 1].value)
            if k + 1 in fits
            else 1e300
            for k in sizes
        ]
        if (self._verify_exactly if self.exact else self._verify_ranked)(sizes, targets):
            self.tell_apart()
            self.done.clear()

    def _verify_exactly(self, sizes, targets):
        """Verify by the table of all exchanges; True if W grew."""
        fits = self.pool.fits
        wide = self.problem.X.p >= WIDE
        bars = [-self.pool.tolerance(fits[k].value) for k in sizes]
        # where a read is dear, exchanges that would lose less than a share of what the next
        # column gains come along: after a change elsewhere they may pay, and a round is saved
        count = 30 if wide else 10
        wanted = [
            Wanted(target, max(NEAR * self._gain(k), bar) if wide else bar, count)
            for k, target, bar in zip(sizes, targets, bars, strict=True)
        ]
        penalty = separable(0.0, 0.0, self.lambda2)
        near = violators(self.model, [fits[k] for k in sizes], wanted, penalty)
        found = [
            candidates.of(candidates.change < bar)
            for candidates, bar in zip(near, bars, strict=True)
        ]
        for k, candidates in zip(sizes, found, strict=True):
            if not candidates:
                self.mark_verified(k)
        # an exchange within W was left by a search that ended early (max_swaps, "fast"): that size
        # stays unverified unless W grows
        grew = any(found) and self.model.grow(entering(near))
        if not grew:
            for k, candidates in zip(sizes, found, strict=True):
                self._take(k, candidates)
        return grew

    def _gain(self, k):
        """The decrease by one column beyond size k, or else by the last column of size k."""
        fits = self.pool.fits
        if k + 1 in fits:
            return fits[k].value - fits[k + 1].value
        return fits[k - 1].value - fits[k].value if k - 1 in fits else 0.0

    def _verify_ranked(self, sizes, targets):
        """Verify by refits of the exchanges ranked first; True if W grew."""
        fits = self.pool.fits
        wanted = [
            Wanted(target, 1e300, self.tried(fits[k]))
            for k, target in zip(sizes, targets, strict=True)
        ]
        penalty, checked = separable(0.0, self.lambda1, self.lambda2), [fits[k] for k in sizes]
        found = violators(self.model, checked, wanted, penalty)
        columns, waiting = self.admitted(found)
        grew = self.model.grow(columns)
        for k, fit, candidates, waits in zip(sizes, checked, found, waiting, strict=True):
            self.clock.poll()
            # a size that another one has improved is verified anew
            if not waits and fits.get(k) is fit:
                self._confirm(k, candidates)
        return grew

    @property
    def thorough(self):
        """Whether more exchanges of a fit are refuted than a few."""
        return self.session.thorough or self.settings.n_best is not None

    def tried(self, fit):
        """How many exchanges of a fit refits must refute; few of one that was compared with all
        others, which none of its own can improve, for the sake of other sizes, and of all fits
        where neither session nor settings ask for more.
        """
        if fit.key == self.pool.compared or not self.thorough:
            return ON_THE_WAY
        return pairs_tried(self.settings, self.problem.refit_rows, fit.support.size)

    def admitted(self, found):
        """The columns that enter by the candidates of each size, and whether each size is searched
        again with them before refits decide. Where exchanges are predicted, these are the columns
        that are to improve a size, which is searched again; the others are refuted from outside W.
        """
        if not self.predicted:
            return entering(found), [False] * len(found)
        promising, where = [one.of(one.change < 0.0) for one in found], self.model.where
        waiting = [bool((where[one.into] < 0).any()) for one in promising]
        return entering(promising), waiting

    def compare_single(self):
        """As `SizeStrategy.compare_single`, once for a model. The exact table of several responses
        has compared all columns when it has verified size 1, unless there are forced ones.
        """
        pool = self.pool
        held = pool.fits.get(1)
        if held is None or held.key == pool.compared:
            return
        if self.problem.turn is None:
            super().compare_single()
        elif self.exact and not self.problem.forced.size and self.is_verified(1):
            pool.compared = held.key
            self.session.listener(self.point(1))

    def improved(self, fit, candidates):
        """The fit after swaps, as many of which are refuted in the end as were asked for; the fit
        itself where none improves it, or where it was compared with all others. candidates: its
        exchanges ranked first, which are the swaps to be refuted where they are predicted, unless
        additions are among them.
        """
        if fit.key == self.pool.compared:
            return fit
        better = fit
        if not self.predicted or (candidates.out < 0).any():
            better = self.neighborhood.swap(fit, thorough=self.thorough)
        if better is fit and self.predicted:
            better = self.neighborhood.swap_among(fit, candidates)
        return better

    def _take(self, k, candidates):
        """Carry out the best exchange of a size directly, unless that of another one has ended the
        sizes below it.
        """
        fit = self.pool.fits.get(k)
        if fit is None:
            return
        for c in candidates.of(slice(1)):
            support = np.sort(np.append(fit.support[fit.support != c.out], c.into))
            if (
                not self.pool.update(self.model.refit(support, self.lambda1, self.lambda2))
                and k in self.pool.fits
            ):
                # the table and the refit agree to rounding: no real improvement
                self.mark_verified(k)

    def _confirm(self, k, candidates):
        """Refits decide about the exchanges that the ranking of a size proposed; the size is
        verified when none improves it.
        """
        fit, improved = self.pool.fits[k], False
        added = candidates.into[candidates.out < 0]
        if added.size and k + 1 in self.pool.fits:
            held = self.pool.fits[k + 1]
            target = held.value - self.pool.tolerance(held.value)
            new = self.neighborhood.addition(fit, int(added[0]), target)
            improved = new is not None and self.pool.update(new)
        better = self.improved(fit, candidates)
        if better is not fit and self.pool.update(better):
            improved = True
        if not improved and self.pool.fits.get(k) is fit:
            self.mark_verified(k)
