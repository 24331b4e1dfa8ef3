"""Weighted Gram matrices of the working columns, at the curvatures of a few fits: supports with similar curvatures share one, so that a table of exchanges costs O(n w), not O(n k w)."""
import numpy as np

from ..designs import threads

BLOCK = 64  # working columns weighted at a time
CLOSE = 0.6  # L1 distance of curvatures, each scaled to sum to one, up to which a Gram matrix serves
BYTES = 64 << 20  # what the kept matrices may take together


class WeightedGram:
    """G (w, w) = Z diag(v) Z' about the v-means if `centred`, for one v (n,): total = sum v, mean (w,), diagonal (w,). `extend` follows the working columns."""

    def __init__(self, v, centred):
        self.v, self.centred, self.total = v, centred, max(float(v.sum()), 1e-300)
        self.width, self.G, self.mean, self.diagonal = 0, np.empty((0, 0)), np.empty(0), np.empty(0)

    def extend(self, Z, width):
        """Take in the working columns up to `width` (rows of Z)."""
        if width == self.width:
            return
        old, capacity = self.width, Z.shape[0]
        if self.G.shape[0] < width:
            G, mean = np.empty((capacity, capacity)), np.zeros(capacity)
            G[:old, :old], mean[:old] = self.G[:old, :old], self.mean[:old]
            self.G, self.mean = G, mean
        G, mean = self.G, self.mean

        def task(left, right):
            ZV = Z[left:right] * self.v
            if self.centred:
                mean[left:right] = ZV.sum(axis=1) / self.total
            G[left:right, :right] = ZV @ Z[:right].T

        threads.run(task, [*range(old, width, BLOCK), width])
        for left in range(old, width, BLOCK):
            right = min(left + BLOCK, width)
            if self.centred:
                G[left:right, :right] -= (self.total * mean[left:right])[:, None] * mean[:right]
            G[:right, left:right] = G[left:right, :right].T
        self.width, self.diagonal = width, np.ascontiguousarray(np.diagonal(G)[:width])


class WeightedGrams:
    """The matrices that were made; `near` gives the closest, or makes one where none is close; the oldest go when memory is short."""

    def __init__(self, centred):
        self.centred, self.kept, self.shares = centred, [], np.empty((0, 0))

    def near(self, v, Z, width):
        """A WeightedGram of the first `width` rows of Z whose shape of curvatures lies within CLOSE of that of v."""
        share = v / max(float(v.sum()), 1e-300)
        distances = np.abs(self.shares - share).sum(axis=1) if self.kept else np.empty(0)
        best = int(distances.argmin()) if distances.size else -1
        if best >= 0 and distances[best] <= CLOSE:
            gram = self.kept[best]
        else:
            gram = WeightedGram(v.copy(), self.centred)
            most = max(2, BYTES // (8 * max(width, 1) ** 2 + 16 * v.size))
            self.kept = [*self.kept[max(0, len(self.kept) + 1 - most) :], gram]
            self.shares = np.stack([kept.v / kept.total for kept in self.kept])
        gram.extend(Z, width)
        return gram
