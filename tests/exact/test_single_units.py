"""The model of one column, or of one group, is `global` where all were compared, against
enumeration.
"""

import warnings

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from thinning import thinned

import l0path
from l0path.core.control import Stop
from l0path.exact.single_units import SingleColumns, SingleFits, compare_all
from l0path.exchange.local_search import SolutionPool
from l0path.problem.problem import pose
from l0path.working_set.groups import GroupModel
from l0path.working_set.model import make_model

LOSSES = tuple(oracles.LOSSES)
OTHERS = tuple(loss for loss in LOSSES if loss != "squared")
PLAIN = {"weights": None, "offset": None, "lower": -np.inf, "upper": np.inf}


def record(loss, seed=0, n=30, p=6, X=None, **more):
    """An instance in the words of `oracles`, whose optima are finite."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1)) + 0.3 if X is None else X
    signal = X[:, :3] @ [0.7, -0.5, 0.4]
    words = {"X": X, "y": oracles._response(loss, signal, rng), "loss": loss, "forced": []}
    words |= {"standardize": True, "intercept": True, "gamma": 0.5, "delta": 1.345}
    return words | {"lambda1": 0.0, "lambda2": 0.0} | PLAIN | more


def best_of_one(d, units=None, forced=()):
    """The least objective of the forced columns with one unit."""
    same = {key: d[key] for key in d if key not in ("X", "y", "forced", "penalty_factor")}
    same.pop("lambda0", None)
    p = d["X"].shape[1]
    units = [[j] for j in range(p) if j not in d["forced"]] if units is None else units
    base = set(d["forced"]) | set(forced)
    supports = [sorted(base | set(unit)) for unit in units]
    return min(oracles.restricted(d["X"], d["y"], s, **same)[0] for s in supports)


def row_of_one(d, **more):
    """The row k = 1 of a path."""
    path = l0path.fit(d["X"], d["y"], max_k=2, **keywords(d), **more)
    return path.model(k=1)


def keywords(d):
    return {k: v for k, v in oracles.fit_keywords(d).items() if v is not None}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_single_column_of_random_problems_is_called_so(loss):
    for d in oracles.instances(6, 31, losses=(loss,), columns=(4, 12)):
        model = row_of_one(d)
        assert model.optimality == "global", d
        assert model.objective == pytest.approx(best_of_one(d), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("forced", [[], [1], [0, 4]])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"lambda2": 0.02},
        {"lambda1": 0.05},
        {"lower": -0.2, "upper": 0.1},
        {"lower": 0.0, "lambda1": 0.03, "intercept": False},
        {"standardize": False, "weights": np.arange(8) % 3 + 0.5, "offset": np.arange(8) / 8},
    ],
)
def test_with_more_columns_than_rows(forced, more):
    for seed in range(2):
        d = record("squared", seed, n=8, p=12, forced=forced, **more)
        model = row_of_one(d)
        assert model.optimality == "global"
        assert model.objective == pytest.approx(best_of_one(d), rel=1e-7, abs=1e-12)


def degenerate(kind, n=30):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 6)) + 0.5
    if kind == "copies":
        X[:, 3], X[:, 4] = X[:, 0], X[:, 0]
    elif kind == "opposite":
        X[:, 3], X[:, 4] = -X[:, 0], 1.0 - X[:, 0]
    elif kind == "proportional":
        X[:, 3], X[:, 4] = 1e4 * X[:, 0], -0.01 * X[:, 1]
    elif kind == "constant":
        X[:, 3], X[:, 4] = 1.0, 0.0
    elif kind == "combinations":
        X[:, 3], X[:, 4] = X[:, 0] - X[:, 1], X[:, 1] + X[:, 2]
    else:
        X += 1e5
    return X


KINDS = ("copies", "opposite", "proportional", "constant", "combinations", "far")


@pytest.mark.parametrize(("loss", "kind"), thinned(3, LOSSES, KINDS))
def test_columns_that_depend_on_each_other(loss, kind):
    X = degenerate(kind)
    for forced in ([], [0], [0, 3]):
        for more in ({}, {"lambda2": 0.01}, {"lower": -0.1, "upper": 0.2}):
            if kind == "constant" and 3 in forced:
                continue  # a constant column cannot be forced in
            d = record(loss, X=X, forced=forced, **more)
            d["y"] = record(loss, X=degenerate("copies"))["y"]
            model = row_of_one(d)
            units = [[j] for j in range(6) if j not in forced and X[:, j].std() > 1e-9]
            best = best_of_one(d, units)
            assert model.objective == pytest.approx(best, rel=1e-6)
            assert model.optimality == "global"


@pytest.mark.parametrize(
    ("loss", "more", "groups"),
    thinned(
        3,
        LOSSES,
        ({}, {"lambda2": 0.02}, {"lambda1": 0.02}, {"upper": 0.15}),
        (
            [[0, 1], [2], [3, 4, 5], [6, 7]],
            [[0, 1], [1, 2, 3], [3, 4], [5, 6, 7]],  # they share columns
        ),
    ),
)
def test_the_best_single_group(loss, more, groups):
    X = np.random.default_rng(7).normal(size=(40, 8)) + 0.4
    X[:, 7] = X[:, 6] - X[:, 5]  # a combination within a group, or across two
    for column in ([], [groups[0][0]]):  # always_include takes the groups of columns
        d = record(loss, 3, X=X, **more)
        words = keywords(d) | {"always_include": column}
        path = l0path.fit(X, d["y"], groups=groups, max_k=2, **words)
        inside = groups[0] if column else []
        units = groups[1:] if column else groups
        assert path.model(k=1).optimality == "global"
        assert path.model(k=1).objective == pytest.approx(best_of_one(d, units, inside), rel=1e-7)


@pytest.mark.parametrize("kind", ["sparse", "float32", "blocks", "polynomial"])
def test_every_kind_of_X(kind, tmp_path):
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(25, 9)), 2) * (rng.random((25, 9)) < 0.7)
    X = X.astype(np.float32).astype(float)
    y = X[:, 4] + rng.normal(size=25)
    held = X
    if kind == "sparse":
        held = sp.csc_array(X)
    elif kind == "float32":
        held = X.astype(np.float32)
    elif kind == "blocks":
        np.save(tmp_path / "X.npy", X)
        held = l0path.designs.blocks(tmp_path / "X.npy")
    elif kind == "polynomial":
        held = l0path.designs.polynomial(X)
        X = held.columns(np.arange(held.p))
    d = record("squared", X=X, y=y)
    for forced in ([], [2]):
        model = l0path.fit(held, y, max_k=1, always_include=forced).model(k=1)
        assert model.optimality == "global"
        d["forced"] = forced
        assert model.objective == pytest.approx(best_of_one(d), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("algorithm", ["cd", "dual_iht", "feature_generating"])
def test_other_algorithms_on_a_support_grid(loss, algorithm):
    for d in oracles.instances(2, 8, losses=(loss,), columns=(6, 10)):
        d |= {"lambda1": 0.0, "lambda2": 0.05, "penalty_factor": np.ones(d["X"].shape[1])}
        d |= {"forced": [], "lower": -np.inf, "upper": np.inf}
        model = row_of_one(d, algorithm=algorithm)
        assert model.optimality == "global"
        assert model.objective == pytest.approx(best_of_one(d), rel=1e-7)


def test_columns_that_cannot_be_chosen_do_not_count():
    d = record("logistic", 4, p=8)
    same = {key: d[key] for key in d if key not in ("X", "y", "forced")}
    values = {j: oracles.restricted(d["X"], d["y"], [j], **same)[0] for j in range(8)}
    first, second, *_ = sorted(values, key=values.get)
    factor = np.ones(8)
    factor[first] = np.inf
    for more in ({"exclude": [first]}, {"penalty_factor": factor}):
        model = l0path.fit(d["X"], d["y"], max_k=2, **{**keywords(d), **more}).model(k=1)
        assert model.optimality == "global" and model.support.tolist() == [second]


def engine_state(d, lambda1=0.0, lambda2=0.0):
    """(model, SolutionPool with the worst column as its fit of size 1) of an instance."""
    path = l0path.fit(d["X"], d["y"], max_k=0, **keywords(d))
    model = make_model(pose(path._source.data))
    model.grow(np.arange(d["X"].shape[1]))
    null = model.null(lambda1, lambda2)
    pool = SolutionPool(null, len(d["forced"]), 2, max(null.value, 1e-300))
    free = [j for j in range(d["X"].shape[1]) if j not in d["forced"]]
    fits = [model.refit(np.union1d(d["forced"], [j]).astype(int), lambda1, lambda2) for j in free]
    pool.update(max(fits, key=lambda fit: fit.value))
    return model, pool


def nothing():
    pass


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("forced", [[], [2, 5]])
def test_a_poor_model_is_replaced_by_the_best(loss, forced):
    for seed in range(2):
        d = record(loss, seed, p=9, forced=forced, lambda2=0.01)
        model, pool = engine_state(d, 0.0, 0.01)
        poor = pool.fits[1].key
        compare_all(model, pool, 0.0, 0.01, nothing)
        assert pool.fits[1].value == pytest.approx(best_of_one(d), rel=1e-9)
        assert pool.compared == pool.fits[1].key != poor


@pytest.mark.parametrize("loss", LOSSES)
def test_groups_too(loss):
    groups = [[0, 1], [2, 3], [4, 5, 6], [7, 8]]
    for lambda1 in (0.0, 0.01):
        d = record(loss, 1, p=9, lambda1=lambda1)
        path = l0path.fit(d["X"], d["y"], groups=groups, max_k=0, **keywords(d))
        base = make_model(pose(path._source.data))
        model = GroupModel(base, lambda1, 0.0)
        fits = [model.refit(np.array([g])) for g in range(4)]
        null = model.refit(np.empty(0, np.int64))
        pool = SolutionPool(null, 0, 2, max(null.value, 1e-300))
        pool.update(max(fits, key=lambda fit: fit.value))
        compare_all(base, pool, lambda1, 0.0, nothing, model)
        assert pool.fits[1].value == pytest.approx(best_of_one(d, groups), rel=1e-9)
        assert pool.compared == pool.fits[1].key


@pytest.mark.parametrize("forced", [[], [1, 3]])
@pytest.mark.parametrize("more", [{"lambda1": 0.04}, {"lower": -0.1, "upper": 0.15}, {}])
def test_gains_of_the_squared_loss_are_never_less_than_the_true_ones(forced, more):
    for seed in range(5):
        d = record("squared", seed, p=10, forced=forced, lambda2=0.01, **more)
        model, pool = engine_state(d, d["lambda1"], 0.01)
        task = SingleColumns(model, pool, d["lambda1"], 0.01, nothing, None)
        gains = task.gains()
        same = {key: d[key] for key in d if key not in ("X", "y", "forced")}
        for i, (j, gain) in enumerate(zip(task.units, gains, strict=True)):
            value = oracles.restricted(d["X"], d["y"], sorted([*forced, j]), **same)[0]
            assert pool.fits[0].value - gain <= value + 1e-12
            sharp = task.sharpened(i, pool.fits[0].value - gain)
            assert sharp == pytest.approx(value, rel=1e-10)
            if not more:
                assert pool.fits[0].value - gain == pytest.approx(value, rel=1e-10)


PENALTIES = {
    "none": {},
    "both": {"lambda1": 0.02, "lambda2": 0.01},
    "bounds": {"lower": np.r_[0, -np.inf, -0.1, -np.inf, np.zeros(6)], "upper": np.inf},
    "weights": {"weights": np.arange(30) % 4, "offset": np.sin(np.arange(30)), "intercept": False},
}


@pytest.mark.parametrize(("loss", "forced", "penalty"), thinned(2, OTHERS, ([], [1, 3]), PENALTIES))
def test_no_fit_is_below_the_bound_of_its_first_step(loss, forced, penalty):
    for seed in range(2):
        d = record(loss, seed, p=10, forced=forced, **PENALTIES[penalty])
        lambdas = d["lambda1"], d["lambda2"]
        model, pool = engine_state(d, *lambdas)
        task = SingleFits(model, pool, *lambdas, nothing, None)
        task.own = model
        bounds = task.first_bounds()
        # a dual point of the losses with flat pieces may leave the domain of the conjugate
        shut = loss not in ("logistic", "poisson") or (forced and d["lambda1"])
        assert np.isfinite(bounds).any() or shut
        same = {key: d[key] for key in d if key not in ("X", "y", "forced")}
        for j, lower in zip(task.units, bounds, strict=True):
            value = oracles.restricted(d["X"], d["y"], sorted([*forced, j]), **same)[0]
            assert lower <= value + 1e-10


def test_most_models_are_refuted_by_their_first_step():
    d = record("logistic", 2, n=200, p=60)
    model, pool = engine_state(d)
    compare_all(model, pool, 0.0, 0.0, nothing)  # the pool now has the best one
    task = SingleFits(model, pool, 0.0, 0.0, nothing, None)
    task.own = model
    assert (task.first_bounds() > pool.fits[1].value).mean() > 0.8


# -------------------- where nothing is claimed


def test_a_separating_column_has_an_infimum_of_zero():
    d = record("logistic", 1, n=40)
    d["X"][:, 5] = d["y"] * np.abs(d["X"][:, 5])
    with pytest.warns(l0path.errors.SeparationWarning):
        model = row_of_one(d)
    assert model.details["status"] == "separated" and model.support.tolist() == [5]
    assert model.objective == pytest.approx(0.0, abs=1e-12)


def test_a_column_that_separates_some_rows_only():
    """It has no optimum; where its infimum is above another column's optimum, that is the best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = np.where(2.0 * X[:, 0] + rng.logistic(size=60) > 0, 1.0, -1.0)
    X[:, 4] = 0.0
    X[np.flatnonzero(y > 0)[:2], 4] = 1.0
    d = record("logistic", X=X, y=y)
    model = l0path.fit(X, y, loss="logistic", max_k=1).model(k=1)
    assert model.optimality == "global" and model.support.tolist() == [0]
    assert model.objective == pytest.approx(best_of_one(d, [[0], [1], [2], [3]]), rel=1e-9)


