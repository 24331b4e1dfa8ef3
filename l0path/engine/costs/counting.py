"""Counts of a request: columns that a search takes in, reads of X, bytes, operations.

How far a search goes depends on the data. The growth of the working columns, of the Gram rows and
of the reads are laws fitted to default paths of eleven shapes (500 x 500 to 200000 x 50 and 1000 x
20000, squared, logistic and Poisson loss); what they cost follows from the sizes of the arrays.
"""

import math
from typing import NamedTuple

from ...designs.protocol import traits_of
from ...exchange.local_search import LocalSearch
from ...problem.losses import Squared
from ...problem.problem import counted_rows
from ...problem.several import parts
from ..grids import COUNTS, Grid
from ..posing import default_max_k
from ..registry import algorithm_of
from ..strategies.groups import GroupExchanges

MEGABYTE = 1 << 20
BASE = 5 * MEGABYTE  # tables, small arrays and Python's own objects
VECTORS = 25  # of length p that a problem and its search hold
FIRST_COLUMNS = 100  # with which a search begins
SCREENED = 60  # that its first reads add
CURVATURES = 48 * MEGABYTE  # most bytes of Gram matrices of curvatures, and of their inverses
SLOPES = 64 * MEGABYTE  # most bytes of dual points
PRODUCTS = 32 * MEGABYTE  # most bytes of products made at a time
# passes over the rows of a model, for each of its sizes, of Newton steps in trials; and how many
# times as long those of survival times take, which go through risk sets (measured on 74 instances
# of 60 to 20 000 rows, six losses: processor seconds a factor of 1.5 off in the median, 3 at most)
NEWTON_PASSES = 200.0
RISK_SETS = 28.0
# operations for each entry of the tables of exchanges of all sizes, which lead where max_k is near
# half of the rows
TABLES = 4.0
PROOF = 2e7  # operations of a search over all sizes at least
BOUND_COPY = 256 * MEGABYTE  # most bytes of a copy of columns for bounds
FOLD_SHARE = 0.7  # of the memory of a fit on all rows, that the fit of a fold takes
PROCESS = 200 * MEGABYTE  # of a further process before it fits anything


