"""Integrality generation: exact best-subset problems by a sequence of mixed-integer programs in
which few z are binary.

    minimize over b0, b, z:  sum_i w_i l(y_i, o_i + b0 + z_i'b) + lambda1 ||b||_1
                             + sum_j lambda2 b_j^2 / z_j  [ + lambda0 sum_j f_j z_j,  or with
                             sum_j z_j <= k ],   |b_j| <= M_j z_j,   0 <= z_j <= 1,
                             z_j in {0, 1} for j in I                                     (M_I)

I begins with the columns of the best model known. (M_I) relaxes the problem, so its optimum is a
lower bound; the columns outside I with the largest fractional z enter I, and it is solved again,
until z is whole or the bound meets the best model. A round that is stopped leaves the bound it has.

The programs are solved by the branch and bound of this package, whose tree goes on from round to
round, by HiGHS (scipy.optimize.milp; hinge without a ridge), or by SCIP (pyscipopt; hinge or
squared hinge). Bounds of our own tree are dual values; those of HiGHS and SCIP hold up to their
tolerances, 1e-9 of a constraint here, which squares make 1e-5 of the objective.
Source: Dedieu, Hazimeh & Mazumder (Learning sparse classifiers: continuous and mixed integer
    optimization perspectives, JMLR 22:135, 2021), section 4 and Algorithm 4.
"""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arguments import is_whole
from ..core.status import SearchEnd
from ..exchange.local_search import LocalSearch
from ..problem.problem import Fit
from ..relaxation import dual_problem
from ..working_set.model import make_model
from .contest import BranchAndBound
from .hinge_tree import NARROWEST, tree_of
from .programs import BestSubset, Program

SOLVERS = ("tree", "highs", "scip")
INTEGRAL = 1e-6  # how far from 0 and 1 a z of HiGHS or SCIP counts as fractional


@dataclass(frozen=True, kw_only=True)
class IntegralityGeneration:
    """Settings of an exact search by integrality generation, for `Path.certify`.

    Parameters
    ----------
    solver : str, default "tree"
        The solver of the programs: "tree" (our own, any smooth loss and the hinge), "highs" (hinge,
        lambda2 = 0, a finite box) or "scip" (hinge or squared hinge; extra l0path[mip]).
    gap : float, default 1e-4
        The relative gap at which it ends.
    enter : int, default 10
        The largest number of features that enter the integral set in a round.
    node_limit : int, optional
        The largest number of nodes of the own tree. None means no limit.

    Notes
    -----
    On 60 rows and 40 features with a ridge the own tree took 1 to 2 seconds, SCIP more than 20.
    Without a ridge relaxations are weak, and HiGHS leaves the smaller gaps.
    """

    solver: str = "tree"
    gap: float = 1e-4
    enter: int = 10
    node_limit: int | None = None
    start = LocalSearch()  # of the path whose models the searches start from

    def __post_init__(self):
        if self.solver not in SOLVERS:
            raise ValueError(
                f"solver={self.solver!r} is not known; choose one of "
                f"{', '.join(map(repr, SOLVERS))}"
            )
        if (
            isinstance(self.gap, bool)
            or not isinstance(self.gap, (int, float, np.number))
            or not 0 <= self.gap < math.inf
        ):
            raise ValueError(f"gap={self.gap!r} must be a number >= 0, relative to the objective")
        if not is_whole(self.enter) or self.enter < 1:
            raise ValueError(f"enter={self.enter!r} must be a whole number >= 1")


class Round(NamedTuple):
    """One program, and what is known after it."""

    binary: int  # size of I
    lower: float  # lower bound
    upper: float  # value of the best model
    fractional: int  # fractional z of its solution outside I
    seconds: float  # since the start