def test_fits_that_did_not_converge_claim_nothing():
    d = record("logistic", 3, p=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l0path.errors.ConvergenceWarning)
        path = l0path.fit(
            d["X"],
            d["y"],
            loss="logistic",
            max_k=2,
            algorithm=l0path.solvers.LocalSearch(max_iter=1),
        )
    assert path.model(k=1).optimality != "global"
    model, pool = engine_state(d)
    model.max_iter = 1
    compare_all(model, pool, 0.0, 0.0, nothing)
    assert pool.compared is None


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_what_ends_the_comparison_ends_the_claim(loss):
    d = record(loss, 2, p=8)
    model, pool = engine_state(d)

    def stop():
        raise Stop("stopped")

    with pytest.raises(Stop):
        compare_all(model, pool, 0.0, 0.0, stop)
    assert pool.compared is None
    path = l0path.fit(d["X"], d["y"], loss=loss, on_solution=lambda model: model.k == 1)
    model = path.model(k=1)
    # the comparison comes last for the squared loss, and before size 1 is verified for others
    assert "stopped" in path.status and (model.optimality == "global") == (loss != "squared")
    least = best_of_one(d, [[j] for j in range(8)])
    assert loss == "squared" or model.objective == pytest.approx(least, rel=1e-9)


def test_a_lambda0_grid_and_large_problems_keep_their_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1001, 1000))
    y = np.where(X[:, 0] + rng.logistic(size=1001) > 0, 1, -1)
    assert l0path.fit(X, y, loss="logistic", max_k=1).details.optimality[1] == "refit_swap_m"
    few = l0path.fit(X[:, :20], y, loss="logistic", max_k=1)
    assert few.details.optimality[1] == "global"
    grid = l0path.fit(X[:100, :20], X[:100, 0], lambda0=[0.01], certify=False)
    assert "global" not in grid.details.optimality[grid.details.k > 0].tolist()


