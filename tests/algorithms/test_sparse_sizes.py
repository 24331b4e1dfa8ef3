"""The path of all sizes that every k-sparse solver shares."""

import numpy as np
import pytest
from problems import plain, problem_of, solver_path, wide_instance

import l0path
from l0path.core.control import Clock, Stop
from l0path.engine.protocols import Session, Slice
from l0path.engine.strategies.columns import ColumnExchanges
from l0path.engine.strategies.sparse import SparseSizes
from l0path.exchange.ranking import Wanted
from l0path.exchange.verification import violators
from l0path.problem.penalties import separable
from l0path.solvers import LocalSearch, ProjectedGradient
from l0path.working_set.model import make_model


def test_path_reads_x_a_few_times_and_serves_an_engine():
    d, heard = wide_instance(5, lambda2=0.0), []
    path = solver_path(
        d, ProjectedGradient(variant="apg+"), 15, listener=lambda point: heard.append(point.k)
    )
    assert sorted(set(heard)) == sorted(path.pool.fits) == list(range(16))
    assert (np.diff([path.pool.fits[k].value for k in range(16)]) < 0).all()
    assert path.model.reads < 15 and path.model.width < 250
    assert [row["verified"] for row in path.rounds][-1] == 16
    assert path.next_value() < path.pool.fits[15].value
    assert [support.size for support in path.result.starts] == list(range(1, 16))
    assert np.isnan(path.bound(3))
    paper = solver_path(d, ProjectedGradient(variant="apg+", paper_defaults=True), 4)
    assert (
        paper.next_value() < paper.pool.fits[4].value
    )  # columns that no size has used are asked as well


def test_polish_leaves_no_swap_among_all_columns():
    d = wide_instance(2, lambda2=0.0)
    alone, polished = (
        solver_path(d, ProjectedGradient(variant="apg+", polish=polish), 12)
        for polish in (False, True)
    )
    values = np.array([[path.pool.fits[k].value for k in range(13)] for path in (alone, polished)])
    assert (values[1] <= values[0] * (1 + 1e-9)).all()
    assert values[1].sum() < 0.99 * values[0].sum()
    for k in range(1, 13):
        fit = polished.pool.fits[k]
        assert polished.neighborhood.swap(fit).value >= fit.value * (1 - 1e-9)
        wanted = Wanted(1e300, -1e-8 * fit.value, 5)
        assert not violators(polished.model, [fit], [wanted], separable(0.0))[0]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_polish_looks_beyond_the_working_columns(loss):
    """Columns with a common factor: the map alone, with W full of decoys, once left polished paths
    at three times the objective of the default one.
    """
    rng = np.random.default_rng(4)
    X = np.sqrt(0.5) * rng.normal(size=(150, 1200)) + np.sqrt(0.5) * rng.normal(size=(150, 1))
    signal = X[:, ::80].sum(axis=1)
    y = signal - signal.mean() + rng.normal(size=150)
    y = y if loss == "squared" else np.sign(y)
    polished, plain, swap = (
        l0path.fit(X, y, loss=loss, lambda2=0.01, max_k=14, algorithm=a).details.objective
        for a in (ProjectedGradient(polish=True), "pg", "swap")
    )
    assert (polished <= plain * (1 + 1e-9)).all() and polished.iloc[-1] < 1.02 * swap.iloc[-1]


def test_time_limit_keeps_what_was_solved():
    clock = Clock(0.02)
    model = make_model(problem_of(wide_instance(1, p=1500)))
    settings = ProjectedGradient(variant="pg_ll")
    path = SparseSizes(model, Slice(0.0, 0.0, 40), settings, Session(clock))
    with pytest.raises(Stop):
        path.run()
    assert 0 in path.pool.fits and len(path.pool.fits) < 41
    assert path.optimality(max(path.pool.fits)) in ("unverified", "stationary")


def test_supports_from_elsewhere_compete():
    d = wide_instance(2, lambda2=0.0)
    model = make_model(problem_of(d))
    search = ColumnExchanges(model, Slice(0.0, 0.0, 12), LocalSearch(), Session(Clock()))
    search.run()
    path = solver_path(d, ProjectedGradient(), 12, supports=search.result.starts)
    assert all(path.pool.fits[k].value <= search.pool.fits[k].value * (1 + 1e-9) for k in range(13))


def test_degenerate_problems():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(30, 6))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=30)
    options = dict(standardize=True, intercept=True)
    for settings in (
        ProjectedGradient(),
        ProjectedGradient(variant="apg+"),
        ProjectedGradient(variant="htp"),
    ):
        perfect = solver_path(plain(X, X[:, 0] - X[:, 1], **options), settings, 6)
        assert (perfect.pool.last, perfect.pool.end) == (2, "saturated")
        twins = solver_path(plain(np.column_stack([X, X, np.ones(30)]), y, **options), settings, 4)
        assert sorted(twins.pool.fits) == [0, 1, 2, 3, 4] and twins.pool.fits[
            2
        ].support.tolist() == [0, 1]
        apart = solver_path(
            plain(X, np.where(X[:, 0] > 0, 1.0, -1.0), "logistic", **options), settings, 6
        )
        assert (apart.pool.last, apart.pool.end) == (1, "separated") and apart.optimality(
            1
        ) == "unverified"
        flat = solver_path(plain(X, np.ones(30), **options), settings, 6)
        assert (flat.pool.last, flat.pool.end) == (0, "saturated")
