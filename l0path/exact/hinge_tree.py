"""Branch and bound for the hinge: node relaxations by Newton steps on a smoothed hinge that narrows
where its width, and not the tree, keeps a gap open.

The smoothed hinge of width gamma has the hinge's dual domain, so slopes at the optimum of its
relaxation bound the hinge's own problem, off by at most what the rows on its curved piece lose,
gamma sum w r (1 - r) with r = -y a / w. The curved rows are few, so that a quadratic costs little
and its optimum is soon the node's.

Source: the dual bound at slopes of a smoothed loss is that of Dedieu, Hazimeh & Mazumder (JMLR
    22:135, 2021), section 2, for the hinge; narrowing is ours.
"""

import heapq
from dataclasses import replace

from ..problem.losses import Hinge, SmoothedHinge
from .tree import Tree

NARROWEST = 1e-8  # width of the narrowest smoothed hinge


def tree_of(dual, **options):
    """The `Tree` that serves a dual."""
    return (HingeTree if isinstance(dual.problem.loss, Hinge) else Tree)(dual, **options)


class HingeTree(Tree):
    """`Tree` for a dual whose problem has the hinge; upper bounds come from `refit`, that of
    `KinkedModel`.
    """

    @property
    def width(self):
        """Width of the smoothed hinge at present."""
        return self.loss.gamma

    def narrow(self, width):
        """Go on with a smoothed hinge of another width."""
        problem = replace(self.dual.problem, loss=Hinge(width))
        self.dual = replace(self.dual, problem=problem)
        self.work.dual, self.loss = self.dual, SmoothedHinge(width)

    def _solve_nodes(self, nodes):
        """The root may need more columns than the rounds of one node let in."""
        root, known = not self.nodes, -1
        super()._solve_nodes(nodes)
        while root and self.heap and self.work.W.size > known:
            known = self.work.W.size
            super()._solve_nodes([heapq.heappop(self.heap)[2]])

    def _newton(self, nodes, states, B, s, shift):
        """Relaxations by Newton steps, in place; once more with a narrower hinge where its width is
        most of what a node's bound lacks.
        """
        while super()._newton(nodes, states, B, s, shift) and self.width > NARROWEST:
            self.narrow(max(0.1 * self.width, NARROWEST))