@pytest.mark.filterwarnings("ignore::l0path.errors.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "forced"), thinned(2, LOSSES, ([0], [0, 3])))
def test_columns_nearly_dependent_on_a_forced_one(loss, forced):
    """A claim is right, or is not made."""
    for size in (1e-3, 1e-6, 1e-9, 1e-14):
        for more in ({}, {"lambda1": 0.01}, {"lower": -0.2, "upper": 0.2}):
            X = degenerate("far") - 1e5
            X[:, 3] = X[:, 0] + size * X[:, 4]
            d = record(loss, X=X, forced=forced, **more)
            d["y"] = record(loss, X=degenerate("copies"))["y"]
            model, pool = engine_state(d, d["lambda1"], 0.0)
            compare_all(model, pool, d["lambda1"], 0.0, nothing)
            if pool.compared is not None:
                best = best_of_one(d, [[1], [2], [4], [5]])
                assert pool.fits[1].value <= best + 1e-6 * abs(best)
            if size == 1e-3 and len(forced) == 1:
                assert pool.compared is not None


def test_a_weight_of_zero_is_no_row():
    d = record("squared", 5, n=40, p=8, weights=np.arange(40) % 2)
    half = record("squared", X=d["X"][1::2], y=d["y"][1::2])
    d["X"][::2] = 1e3 * d["X"][::2]
    one, other = row_of_one(d), row_of_one(half)
    assert one.optimality == other.optimality == "global"
    assert one.objective == pytest.approx(other.objective, rel=1e-10)


def test_it_is_the_same_on_any_number_of_threads():
    d = record("logistic", 6, n=60, p=300)
    rows = [
        l0path.fit(d["X"], d["y"], loss="logistic", max_k=1, n_jobs=jobs).model(k=1)
        for jobs in (1, 2)
    ]
    assert rows[0].support.tolist() == rows[1].support.tolist()
    assert rows[0].objective == rows[1].objective and rows[0].optimality == "global"
