"""Leaps over sets of columns, or groups, of every smooth loss: bounds of nodes, results and claims
against enumeration with the definitions of `oracles`, degenerate columns included.
"""

import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from thinning import thinned

import l0path
from l0path.core.status import FitStatus
from l0path.exact.all_sizes.coupled_bounds import sets_of_columns
from l0path.exact.all_sizes.node_bounds import independent
from l0path.exact.all_sizes.rows import PenalisedRows, SizeRows
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose
from l0path.working_set.model import make_model
from l0path.working_set.rows import RowModel

GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6}
SMOOTH = ("logistic", "poisson", "huber", "squared_hinge", "gamma", "binomial", "tweedie")
RARE = ("smoothed_hinge", "negative_binomial")  # compared in the slow test


def degenerate(X, rng):
    """Make the last column a copy, the opposite, a multiple, a constant or a combination."""
    a, b = X[:, 0].copy(), X[:, 1].copy()
    kinds = (a, -a, 3.0 * a, np.full(len(X), 2.0), a + b, 1.0 - b)
    X[:, -1] = kinds[rng.integers(len(kinds))]


def problems(loss, count, seed, ridge=False):
    """Instances without bounds on coefficients, every second one with a degenerate column."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        d = oracles.instance(loss, rng, (4, 5))
        free = np.full(d["X"].shape[1], np.inf)
        d |= {"lower": -free, "upper": free, "lambda1": 0.0, "delta": GIVEN.get(loss, d["delta"])}
        d["lambda2"] = d["lambda2"] * ridge
        if i % 2:
            degenerate(d["X"], rng)
        yield d


def arguments(d):
    """The keywords of `l0path.fit` for an instance."""
    return oracles.fit_keywords(d) | {"standardize": d["standardize"]}


def infimum(d, support):
    """The least value on a support, None where there is none that is attained."""
    try:
        return oracles.restricted(d["X"], d["y"], support, **oracles.restricted_keywords(d))[0]
    except RuntimeError:
        return None


def posed(d, **options):
    """(problem, model with all usable columns) of an instance."""
    path = l0path.fit(d["X"], d["y"], max_k=0, **arguments(d), **options)
    problem = pose(fit_data(path, None, None))
    model = make_model(problem)
    model.grow(np.flatnonzero(problem.usable))
    return problem, model


def check_bounds(d, steps):
    """(sets of an instance that have a bound, sets) by fits of at most `steps` Newton steps: no
    bound may be above the least value, nor those of the sets less a column, or two.
    """
    problem, model = posed(d)
    model.max_iter = steps
    J = np.flatnonzero(problem.usable)
    sets = [s for k in range(J.size + 1) for s in combinations(J.tolist(), k)]
    least = {s: infimum(d, s) for s in sets}
    nodes, finite, total = sets_of_columns(model, d["lambda2"]), 0, 0
    for s in sets[1:]:
        here = nodes.at(np.array(s))
        parts = [np.array([i]) for i in range(len(s))]
        parts += [np.array([i, i + 1]) for i in range(len(s) - 1)]
        found = here.without(parts)
        pairs = [(s, here.lower)] + [
            (tuple(np.delete(s, part).tolist()), bound)
            for part, bound in zip(parts, found.lower, strict=True)
        ]
        for of, bound in pairs:
            if least[of] is not None:
                assert bound <= least[of] + 1e-13 * max(1.0, abs(least[of])), (d["loss"], of)
        finite, total = finite + np.isfinite(here.lower), total + (least[s] is not None)
    return finite, total


@pytest.mark.parametrize(("steps", "loss"), thinned(2, [1, 1000], SMOOTH))
def test_no_bound_of_a_node_is_above_the_least_value(loss, steps):
    counts = [check_bounds(d, steps) for d in problems(loss, 2, 5, ridge=True)]
    finite, total = np.sum(counts, axis=0)
    assert total > 20 and (steps == 1 or finite > 0.5 * total)


def test_bounds_of_sets_under_a_squared_loss_are_their_values():
    for d in problems("squared", 4, 1, ridge=True):
        finite, total = check_bounds(d, 1000)
        assert finite == total > 10


def compare(d, path):
    """(rows, rows called global) of an exact path, each of which is checked."""
    same = oracles.restricted_keywords(d)
    try:
        best = oracles.best_subsets(d["X"], d["y"], 5, forced=d["forced"], **same)
    except RuntimeError:
        best = None  # some set has no minimum
    claimed = 0
    for s in path._solutions:
        if best is None or s.separated or s.k not in best:
            continue
        value = best[s.k][0]
        size = max(abs(value), 1e-3)
        assert not s.lower_bound > value + 1e-9 * size
        assert s.objective >= value - 1e-9 * size
        if s.optimality == "global":
            assert s.objective <= value + 2e-6 * size
            claimed += 1
    return 0 if best is None else len(path), claimed


def compared(loss, count, seed):
    """(rows, rows proved) of instances."""
    counts = [
        compare(d, l0path.fit(d["X"], d["y"], algorithm="exact", **arguments(d)))
        for d in problems(loss, count, seed)
    ]
    return np.sum(counts, axis=0)


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", SMOOTH)
def test_without_a_ridge_every_size_is_proved_and_is_the_enumerated_one(loss):
    rows, claimed = compared(loss, 4, 2)
    assert rows >= 8 and claimed >= 0.9 * rows


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", ["logistic", "gamma", "squared_hinge"])
def test_certify_bounds_every_row_without_a_ridge(loss):
    paths = [
        (d, l0path.fit(d["X"], d["y"], certify=True, **arguments(d))) for d in problems(loss, 4, 2)
    ]
    rows, claimed = np.sum([compare(d, path) for d, path in paths], axis=0)
    assert rows >= 8 and claimed >= 0.9 * rows
    for _, path in paths:
        known = path.details.lower_bound.notna() | (path.details.status != "converged")
        assert known.all() and not any("no lower bounds" in note for note in path.notes)


def test_more_columns_than_are_searched_by_default_have_a_note_that_names_certify():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((90, 52)), np.arange(90) % 2
    notes = l0path.fit(X, y, loss="logistic", certify=True, max_k=2).notes
    assert len(notes) == 1 and "path.certify(k=...) proves models by a search" in notes[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
@pytest.mark.parametrize("loss", SMOOTH + RARE)
def test_a_thousand_instances_of_all_losses(loss):
    rows, claimed = compared(loss, 112, 3)
    assert rows >= 250 and claimed >= 0.9 * rows


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", *SMOOTH, *RARE])
def test_no_bound_of_a_node_in_many_instances(loss):
    for steps in (1, 3, 1000):
        for d in problems(loss, 30, 6, ridge=True):
            check_bounds(d, steps)


# -------------------- groups


def grouped(seed, overlap=False, dummies=False, n=60):
    """(X, y, groups): seven groups of one to three columns; overlapping ones, or dummies of a
    factor with all its levels, which with the intercept are dependent.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 13)) + 0.8 * rng.standard_normal((n, 1))
    groups = [[0], [1, 2], [3, 4, 5], [6], [7, 8], [9, 10, 11], [12]]
    if overlap:
        groups[1], groups[3], groups[6] = [1, 2, 3], [6, 7], [12, 0]
    if dummies:
        X[:, 3:6] = np.eye(3)[rng.integers(0, 3, n)]
        X[:, 9:12] = np.eye(3)[rng.integers(0, 3, n)] @ np.array([[1, 0, 1], [0, 1, 1], [1, 1, 2]])
    y = X @ (rng.standard_normal(13) * (rng.random(13) < 0.5)) + 2.0 * rng.standard_normal(n)
    return X, y, groups