class GenerationResult(NamedTuple):
    """lower <= optimum <= upper, the value (with lambda0's cost) of `fit`; binary: I, ascending;
    rounds: [`Round`]; nodes: of the own tree.
    status: "closed" (the gap asked for), "stopped" (poll or time limit), "node_limit", "stalled" (z
        is whole but accuracy leaves a gap). conditional: it holds for models within an assumed box.
    """

    lower: float
    upper: float
    fit: Fit
    binary: np.ndarray
    rounds: list
    nodes: int
    status: str
    conditional: bool

    @property
    def support(self):
        """Columns of the best model, forced ones included."""
        return self.fit.support

    @property
    def gap(self):
        """(upper - lower) / |upper|."""
        return (self.upper - self.lower) / max(abs(self.upper), 1e-300)


def generate(
    problem,
    *,
    size=None,
    lambda0=None,
    lambda1=0.0,
    lambda2=0.0,
    box=None,
    fits=(),
    settings=None,
    time_limit=None,
    poll=None,
):
    """`GenerationResult`: the best model of at most `size` unforced columns, or of the penalized
    problem at `lambda0`, with a lower bound.

    problem: `Problem`, n rows, p columns; fits: supports (index arrays) of models to start from, as
        a path has them; box: M > 0, a number or (p,), assumed bounds |b_j| <= M_j in standardized
        units.
    time_limit: seconds; poll(): True ends the search. Raises ValueError where both or neither of
        size and lambda0 are given, where nothing bounds the coefficients (lambda2 = 0 without a
        box), and
    for a loss that the solver does not take; ImportError, naming the extra, where SCIP is not
    installed.
    """
    settings = IntegralityGeneration() if settings is None else settings
    if (size is None) == (lambda0 is None):
        raise ValueError(f"pass either size or lambda0, not size={size!r} and lambda0={lambda0!r}")
    dual = dual_problem(problem, lambda1, lambda2, box=box)
    wanted = BestSubset(dual, size, lambda0, float(lambda2))
    if dual.unbounded.any():
        raise ValueError(
            "lambda2=0 without a finite box leaves features that nothing bounds; give lambda2 > 0 "
            "or box="
        )
    search = (_Tree if settings.solver == "tree" else _Programs)(
        wanted, fits, settings, time_limit, poll
    )
    return search.run()


class _Search:
    """Base class of the two kinds: the best model, I, and the rounds."""

    def __init__(self, wanted, fits, settings, time_limit, poll):
        self.wanted, self.dual, self.problem = wanted, wanted.dual, wanted.dual.problem
        self.size, self.lambda0, self.settings = wanted.size, wanted.lambda0, settings
        self.began, self.time_limit, self.asked = time.perf_counter(), time_limit, poll
        self.model = make_model(self.problem)
        self.binary, self.rounds, self.nodes = np.empty(0, dtype=np.int64), [], 0
        self.fits = [
            np.union1d(self.problem.forced, np.asarray(support, dtype=np.int64)) for support in fits
        ]

    def seconds(self):
        return time.perf_counter() - self.began

    def over(self):
        return (self.time_limit is not None and self.seconds() > self.time_limit) or (
            self.asked is not None and self.asked()
        )

    def refit(self, support):
        """(value, Fit) of a support, its cost included."""
        self.model.grow(support)
        fit = self.model.refit(support, self.dual.lambda1, self.wanted.lambda2)
        cost = (
            0.0
            if self.lambda0 is None
            else self.lambda0
            * float(self.problem.factor[np.setdiff1d(support, self.problem.forced)].sum())
        )
        return fit.value + cost, fit

    def enter(self, columns):
        """Let the first of these columns that I has not enter it; whether there was one."""
        fresh = columns[~np.isin(columns, self.binary)]
        self.binary = np.union1d(self.binary, fresh[: self.settings.enter])
        return fresh.size

    def note(self, lower, upper, fractional):
        self.rounds.append(Round(self.binary.size, lower, upper, int(fractional), self.seconds()))

    def result(self, lower, best, status):
        upper, fit = best
        return GenerationResult(
            float(min(lower, upper)),
            float(upper),
            fit,
            self.binary,
            self.rounds,
            self.nodes,
            status,
            self.dual.conditional,
        )


