"""Ties between columns that say the same: equal, opposite and proportional ones (after
standardization), of which models hold the one of smallest index.
"""

import numpy as np

from ..problem.problem import EPS
from .model import make_model

ALIKE = 1e-11  # how far fingerprints of proportional columns may be apart
ABOUT = 1e-7  # the same of products with y, which rounding of columns far from the origin reaches
ROUNDING = 64.0 * EPS  # of the largest entry: by which proportional columns may differ


def _runs(at, mark, W, apart=ALIKE):
    """The working positions `at` whose marks lie together, an array each where there are two."""
    order = np.lexsort((W[at], mark))
    ends = np.flatnonzero(np.append(np.diff(mark[order]) > apart, True)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    long = ends - starts > 1  # most columns are alone: no array is made for these
    return [at[order[i:j]] for i, j in zip(starts[long], ends[long], strict=True)]


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
            self._find()
        if not self.of or not any(j in self.of for j in fit.support.tolist()):
            return fit
        b, taken = dict(zip(fit.support.tolist(), fit.b, strict=True)), {}
        for j in fit.support.tolist():
            kept = [(i, r) for i, r in self.of.get(j, ()) if i not in taken]
            # of several of a kind the first ones in the support take the first indices
            i, r = kept[0] if kept else (j, 1.0)
            taken[i] = b[j] * r
        support = np.array(sorted(taken), dtype=np.int64)
        if np.array_equal(support, fit.support):
            return fit
        return fit._replace(support=support, b=np.array([taken[i] for i in support.tolist()]))

    def _find(self):
        """Find the columns of a kind among the working columns, by products with one vector."""
        model, p = self.model, self.model.problem
        self.width, self.of = model.width, {}
        W, size = model.W, np.sqrt(p.square[model.W])
        at = np.flatnonzero(p.usable[W] & ~p.locked(W) & (size > 0))
        if p.quadratic and model.half_square > 0:
            # the products with y are known: columns are compared where these agree
            length = np.sqrt(2.0 * model.half_square)
            q = np.abs(model.q[at]) if model.q.ndim == 1 else np.linalg.norm(model.q[at], axis=1)
            runs = _runs(at, q / (size[at] * length), W, ABOUT)
            if not runs:
                return
            at = np.concatenate(runs)
        probe, Z = np.cos(np.arange(p.X.n, dtype=np.float64) ** 2), model.Z[at]
        length = np.sqrt(np.einsum("ij,ij->i", Z, Z)) * np.linalg.norm(probe)
        for run in _runs(at, np.abs(Z @ probe) / np.where(length > 0, length, np.inf), W):
            self._kinds(run[np.argsort(W[run])])

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


def first_of_their_kind(problem, fit, shrunk):
    """The fit with columns of smallest index, of all p, in place of those that say the same: one
    read of X. shrunk: whether there is lambda1 or lambda2.
    """
    if problem.groups is not None or not fit.support.size:
        return fit
    probe, size = np.cos(np.arange(problem.X.n, dtype=np.float64) ** 2), np.sqrt(problem.square)
    at = np.flatnonzero(problem.usable & (size > 0))
    mark = np.full(problem.X.p, np.inf)
    length = np.sqrt(float(problem.weights @ probe**2))
    mark[at] = np.abs(problem.X.correlate(problem.weights * probe)[at]) / (size[at] * length)
    ranked = np.sort(mark[fit.support])
    near = np.searchsorted(ranked, mark[at] - ABOUT)
    alike = at[
        (near < ranked.size) & (ranked[np.minimum(near, ranked.size - 1)] <= mark[at] + ABOUT)
    ]
    if alike.size <= fit.support.size:
        return fit
    model = make_model(problem)
    model.grow(np.union1d(alike, fit.support))
    return Twins(model, not shrunk).smallest(fit)