class FoldCounts(NamedTuple):
    """Counts of a cross-validation.

    Attributes
    ----------
    number : int
        Fits of training sets.
    together : int
        How many of them advance at a time in a process, with one pass over X for all of them.
    jobs : int
        Processes that fit them.
    """

    number: int
    together: int
    jobs: int

    @property
    def passes(self):
        """How many fits one after another read as often as these."""
        return -(-self.number // self.together)

    def held(self, alone):
        """Bytes of a fit on all rows and of these. alone: those of the fit on all rows."""
        if self.together == 1 and self.jobs == 1:
            return alone
        held = self.jobs * self.together * FOLD_SHARE * alone
        return int(alone + held) + (PROCESS * self.jobs if self.jobs > 1 else 0)


class Counts(NamedTuple):
    """Counts of a fit.

    Attributes
    ----------
    largest : int
        The largest size.
    working : int
        Working columns.
    members : int
        Columns with Gram rows over all columns.
    reads : int
        Reads of X.
    held : int
        Bytes beside X.
    least : int
        Bytes that no such fit can do without.
    products : float
        Operations of products of matrices.
    others : float
        All other operations.
    """

    largest: int
    working: int
    members: int
    reads: int
    held: int
    least: int
    products: float
    others: float


def counted(request) -> Counts:
    """The counts of a request, without a read of X."""
    data, plan, design = request.data, request.plan, request.data.design
    n, p, squared = design.n, design.p, isinstance(data.loss, Squared)
    several = parts(data.responses)
    width = _mean_width(data)
    K = plan.max_k
    if K is None:
        K = default_max_k(data.groups, p, counted_rows(data))
    chosen = min(int(K * width), p)
    reach, first = _first_columns(data, chosen, squared)
    working = min(p, int(first + SCREENED + 4.75 * chosen * reach))
    members = min(working, int(chosen * (1.0 + reach)) + data.forced.size)
    limit = design.memory_limit if traits_of(design).memory_limit else math.inf
    rows_held = min(members, design.gram_rows) if traits_of(design).gram_rows else members
    reads = 2.0 if p <= first and squared else 4.0 + 4.0 * reach
    reads = round(reads if squared else 2.5 * reads) * _slices(plan)
    reads *= -(-members // max(rows_held, 1)) if members else 1
    dense = 8 * n * working + 8 * working * working + 8 * p * VECTORS + BASE
    slopes = min(SLOPES, 8 * (n + p) * (K + 1) * several)
    apart = 0 if traits_of(design).in_place else 8 * p * min(members, 150)
    products = min(PRODUCTS, apart)
    held = dense + 2 * slopes + products + 8 * p * rows_held * several
    held = min(held, dense + 2 * slopes + products + limit) + (
        min(limit, stored_bytes(design)) if math.isfinite(limit) else 0
    )
    if squared and data.groups is not None:
        held += 6 * 8 * working * working + 2 * min(PRODUCTS, 8 * n * p)
    if not squared and data.groups is None:
        held += 3 * min(CURVATURES, (K + 1) * (12 * working**2 + 16 * n)) // 2
    if request.certify is True:
        held += min(BOUND_COPY, 8 * n * p) // 2
    least = 8 * n * min(p, first) + 8 * p * (VECTORS // 2)
    least += 8 * p * min(chosen, rows_held) if _keeps_gram_rows(plan) else 0
    entries = _entries(design)
    sizes = K * (K + 1) / 2
    others = 2.0 * entries * 16 + 8.0 * reads * p * sizes + 40.0 * n * K * min(chosen, 50)
    if squared:  # tables of exchanges of each size: chosen columns by working ones
        others += TABLES * working * chosen**3
    if request.certify == "auto" and squared:
        others += max(PROOF, 2.0 * entries * reads) if p <= 50 else 0.0
    if not squared:
        per_row = RISK_SETS if data.loss.traits.response == "survival" else 1.0
        others += 2.0 * NEWTON_PASSES * per_row * _slices(plan) * n * sizes
    return Counts(
        largest=int(K),
        working=working,
        members=members,
        reads=int(reads),
        held=int(held),
        least=int(least),
        products=2.0 * entries * members * several + float(n) * working**2,
        others=others * several,
    )


def _mean_width(data):
    """Mean number of columns of a unit that may be chosen."""
    return data.units.columns.size / len(data.units.labels)


def _first_columns(data, chosen, squared):
    """(how much the columns grow beyond the first ones, number of these). They grow with each
    decade of columns beyond them, and the less the more rows there are for each one chosen.
    """
    n, p = data.design.n, data.design.p
    first = max(FIRST_COLUMNS, 2 * chosen if squared else 4 * chosen)
    if data.groups is not None:
        limits = GroupExchanges.limits
        few = p <= limits.columns and n * p <= limits.entries
        first = p if few else max(first, int(limits.seed * _mean_width(data)))
    first = min(p, first)
    clear = min(1.0, 10.0 * chosen / max(n, 1))
    return clear * math.log10(max(p / max(first, 1), 1.0)), first


def _slices(plan):
    """Number of pairs (lambda1, lambda2); later ones begin where earlier ones ended."""
    count = 1
    for name in ("lambda1", "lambda2"):
        given = getattr(plan, name)
        if isinstance(given, Grid):
            count *= given.n or COUNTS[name]
        elif given is not None:
            count *= len(given)
    return max(count, 1)


def _keeps_gram_rows(plan):
    """Whether an algorithm keeps products of all columns with those of its models."""
    return isinstance(plan.settings, LocalSearch) or algorithm_of(plan.settings).proves


def _entries(design):
    """The number of entries that one read of X multiplies."""
    return float(design.entries if traits_of(design).row_subsets else design.n * design.p)


def stored_bytes(design):
    """Bytes of X as it is stored, which every pass reads."""
    return int(design.nbytes if traits_of(design).row_subsets else 8 * design.n * design.p)