class _Tree(_Search):
    """Rounds of one tree: where its lowest node may not be split, that node's relaxation is the
    optimum of (M_I).
    """

    def run(self):
        settings = BranchAndBound(gap=self.settings.gap, node_limit=self.settings.node_limit)
        start = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *self.fits]))
        tree = tree_of(
            self.dual,
            size=self.size,
            lambda0=self.lambda0,
            refit=self.refit,
            settings=settings,
            start=start,
        )
        for support in [self.problem.forced, *self.fits]:
            tree.offer(support)
        tree.allow(self.binary)
        tree.run(lambda: True)  # the root alone
        self.binary = np.setdiff1d(tree.best[0][1].support, self.problem.forced)
        tree.allow(self.binary)
        while True:
            status = tree.run(self.over)
            columns = (
                tree.fractional(tree.heap[0][2])[0]
                if status == SearchEnd.NO_BRANCH
                else np.empty(0, dtype=np.int64)
            )
            self.note(
                min(tree.lower, tree.upper), tree.upper, np.setdiff1d(columns, self.binary).size
            )
            if status != SearchEnd.NO_BRANCH:
                break
            if self.enter(columns):
                tree.allow(self.binary)
            elif not self.sharper(tree):
                status = SearchEnd.STALLED
                break
        self.nodes = tree.nodes
        return self.result(tree.lower, tree.best[0], status)

    def sharper(self, tree):
        """z is whole at the lowest node, and still its bound is below the best model: a narrower
        hinge, or else any column may be split. Whether there was something to do.
        """
        if tree.width > NARROWEST:
            tree.narrow(max(0.1 * tree.width, NARROWEST))
            tree.resolve_lowest()
            return True
        if tree.allowed is None:
            return False
        tree.allow(None)
        return True


class _Programs(_Search):
    """A program of HiGHS or SCIP each round, all columns in it."""

    def run(self):
        program = Program(self.wanted, self.settings.solver)
        best, seen = None, {}
        for support in [self.problem.forced, *self.fits]:
            best = self.better(best, seen, support)
        self.binary = np.setdiff1d(best[1].support, self.problem.forced)
        lower = -math.inf
        status = SearchEnd.STOPPED
        while not self.over():
            left = (
                math.inf if self.time_limit is None else max(self.time_limit - self.seconds(), 1e-2)
            )
            found = program.solve(self.binary, 0.3 * self.settings.gap, left)
            lower = max(lower, found.lower)
            fractional = np.empty(0, dtype=np.int64)
            if found.z is not None:
                best = self.better(best, seen, self.rounded(found.z))
                at = np.flatnonzero(
                    (found.z > INTEGRAL) & (found.z < 1 - INTEGRAL) & self.dual.counted
                )
                fractional = at[np.argsort(-found.z[at], kind="stable")]
            fresh = np.setdiff1d(fractional, self.binary)
            self.note(min(lower, best[0]), best[0], fresh.size)
            if best[0] - lower <= self.settings.gap * abs(best[0]):
                status = SearchEnd.CLOSED
                break
            if found.z is None or not found.solved:
                break
            if not fresh.size:
                status = SearchEnd.STALLED
                break
            self.enter(fractional)
        return self.result(lower, best, status)

    def better(self, best, seen, support):
        """The better of a model and that of a support."""
        if support.tobytes() in seen:
            return best
        seen[support.tobytes()] = True
        found = self.refit(support)
        return found if best is None or found[0] < best[0] else best

    def rounded(self, z):
        """The support of the columns with z above one half, the largest `size` of them for a
        size.
        """
        order = np.argsort(-np.where(self.dual.counted, z, -1.0), kind="stable")
        chosen = order[: self.size] if self.size is not None else order
        return np.union1d(self.problem.forced, chosen[z[chosen] > 0.5]).astype(np.int64)