def least_squares_of_groups(X, y, groups):
    """{k: least objective} of the sets of k groups, by least squares on the rows."""
    out = {}
    for k in range(len(groups) + 1):
        values = []
        for chosen in combinations(groups, k):
            columns = sorted({j for group in chosen for j in group})
            Z = np.c_[np.ones(len(y)), X[:, columns]]
            rest = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
            values.append(rest @ rest / (2 * len(y)))
        out[k] = min(values)
    return out


@pytest.mark.parametrize("kind", [{}, {"overlap": True}, {"dummies": True}])
@pytest.mark.parametrize("seed", range(3))
def test_sets_of_groups_are_proved_without_asking(kind, seed):
    X, y, groups = grouped(seed, **kind)
    path, least = l0path.fit(X, y, groups=groups), least_squares_of_groups(X, y, groups)
    assert (path.details.optimality == "global").all() and len(path) > 5
    for s in path._solutions:
        assert s.objective == pytest.approx(least[s.k], rel=1e-9)
        assert s.lower_bound <= least[s.k] * (1 + 1e-9)


def test_groups_give_the_same_for_any_number_of_threads():
    X, y, groups = grouped(1, n=40)
    first, *others = (l0path.fit(X, y, groups=groups, n_jobs=n) for n in (1, 2, 4))
    for other in others:
        assert other.details.equals(first.details)


def test_more_groups_than_can_be_enumerated_are_proved():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 28)) + rng.standard_normal((80, 1))
    y = X[:, ::4].sum(axis=1) + 3.0 * rng.standard_normal(80)
    groups = np.repeat(np.arange(14), 2)
    path = l0path.fit(X, y, groups=groups, certify=False, max_k=4)
    c = path.certify(k=4, n_best=2)
    assert c.proven and c.best[1].objective > c.best[0].objective
    members = [list(np.flatnonzero(groups == g)) for g in range(14)]
    values = sorted(
        least_squares_of_groups(X, y, [[j for group in one for j in group]])[1]
        for one in combinations(members, 4)
    )
    assert [m.objective for m in c.best] == pytest.approx(values[:2], rel=1e-9)


