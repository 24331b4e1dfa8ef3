"""Every algorithm with columns and with groups, on both grids, under every loss: it gives a path
that keeps the contract, or is refused by its declaration before X is read.
"""

from functools import cache
from itertools import product

import numpy as np
import oracles
import pytest
from asked import loss_with
from thinning import diagonals, slow_but, thinned
from unread import ASKED, LOSSES, ReadError, Unreadable, drawn

import l0path
from l0path.core.control import Clock, Stop
from l0path.core.describing import spans
from l0path.core.status import FitStatus, Optimality
from l0path.engine.lambda0.path import Lambda0Path
from l0path.engine.posing import resolved
from l0path.engine.protocols import Session, Slice
from l0path.engine.registry import ALGORITHMS, algorithm_of, names
from l0path.engine.request import request
from l0path.solvers import IntegralityGeneration, LocalSearch
from l0path.working_set.model import make_model

LARGEST = 3
RIDGE, LARGE_RIDGE = 0.05, 0.5  # the larger one makes trees small and dual ascents short
GROUPS = [0, 0, 1, 1, 2, 2, 3, 3]
OVER_LAMBDA0 = ("cd", "CDPSI", "primal_dual")  # stopped, they have the sizes met by then
# where no algorithm but these takes a loss, with columns
SWAPS = "swap", "exact", "double swaps"
ONLY_SWAPS = dict.fromkeys(("cox", "ordinal", "multinomial", *ASKED), SWAPS)
SETTINGS = {
    **{name: name for name in names()},
    "integrality_generation": IntegralityGeneration(),
    "double swaps": LocalSearch(swap_size=2),
}
ROWS = {row.name: row for row in ALGORITHMS if row.name}


def row_of(name):
    """What is declared of an algorithm."""
    return ROWS[name] if name in ROWS else algorithm_of(SETTINGS[name])


def served(name, unit, loss):
    """Whether an algorithm takes a loss, with columns or groups."""
    if loss in ONLY_SWAPS:
        return name in ONLY_SWAPS[loss] and (unit == "columns" or name != "double swaps")
    row = row_of(name)
    return unit in row.units and loss in row.losses


AXES = (tuple(SETTINGS), ("columns", "groups"), ("support", "lambda0"), LOSSES)
CELLS = list(product(*AXES))
# every refusal, and every algorithm with every loss on one grid at least; losses of families, which
# compile kernels of their own, are slow
QUICK = [
    (name, unit, grid, loss) for name, unit, grid, loss in CELLS if not served(name, unit, loss)
]
QUICK += [cell for cell in diagonals(3, *AXES) if cell[-1] not in oracles.FAMILIES]


@cache
def data(loss, unit):
    """X, y and the arguments of a fit."""
    X, y = drawn(loss)
    arguments = {"lambda2": RIDGE}
    arguments["loss"] = ASKED.get(loss) or loss_with(loss, delta=1.3)
    arguments |= {"groups": GROUPS} if unit == "groups" else {}
    return X, y, arguments


def keeps_the_contract(path, unit, grid, gaps=False):
    """Sizes ascend, states are states, and coefficients belong to the units that are counted. gaps:
    whether sizes may be missing.
    """
    table = path.details
    assert len(path) and table.k.max() <= LARGEST
    if grid == "support":
        sizes = table.k.tolist()
        assert sizes == (sorted({0, *sizes}) if gaps else list(range(len(path))))
        assert f"k = {spans(sizes)}" in path.status
        assert table.lambda0.isna().all()
    else:
        assert table.k.is_monotonic_increasing and table.lambda0.is_monotonic_decreasing
    assert set(table.optimality) <= {str(state) for state in Optimality}
    for s in path._solutions:
        assert s.status in set(FitStatus)
        assert s.support.size == len(s.beta) and np.isfinite([s.objective, *s.beta.flat]).all()
        assert s.k == (s.support.size if unit == "columns" else s.groups.size)
        assert not s.lower_bound > s.objective + 1e-9 * abs(s.objective)


def same_answer(one, two):
    """Whether two paths are alike but for the last bits of objectives, which sums of several
    threads may differ in.
    """
    close = [s.objective for s in one._solutions] == pytest.approx(
        [s.objective for s in two._solutions], rel=1e-14, abs=0
    )
    rows = [
        [(s.k, s.support.tolist(), str(s.optimality)) for s in path._solutions]
        for path in (one, two)
    ]
    return close and rows[0] == rows[1]


