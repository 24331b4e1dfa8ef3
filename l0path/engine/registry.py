"""The table of algorithms: their names and settings records, what they can serve, and the engines
that search a slice for them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..algorithms.coordinate_descent import CoordinateDescent
from ..algorithms.cutting_planes import FeatureGenerating
from ..algorithms.dual_iht import DualIHT
from ..algorithms.primal_dual import PrimalDual
from ..algorithms.projected_gradient import VARIANTS, ProjectedGradient
from ..exact.contest import BranchAndBound
from ..exact.fit_enumeration import refuse_groups
from ..exact.integrality_generation import IntegralityGeneration
from ..exchange.local_search import LocalSearch
from ..problem.losses import COUPLED, EXACT, OWN_LOSSES, name_of
from ..problem.losses import NAMES as SMOOTH
from .lambda0.path import Lambda0Path
from .protocols import Engine, SparseSettings
from .strategies.columns import ColumnExchanges
from .strategies.filled import FilledSizes
from .strategies.groups import GroupExchanges
from .strategies.sparse import SparseSizes

ROW_BLOCKS = 10  # of "stochastic_dual_iht"
EVERY_LOSS = frozenset(SMOOTH)
BOUNDED_CURVATURE = frozenset(name for name in SMOOTH if SMOOTH[name].traits.bounded)
ONLY_COLUMNS, COLUMNS_AND_GROUPS = frozenset({"columns"}), frozenset({"columns", "groups"})


# -------------------- engines of a slice


def _even_costs(plan, problem):
    """Raise ValueError where a search by number would have to serve lambda0 values."""
    if plan.grid != "lambda0" or problem.even_cost is not None:
        return
    if problem.groups is not None:
        raise ValueError(
            "penalty_factor= differs among the groups: they are chosen by their number, so "
            "lambda0 values cannot be served; choose by size: leave lambda0= out"
        )
    raise ValueError(
        f"penalty_factor= differs among the features: {type(plan.settings).__name__} chooses "
        "features by their number, so it cannot serve lambda0 values; "
        "leave lambda0= out, or use algorithm='cd', 'swap' or 'primal_dual'"
    )


def _lambda0_values(model, plan, part, session):
    """A path over lambda0, from which a grid of sizes is filled."""
    path = Lambda0Path(model, part, plan.settings, session, lambda0=plan.lambda0)
    return path if plan.grid == "lambda0" else FilledSizes(path, part, session)


def _exchanges(model, plan, part, session):
    """Exchanges with refit; lambda0 values with unequal costs have a path of their own."""
    if model.problem.groups is not None:
        _even_costs(plan, model.problem)
        return GroupExchanges(model, part, plan.settings, session)
    if plan.grid == "lambda0" and model.problem.even_cost is None:
        return _lambda0_values(model, plan, part, session)
    return ColumnExchanges(model, part, plan.settings, session)


def _sizes_one_by_one(model, plan, part, session):
    """A k-sparse solver for every size."""
    _even_costs(plan, model.problem)
    if model.problem.groups is None:
        return SparseSizes(model, part, plan.settings, session)
    fast = LocalSearch(effort="fast")
    return GroupExchanges(model, part, fast, session, plan.settings)


# -------------------- the table


def _accept(settings, data, lambda1, lambda2):
    """Accept everything; it is the check of algorithms that refuse nothing."""


class Algorithm(NamedTuple):
    """The declaration of an algorithm: its name, its requirements and its engine.

    Attributes
    ----------
    name : str
        As `algorithm=` takes it; empty for a record without a name of its own.
    record : type
        Its settings record.
    make : callable
        make(): the settings that the name stands for.
    engine : callable, optional
        engine(model, plan, part, session): the search of a `Slice`. None where models of another
        search are proven.
    check : callable
        check(settings, data, lambda1, lambda2): raises ValueError, with the remedy, for what the
        declaration below excludes, and for options that do not fit the data.
    losses : frozenset of str
        Names of the losses it can minimize.
    units : frozenset of str
        What it can choose: "columns", "groups".
    ridge : bool
        Whether it needs lambda2 > 0.
    boxes : bool
        Whether it takes lower= and upper=.
    proves : bool
        Whether it proves models: the search of `record.start` comes first.
    """

    name: str
    record: type
    make: Callable[[], Any]
    engine: Callable[..., Engine] | None
    check: Callable[..., None] = _accept
    losses: frozenset = EVERY_LOSS
    units: frozenset = ONLY_COLUMNS
    ridge: bool = False
    boxes: bool = True
    proves: bool = False


def _proving(name, record):
    return Algorithm(name, record, record, None, losses=EVERY_LOSS | set(EXACT), proves=True)


def _ascending(name, record, make, engine):
    return Algorithm(name, record, make, engine, record.check, BOUNDED_CURVATURE, ridge=True)


SWAP = Algorithm(
    "swap",
    LocalSearch,
    LocalSearch,
    _exchanges,
    LocalSearch.check,
    losses=EVERY_LOSS | set(COUPLED),
    units=COLUMNS_AND_GROUPS,
)
LARGER_SWAPS = SWAP._replace(name="", units=ONLY_COLUMNS)
OWN_NEIGHBORHOOD = LARGER_SWAPS._replace(losses=EVERY_LOSS)
PARTIAL_SWAPS = Algorithm("CDPSI", LocalSearch, lambda: LocalSearch(refit=False), _lambda0_values)
ALGORITHMS = (
    SWAP,
    Algorithm("cd", CoordinateDescent, CoordinateDescent, _lambda0_values),
    PARTIAL_SWAPS,
    *(
        Algorithm(
            name,
            ProjectedGradient,
            lambda name=name: ProjectedGradient(variant=name),
            _sizes_one_by_one,
            ProjectedGradient.check,
        )
        for name in VARIANTS
    ),
    _ascending("dual_iht", DualIHT, lambda: DualIHT(blocks=1), _sizes_one_by_one),
    _ascending(
        "stochastic_dual_iht", DualIHT, lambda: DualIHT(blocks=ROW_BLOCKS), _sizes_one_by_one
    ),
    _ascending("primal_dual", PrimalDual, PrimalDual, _lambda0_values),
    Algorithm(
        "feature_generating",
        FeatureGenerating,
        FeatureGenerating,
        _sizes_one_by_one,
        FeatureGenerating.check,
        units=COLUMNS_AND_GROUPS,
        boxes=False,
    ),
    _proving("exact", BranchAndBound)._replace(
        losses=EVERY_LOSS | {*EXACT, *COUPLED}, units=COLUMNS_AND_GROUPS
    ),
    _proving("", IntegralityGeneration),
)
OWN_RECORD = Algorithm(
    "",
    SparseSettings,
    lambda: None,
    _sizes_one_by_one,
    lambda settings, *more: settings.check(*more),
)
BY_NAME = {row.name: row for row in ALGORITHMS if row.name}
BY_NAME["CD"] = BY_NAME["cd"]


def names():
    """The names that `algorithm=` takes."""
    return [row.name for row in ALGORITHMS if row.name]


def algorithm_of(settings) -> Algorithm:
    """The row of a settings record; a record of the user's own solves one size at a time."""
    if isinstance(settings, LocalSearch):
        if not settings.refit:
            return PARTIAL_SWAPS
        if settings.neighborhood is not None:
            return OWN_NEIGHBORHOOD
        return SWAP if settings.swap_size == 1 else LARGER_SWAPS
    return next((row for row in ALGORITHMS if isinstance(settings, row.record)), OWN_RECORD)