# -------------------- claims


def test_where_sets_have_no_finite_optimum_nothing_is_called_proven():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)  # two columns separate the classes, no single one does
    with pytest.warns(l0path.errors.SeparationWarning):
        path = l0path.fit(X, y, loss="logistic", algorithm="exact")
    assert path.model(k=1).optimality == "global"
    assert not (path.details.optimality[path.details.k >= 2] == "global").any()


def test_a_certificate_of_a_logistic_model_without_a_ridge():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 7)) + 0.5 * rng.standard_normal((80, 1))
    y = (rng.random(80) < 1 / (1 + np.exp(-X[:, :3].sum(axis=1)))).astype(int)
    path = l0path.fit(X, y, loss="logistic")
    values = sorted(
        oracles.restricted(X, np.where(y, 1.0, -1.0), s, loss="logistic")[0]
        for s in combinations(range(7), 3)
    )
    c = path.certify(k=3, n_best=3)
    assert c.proven and c.unique and "leaps and bounds" in c.search
    assert [m.objective for m in c.best] == pytest.approx(values[:3], rel=1e-9)


def test_a_model_that_is_no_better_replaces_none_where_objectives_are_negative():
    rows = [SimpleNamespace(k=k, objective=-1.0, lambda0=0.1) for k in (1, 2)]
    for wanted in (
        SizeRows(rows, lambda S: (-1.0, S)),
        PenalisedRows(rows, lambda S: (-1.1, S), 1),
    ):
        wanted.offer(np.array([0]), 1)
        assert not wanted.found
    assert (SizeRows(rows, None).cutoffs(3) <= [-np.inf, -1.0, -1.0]).all()
    assert (PenalisedRows(rows, None, 1).cutoffs(3) <= [-1.0, -1.1, -1.2]).all()


def test_columns_without_curvature_have_no_inverse_and_print_nothing(capfd):
    kept, B = independent(np.zeros((2, 2)))
    assert kept.size == 0 and B.shape == (0, 0)
    assert capfd.readouterr() == ("", "")


def nearly_equal_columns(loss, seed, apart, n=40):
    """(X, y): four columns that differ by little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + apart * rng.normal(size=(n, 4))
    if loss == "logistic":
        return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)
    eta = 0.5 * X[:, 0]
    return X, rng.poisson(np.exp(eta)) if loss == "poisson" else rng.gamma(1.5, np.exp(eta))


def on_their_span(X, y, loss):
    """{pair: the least objective}, each by a fit on orthonormal columns that span the same."""
    out = {}
    for pair in combinations(range(X.shape[1]), 2):
        Q = np.linalg.qr(X[:, pair] - X[:, pair].mean(axis=0))[0] * np.sqrt(len(X))
        path = l0path.fit(Q, y, loss=loss, always_include=[0, 1], certify=False)
        assert path._solutions[0].status == "converged"
        out[pair] = path._solutions[0].objective
    return out


@pytest.mark.parametrize(("loss", "seed", "apart"), [
    ("logistic", 3, 1e-3),
    ("poisson", 2, 1e-5),
    ("gamma", 9, 3e-6),
])  # fmt: skip
def test_no_model_of_nearly_equal_columns_is_left_out(loss, seed, apart):
    X, y = nearly_equal_columns(loss, seed, apart)
    least = on_their_span(X, y, loss)
    path = l0path.fit(X, y, loss=loss)
    found = path.near_best(k=2, within=5.0)
    assert found.complete and len(found) == len(least)
    for model in found:
        value = least[tuple(model.support.tolist())]
        assert model.objective == pytest.approx(value, rel=1e-7)
    listed = path.certify(k=2, n_best=3)
    assert listed.proven
    for value in (listed.incumbent, listed.best[0].objective):
        assert value == pytest.approx(min(least.values()), rel=1e-7)


def test_nothing_is_proven_of_models_whose_fits_do_not_converge(monkeypatch):
    X, y = nearly_equal_columns("logistic", 3, 1e-3)
    refit = RowModel.refit

    def given_up(self, support, *more, **options):
        fit = refit(self, support, *more, **options)
        if fit is None or list(support) != [1, 3]:
            return fit
        return fit._replace(flags=(*fit.flags, FitStatus.NOT_CONVERGED))

    monkeypatch.setattr(RowModel, "refit", given_up)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l0path.errors.ConvergenceWarning)
        best = l0path.best_subset(X, y, loss="logistic", criterion="aic")
        path = l0path.fit(X, y, loss="logistic")
    assert not best.proven and not path.near_best(k=2, within=5.0).complete
    assert not path.certify(k=2, n_best=3).unique
