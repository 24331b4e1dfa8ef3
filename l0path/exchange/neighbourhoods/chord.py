"""Moves ranked by the table of `exchange` on the local quadratic and tried by chord steps
(`chord`): losses without a sign or bound to respect (no lambda1, no box).
"""

import numpy as np

from ...core.status import FitStatus
from ..local_search import pairs_tried
from .refit import RefitNeighbourhood


class ChordNeighbourhood(RefitNeighbourhood):
    """A RefitNeighbourhood whose trials take gradients only, and which turns to a refit where chord
    steps do not settle.
    """

    def __init__(self, model, lambda1, lambda2, scale, settings):
        super().__init__(model, lambda1, lambda2, scale, settings)
        self.exact = {}  # support -> its fit by Newton's method

    def refined(self, fit):
        """The fit as Newton's method leaves it."""
        key = fit.support.tobytes()
        if fit.flags or not fit.support.size:
            return fit
        if key not in self.exact:
            self.exact[key] = self.model.refit(fit.support, 0.0, self.lambda2, (fit.b, fit.b0))
        return self.exact[key]

    def _lowest(self, fit, pairs):
        """The lowest fit after one of the exchanges `pairs` (out, into), -1 for none; None without
        pairs.
        """
        if not pairs:
            return None
        i, j = np.array(pairs, dtype=np.int64).T
        out, into = (
            np.where(i >= 0, np.searchsorted(fit.support, i), -1),
            np.where(j >= 0, self.model.where[j], -1),
        )
        return self.model.attempt(fit, out, into, self.lambda2, False, np.inf)[0]

    def _improve(self, fit, first, keep):
        """The first of the `keep` first swaps with working columns from position `first` on that
        comes below the fit, or None.
        """
        if FitStatus.SEPARATED in fit.flags or not fit.support.size:
            return None
        change, out, into = self.model.swaps(fit, self.lambda2, first, keep)
        target, key = fit.value - self._tolerance(fit.value), fit.support.tobytes()
        last = (
            self.last_ranked.get((key, keep), np.inf) if first else np.inf
        )  # columns that came later must beat the first pairs of before
        full = change.size == keep
        # on the way a guess will do; the last word on a size is had by bounds
        proof = keep >= pairs_tried(self.settings, self.model.problem.n_eff, fit.support.size)
        try_these = np.flatnonzero(change <= last)
        while try_these.size:
            new, at = self.model.attempt(
                fit, out[try_these], into[try_these], self.lambda2, True, target, proof
            )
            if at < 0:
                break
            if new is not None and new.value < target:
                return new
            try_these = try_these[at + 1 :]
        if full:
            self.last_ranked[key, keep] = min(last, change[-1])
        return None
