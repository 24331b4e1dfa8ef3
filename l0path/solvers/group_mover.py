"""Steps over sets of groups: add, drop and swap groups with everything re-optimised, ranked or decided by the tables of `group_model`."""
import numpy as np

from .local_search import flat

TRIED = 20  # groups ranked best at each size that a check takes in, and exchanges that refits refute where a table only ranks
GLANCE = 5  # exchanges that a ranked search refits at a fit on its way
ADDITIONS, REMOVALS = 3, 2  # of these so many are refitted where a table only ranks


def groups_tried(settings):
    """The m of a check over groups: n_best, by default TRIED."""
    return settings.n_best or TRIED


class GroupMover:
    """Moves of a GroupModel, with the interface of the movers of single columns. Tables are kept by sets of groups, and follow the working groups."""

    def __init__(self, model, scale, settings):
        self.model, self.scale, self.settings = model, scale, settings
        self.tables, self.polished, self.failed = {}, {}, {}
        self.tried = groups_tried(settings)

    def _tolerance(self, value):
        return flat(value, self.scale, self.settings.tol)

    def table(self, fit):
        """The Table of a fit over all working groups."""
        known = self.tables.get(fit.key)
        if known is None or known.width < self.model.W.size:
            known = self.tables[fit.key] = self.model.table(fit, known, self.tried)
        return known

    def forward(self, fit, polish=True):
        """One group more: the best addition, then swaps. None when no group is independent of the support."""
        best = None
        for change, g in self.table(fit).additions[: 1 if self.model.exact else ADDITIONS]:
            if change < -1e-14 * self.scale or best is None:
                new = self.model.refit(np.sort(np.append(fit.groups, g)), fit, np.inf if best is None else best.value)
                best = new if best is None or (new is not None and new.value < best.value) else best
        return self.polish(best) if polish and best is not None else best

    def backward(self, fit, polish=True):
        """One group less: the cheapest removal, then swaps. None when only forced groups are left."""
        best, ranked = None, sorted((x, g) for g, x in self.table(fit).drops.items())
        for _, g in ranked[: 1 if self.model.exact else REMOVALS]:
            new = self.model.refit(fit.groups[fit.groups != g], fit, np.inf if best is None else best.value)
            best = new if best is None or (new is not None and new.value < best.value) else best
        return self.polish(best) if polish and best is not None else best

    def polish(self, fit, thorough=False):
        """Swaps until none improves; where a table only ranks, the first GLANCE of it are refitted on the way (thorough: all)."""
        most = 1 if self.model.exact else self.tried if thorough else min(GLANCE, self.tried)
        for _ in range(self.settings.max_swaps):
            if "separated" in fit.flags:
                return fit
            better = self._improved(fit, most)
            if better is None:
                return fit
            fit = better
        return fit

    def _improved(self, fit, most):
        """The first swap of those ranked best that lowers F, None where none does."""
        goal, refused = fit.value - self._tolerance(fit.value), self.failed.setdefault(fit.key, set())
        for change, out, into in self.table(fit).swaps[:most]:
            if (out, into) in refused or (self.model.exact and fit.value + change >= goal):
                continue
            new = self.model.refit(np.sort(np.append(fit.groups[fit.groups != out], into)), fit, goal)
            if new is not None and new.value < goal:
                return new
            refused.add((out, into))
        return None

    def refined(self, fit):
        """The fit as it is: refits are run to their end."""
        return fit

    def drop_some(self, fit, groups):
        """The fit without some of its groups."""
        return self.model.refit(np.setdiff1d(fit.groups, groups), fit)
