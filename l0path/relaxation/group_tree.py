"""Groups of which any two are disjoint or one contains the other: their sums from the leaves up,
each column once, however deep the hierarchy is.

A group's score is a sum over its columns, so that of a parent is never below its children's, and
the largest ones are found from the roots down. That search needs the sums of what it visits, which
cost a pass over all columns, as do the sums of all groups here: with these at hand it has nothing
left to save. Source of the groups: Tan, Tsang & Wang (JMLR 15, 2014), Definition 1 and Section 4.3.
"""

import numpy as np

from ..core.dispatch import njit


@njit
def _nested(columns, start, order, smallest, parent):
    """Fill smallest (p,), the smallest group of each column, and parent (G,), the smallest that
    contains each group, -1: none; False where two overlap in part. order: descending by size.
    """
    for g in order:
        if start[g] == start[g + 1]:
            continue
        parent[g] = smallest[columns[start[g]]]
        for e in range(start[g], start[g + 1]):
            if smallest[columns[e]] != parent[g]:
                return False
            smallest[columns[e]] = g
    return True


@njit
def _climb(order, parent, sums):
    """Add to every group's sum those of its children, small groups first."""
    for i in range(order.size - 1, -1, -1):
        if parent[order[i]] >= 0:
            sums[parent[order[i]]] += sums[order[i]]


class GroupTree:
    """The hierarchy of G groups with columns[start[g]:start[g + 1]] of p. parent (G,) or -1;
    smallest (p,): the smallest group of a column, -1: none.
    """

    def __init__(self, order, parent, smallest):
        self.order, self.parent = order, parent
        self.members = np.flatnonzero(smallest >= 0)
        self.owner = smallest[self.members]

    def sums(self, h):
        """(G,) sums of h (p,) by groups."""
        out = np.bincount(self.owner, h[self.members], minlength=self.parent.size)
        _climb(self.order, self.parent, out)
        return out


def tree_of(columns, start, p):
    """The `GroupTree` of groups that are a hierarchy; None where they are disjoint, or two overlap
    in part.
    """
    if np.unique(columns).size == columns.size:
        return None
    order = np.argsort(-np.diff(start), kind="stable")
    smallest, parent = np.full(p, -1, dtype=np.int64), np.full(order.size, -1, dtype=np.int64)
    return (
        GroupTree(order, parent, smallest)
        if _nested(columns, start, order, smallest, parent)
        else None
    )