@pytest.mark.parametrize(("name", "unit", "grid", "loss"), slow_but(QUICK, CELLS))
def test_it_runs_or_is_refused_before_x_is_read(name, unit, grid, loss):
    X, y, arguments = data(loss, unit)
    row = row_of(name)
    arguments = arguments | {"algorithm": SETTINGS[name], "max_k": LARGEST}
    if row.proves or row.ridge:
        arguments |= {"lambda2": LARGE_RIDGE, "max_k": 2}
    if grid == "lambda0":
        arguments["lambda0"] = l0path.grid(n=3)
    if not served(name, unit, loss):
        with pytest.raises(ValueError, match=r"use |needs |choose |leave "):
            l0path.fit(Unreadable(), y, **arguments)
        return
    path = l0path.fit(X, y, **arguments)
    assert path.status.startswith("complete")
    keeps_the_contract(path, unit, grid)
    assert same_answer(l0path.fit(X, y, **arguments), path)
    heard = []
    stopped = l0path.fit(
        X, y, on_solution=lambda model: heard.append(model.k) or len(heard) == 2, **arguments
    )
    assert stopped.status.startswith("stopped by on_solution") and len(heard) == 2
    keeps_the_contract(stopped, unit, grid, gaps=name in OVER_LAMBDA0)
    if grid == "support" and not row.proves:
        assert set(heard) <= set(stopped.details.k)


def test_what_is_accepted_is_read():
    _, y, arguments = data("squared", "columns")
    with pytest.raises(ReadError):
        l0path.fit(Unreadable(), y, **arguments)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_missing_ridge_and_a_box_are_refused_where_that_is_declared(name):
    X, y, _ = data("squared", "columns")
    row = row_of(name)
    box = {"lower": -1.0, "upper": 1.0, "lambda2": RIDGE}
    for arguments, served in (({}, not row.ridge), (box, row.boxes)):
        arguments = arguments | {"max_k": 1, "algorithm": SETTINGS[name]}
        if served:
            assert len(l0path.fit(X, y, **arguments)) == 2
        else:
            with pytest.raises(ValueError, match="use "):
                l0path.fit(Unreadable(), y, **arguments)


def test_what_is_declared_to_prove_proves_and_nothing_else():
    X, y, arguments = data("squared", "columns")
    for name in names():
        path = l0path.fit(X, y, algorithm=name, max_k=2, certify=False, **arguments)
        proven = path.details.optimality[2] == Optimality.GLOBAL
        brings_bounds = row_of(name).ridge or name == "feature_generating"
        assert proven if row_of(name).proves else brings_bounds or not proven


def test_sizes_in_words_name_every_size_and_no_other():
    assert spans([0]) == "0..0" and spans(range(4)) == "0..3" and spans([]) == ""
    assert spans([0, 1, 3, 3]) == "0..1, 3" and spans([5, 0, 2, 3, 4]) == "0, 2..5"


class Impatient(Clock):
    """Stops at the poll of a given number."""

    def __init__(self, polls):
        super().__init__()
        self.remaining = polls

    def poll(self):
        self.remaining -= 1
        if self.remaining < 0:
            raise Stop("enough")


@pytest.mark.parametrize(
    ("name", "lambda0"),
    thinned(
        2, [row.name for row in ALGORITHMS if row.name and row.engine], [None, l0path.grid(n=3)]
    ),
)
def test_a_result_is_valid_wherever_a_clock_stops(name, lambda0):
    X, y, arguments = data("squared", "columns")
    asked = request(X, y, **arguments, algorithm=name, lambda0=lambda0)
    problem = resolved(asked, Clock())[1]
    for polls in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        heard = []
        session = Session(Impatient(polls), heard.append)
        working_set = make_model(problem)
        make = algorithm_of(asked.plan.settings).engine
        engine = make(working_set, asked.plan, Slice(0.0, RIDGE, LARGEST), session)
        assert engine.result.null.support.size == 0
        try:
            engine.run()
        except Stop:
            pass
        result = engine.result
        if isinstance(engine, Lambda0Path):
            values = [point.lambda0 for point in result.points]
            assert values == sorted(set(values), reverse=True)
        else:
            sizes = [point.k for point in result.points]
            assert sizes == sorted(set(sizes)) and sizes[0] == 0
        assert {point.k for point in heard} <= {point.k for point in result.points}
        for point in result.points:
            assert point.fit.support.size == point.k <= LARGEST
            assert np.isfinite(point.fit.value) and point.optimality in set(Optimality)