def proves(algorithm):
    """Whether an algorithm, by its name or settings, proves models."""
    if isinstance(algorithm, str):
        return algorithm in BY_NAME and BY_NAME[algorithm].proves
    return algorithm_of(algorithm).proves


def settings_of(algorithm):
    """The settings record of an algorithm name or record."""
    if isinstance(algorithm, str):
        if algorithm in BY_NAME:
            return BY_NAME[algorithm].make()
        raise ValueError(
            f"algorithm={algorithm!r} is not known; choose {', '.join(map(repr, names()))} or a "
            "settings record of l0path.solvers"
        )
    records = tuple(row.record for row in ALGORITHMS)
    own = isinstance(algorithm, SparseSettings) and not isinstance(algorithm, type)
    if isinstance(algorithm, records) or own:
        return algorithm
    raise TypeError(
        f"algorithm={algorithm!r} must be a name or a settings record of l0path.solvers, such "
        "as LocalSearch(effort='high')"
    )


def search_settings(settings):
    """The settings of the search that makes a path: for algorithms that prove models, those of the
    search that they start from.
    """
    return settings.start if algorithm_of(settings).proves else settings


def newton_steps(settings):
    """The largest number of Newton steps of one solve."""
    search = search_settings(settings)
    return search.max_iter if isinstance(search, LocalSearch) else LocalSearch.max_iter


def without_hierarchy(a):
    """What of the `Arguments` of a fit keeps its search from keeping a hierarchy, as a text with
    its remedy; "" for nothing.
    """
    settings = settings_of(a.algorithm)
    if algorithm_of(settings) is not SWAP and not isinstance(settings, BranchAndBound):
        return f"algorithm={a.algorithm!r}: use 'swap' (swap_size=1) or 'exact'"
    return ""


def refuse(settings, data, lambda1, lambda2):
    """Raise ValueError where an algorithm lacks what the data or the shrinkage need; nothing of X
    is read. lambda1, lambda2: the least values that will be asked for.
    """
    row = algorithm_of(settings)
    name = name_of(data.loss)
    own = name in OWN_LOSSES
    served = row in (SWAP, LARGER_SWAPS) if own else name in row.losses
    if data.loss.traits.coupled and not served:
        others = "" if own else ", or 'exact'"
        raise ValueError(
            f"loss={name!r} needs algorithm='swap' with refit=True{others}: "
            f"{settings!r} takes losses that are sums over rows"
        )
    if data.groups is not None and row.proves:
        refuse_groups(data, settings, lambda1)
    elif data.groups is not None and "groups" not in row.units:
        raise ValueError(
            "groups= needs algorithm='swap' (LocalSearch with refit=True and swap_size=1), "
            f"'feature_generating' or 'exact': {settings!r} chooses single columns; leave "
            "groups=None (with a formula, where terms of several columns are groups: "
            "groups=False), or change algorithm="
        )
    row.check(settings, data, lambda1, lambda2)
