"""Ties between columns that say the same: equal, opposite and proportional ones (after
standardisation), of which models hold the one of smallest index.
"""

import numpy as np

from ..problem.problem import EPS

ALIKE = 1e-11  # how far fingerprints of proportional columns may be apart
ROUNDING = 64.0 * EPS  # of the largest entry: by which proportional columns may differ


class Twins:
    """The working columns of a model that can stand for each other at the same objective: their
    coefficients are known from each other, and so are their costs and bounds.

    proportional: whether columns of different length can, which lambda1, lambda2 and bounds forbid.
    """

    def __init__(self, model, proportional):
        self.model, self.proportional = model, proportional and not model.boxed
        self.width, self.of = 0, {}  # column -> [(smaller or equal index, factor of its column)]

    def smallest(self, fit):
        """The fit with columns of smallest index in place of those that say the same."""
        if self.width != self.model.width:
            self._look()
        if not any(j in self.of for j in fit.support.tolist()):
            return fit
        b, taken = dict(zip(fit.support.tolist(), fit.b.tolist(), strict=True)), {}
        for j in fit.support.tolist():
            kept = [(i, r) for i, r in self.of.get(j, ()) if i not in taken]
            # of several of a kind the first ones in the support take the first indices
            i, r = kept[0] if kept else (j, 1.0)
            taken[i] = b[j] * r
        support = np.array(sorted(taken), dtype=np.int64)
        if np.array_equal(support, fit.support):
            return fit
        return fit._replace(support=support, b=np.array([taken[i] for i in support.tolist()]))

    def _look(self):
        """Find the columns of a kind among the working columns, by products with one vector."""
        model, p = self.model, self.model.problem
        self.width, self.of = model.width, {}
        W, Z = model.W, model.Z[: model.width]
        probe = np.cos(np.arange(p.X.n, dtype=np.float64) ** 2)
        length = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        free = p.usable[W] & ~np.isin(W, p.forced) & (length > 0)
        at = np.flatnonzero(free)
        mark = np.abs(Z[at] @ probe) / (length[at] * np.linalg.norm(probe))
        order = np.lexsort((W[at], mark))
        at, mark = at[order], mark[order]
        ends = np.flatnonzero(np.append(np.diff(mark) > ALIKE, True)) + 1
        for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
            if last - first > 1:
                self._kinds(at[first:last][np.argsort(W[at[first:last]])])

    def _kinds(self, at):
        """Note which of the working positions `at`, ascending by column, are of a kind."""
        W, kinds = self.model.W, []
        for t in at.tolist():
            for kind in kinds:
                r = self._ratio(kind[0][0], t)
                if r:
                    kind.append((t, r))
                    break
            else:
                kinds.append([(t, 1.0)])
        for kind in kinds:
            if len(kind) > 1:
                for t, r in kind:
                    # z_t = r z_0 and z_s = q z_0: b z_t = (b r / q) z_s
                    self.of[int(W[t])] = [(int(W[s]), r / q) for s, q in kind]

    def _ratio(self, s, t):
        """r with z_t = r z_s for working positions that can stand for each other, else 0."""
        model, p = self.model, self.model.problem
        i, j, a, b = model.W[s], model.W[t], model.Z[s], model.Z[t]
        r = float(a @ b) / float(a @ a)
        away = 1.0 + max(abs(p.X.center[k]) / p.X.scale[k] for k in (i, j))
        if np.abs(b - r * a).max() > ROUNDING * away * np.abs(b).max():
            return 0.0
        if abs(abs(r) - 1.0) <= ROUNDING * away:
            r = float(np.sign(r))
        elif not self.proportional:
            return 0.0
        ends = (p.lower[i], p.upper[i]) if r > 0 else (-p.upper[i], -p.lower[i])
        same = p.factor[i] == p.factor[j] and ends == (p.lower[j], p.upper[j])
        return r if same else 0.0
