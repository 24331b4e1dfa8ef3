"""Losses other than the squared one on the working columns: chord steps against Newton refits,
shared weighted Gram matrices, the screen over all columns, fast exponentials.
"""

import sys
import types
import warnings
from itertools import combinations, permutations

import numba
import numpy as np
import pytest

import l0path
from l0path.core.control import Clock
from l0path.engine.posing import resolved
from l0path.engine.request import request
from l0path.exchange import ranking, screening, table, trials
from l0path.exchange.decisions import Aim, by_chord_steps, exchanges_of, tried
from l0path.exchange.ranking import Roles, Wanted, exchanged_supports, ranked
from l0path.exchange.trials import Exchanges
from l0path.exchange.verification import violators
from l0path.exchange.verification.ranges import Block
from l0path.problem import losses
from l0path.problem.penalties import separable
from l0path.problem.problem import pose
from l0path.problem.verbs import loss_data
from l0path.working_set import curvature, linear_algebra, newton
from l0path.working_set.curvature import Local
from l0path.working_set.model import make_model
from l0path.working_set.refits import refit_alone, refit_in_turn
from l0path.working_set.rows import RowModel


def a_model(loss="logistic", n=160, p=24, seed=0, intercept=True, lambda2=1e-2, weights=False):
    """A RowModel with all columns in W, and the data behind it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.6 * X[:, :-1]
    eta = X[:, [2, 7, 11]].sum(axis=1)
    y = (
        np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), 1, -1)
        if loss == "logistic"
        else rng.poisson(np.exp(0.4 * eta))
    )
    sample_weight = rng.integers(1, 4, n) if weights else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = l0path.fit(
            X,
            y,
            loss=loss,
            max_k=1,
            lambda2=lambda2,
            fit_intercept=intercept,
            sample_weight=sample_weight,
        )
    model = make_model(pose(path._source.data))
    assert isinstance(model, RowModel)
    model.grow(np.arange(p))
    return model


def attempt(model, fit, exchanges, lambda2, aim, **how):
    """(fit, number) of the first of some exchanges that trials leave, (None, -1) for none."""
    table = model.local_table(fit, lambda2, exchanges.into, **how)
    return next(((new, e) for e, new in tried(model, fit, exchanges, table, aim)), (None, -1))


@pytest.mark.parametrize("loss", ["smoothed_hinge", "huber", "poisson", "gamma"])
def test_refits_do_not_start_above_the_null_model(loss):
    """A column has left others with which it cancelled: 1000 Newton steps did not come back from
    there under the hinge, and hundreds were taken under other losses.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    eta = X[:, 0] + rng.logistic(size=120)
    y = {"smoothed_hinge": eta > 0, "huber": eta, "poisson": rng.poisson(np.exp(X[:, 0]))}
    path = l0path.fit(X, y.get(loss, np.exp(eta)), loss=loss, max_k=1)
    model = make_model(pose(path._source.data))
    model.grow(np.arange(8))
    support = np.arange(6)
    fit = model.refit(support, 0.0, 0.0)
    start = np.full((1, 6), 1e5), 0.0
    again = model.refit(support, 0.0, 0.0, (start[0][0], start[1]))
    _, first = model.first_below(support[None], *start, (0.0, 0.0), np.inf)
    for other in (again, first):
        assert not other.flags
        np.testing.assert_allclose(other.value, fit.value, rtol=1e-9)
        np.testing.assert_allclose(other.b, fit.b, rtol=1e-4, atol=1e-6)
    x = np.append(start[0], 0.0)
    rows, box = model.row_data(model.Z), newton.Box(*model.bounds_of(support))
    shrunk, stopping = newton.Shrinkage(0.0, 0.0), model.stopping(np.inf, True, model.null_value)
    assert refit_alone(rows, support, shrunk, box, x, stopping)[0] == newton.ASTRAY


@pytest.mark.parametrize(("seed", "k"), [(7, 35), (20, 40), (26, 30)])
def test_hinges_that_are_zero_up_to_rounding_are_not_called_unconverged(seed, k):
    """Steps go on for ever at 1e-29, where rounding of the predictors leaves the loss."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(100, 40)), axis=1) + 0.2 * rng.normal(size=(100, 40))
    y = X[:, 0] + X[:, 5] - X[:, 7] + rng.normal(size=100) * 1.5 > 0
    path = l0path.fit(X, y, loss="smoothed_hinge", max_k=1)
    model = make_model(pose(path._source.data))
    model.grow(np.arange(40))
    fit = model.refit(np.arange(k), 0.0, 0.0)
    assert 0.0 <= fit.value < 1e-20 and not fit.flags


def test_refits_do_not_start_where_chord_steps_went_astray(monkeypatch):
    """Near separation they did: 57 refits of a path took 1000 Newton steps each."""
    model, begun, refit = a_model(), [], RowModel.refit
    fit = model.refit(np.array([2, 7, 11]), 0.0, 1e-2)

    def astray(rows, table, exchanges, goal, best):
        best[:] = 1e4
        return 0, 4e3, 1.0, 5e4

    def seen(self, support, lambda1, lambda2, start, target):
        begun.append(start)
        return refit(self, support, lambda1, lambda2, start, target)

    monkeypatch.setattr(trials, "attempt", astray)
    monkeypatch.setattr(RowModel, "refit", seen)
    exchange = Exchanges(np.array([1]), np.array([20]))
    new, _ = attempt(model, fit, exchange, 1e-2, Aim(np.inf))
    assert begun[0][0].tolist() == [fit.b[0], fit.b[2], 0.0] and begun[0][1] == fit.b0
    assert new.support.tolist() == [2, 11, 20] and new.value < np.log(2)


def share_curvatures(model, fit):
    """Let the curvatures of a fit serve for all others."""
    v = model.derivatives(fit).v
    model.grams.kept = [curvature.WeightedGram(v, model.problem.intercept)]
    model.grams.shares = (v / v.sum())[None]


@pytest.mark.parametrize(("shared", "closely"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("loss", "intercept", "weights"),
    [("logistic", True, False), ("logistic", False, True), ("poisson", True, True)],
)
def test_chord_steps_end_where_refits_do(loss, intercept, weights, shared, closely):
    """Every add, drop and swap of a support, with the fit's own curvatures, with those of another
    fit, and with its own beside those.
    """
    model, lambda2 = a_model(loss, intercept=intercept, weights=weights), 1e-2
    if shared:
        share_curvatures(model, model.refit(np.array([2, 5]), 0.0, lambda2))
    fit = model.refit(np.array([2, 7, 11, 20]), 0.0, lambda2)
    assert (model.local(fit, lambda2).gram is not None) == shared
    moves = [(i, j) for i in (-1, 0, 1, 3) for j in (-1, 0, 3, 12, 23) if (i, j) != (-1, -1)]
    for out, into in moves:
        exchange = Exchanges(np.array([out]), np.array([into]))
        new, at = attempt(model, fit, exchange, lambda2, Aim(np.inf, tie=0.0), closely=closely)
        support = np.sort(
            np.append(
                np.delete(fit.support, out) if out >= 0 else fit.support,
                [into] if into >= 0 else [],
            ).astype(int)
        )
        truth = model.refit(support, 0.0, lambda2)
        assert at == 0
        np.testing.assert_array_equal(new.support, support)
        assert new.value == pytest.approx(truth.value, rel=1e-11)
        np.testing.assert_allclose(
            np.append(new.b, new.b0), np.append(truth.b, truth.b0), atol=1e-5
        )
        # never a value below the optimum, never a refusal of what is below the target
        below, above = (Aim(truth.value * (1 + shift), True) for shift in (-1e-7, 1e-7))
        low = attempt(model, fit, exchange, lambda2, below, closely=closely)[0]
        assert low is None or low.value >= truth.value * (1 - 1e-10)
        new = attempt(model, fit, exchange, lambda2, above, closely=closely)[0]
        assert new.value < above.target


@pytest.mark.parametrize("intercept", [False, True])
def test_all_but_the_first_exchange_are_refuted_by_the_curvatures_of_the_fit(intercept):
    """Those of a fit far off took twice the steps; which exchange is found first is the same."""
    model, lambda2 = a_model(intercept=intercept), 1e-3
    share_curvatures(model, model.refit(np.array([2, 5]), 0.0, lambda2))
    fit = model.refit(np.array([2, 7, 11, 20]), 0.0, lambda2)
    pairs = np.array([(i, j) for i in fit.support for j in range(24) if j not in fit.support])
    exchanges, asked = exchanges_of(model, fit, pairs.T), np.arange(24)
    own = Local(None, fit.support, model.derivatives(fit), intercept, lambda2, model.Z)
    own.extend(model.Z, 24)
    table = model.local_table(fit, lambda2, exchanges.into, closely=True)
    others = np.setdiff1d(asked, fit.support)
    np.testing.assert_allclose(table.rows[:, table.place[others]], own.rows[:, others], atol=1e-14)
    np.testing.assert_allclose(table.c[table.place[others]], own.c[others], atol=1e-14)
    np.testing.assert_allclose(table.center[asked], own.mean, atol=1e-14)
    values = [
        model.refit(np.sort([*fit.support[fit.support != i], j]), 0.0, lambda2).value
        for i, j in pairs
    ]
    for target in (np.quantile(values, 0.1), np.quantile(values, 0.5), 0.999 * min(values)):
        aim = Aim(target, thorough=True)
        first = next((e for e, _ in by_chord_steps(model, fit, pairs.T, (0.0, lambda2), aim)), -1)
        below = np.flatnonzero(np.array(values) < target)
        assert first == (below[0] if below.size else -1)


def test_the_first_and_the_lowest_exchange_are_taken():
    model, lambda2 = a_model(), 1e-2
    fit = model.refit(np.array([2, 7, 20]), 0.0, lambda2)
    out, into = np.full(21, 2), np.setdiff1d(np.arange(24), fit.support)
    values = np.array([model.refit(np.sort(np.array([2, 7, j])), 0.0, lambda2).value for j in into])
    exchanges = Exchanges(out, into)
    best, at = attempt(model, fit, exchanges, lambda2, Aim(np.inf, tie=0.0))
    assert at == values.argmin() and best.value == pytest.approx(values.min(), rel=1e-11)
    target = np.median(values)
    first, at = attempt(model, fit, exchanges, lambda2, Aim(target, True))
    assert at == np.flatnonzero(values < target)[0] and first.value < target
    nothing = Aim(values.min() - 1e-4, True)
    assert attempt(model, fit, exchanges, lambda2, nothing) == (None, -1)


def test_a_weighted_gram_matrix_grows_to_what_it_would_be_made_as():
    rng = np.random.default_rng(1)
    Z, v = rng.standard_normal((150, 90)), rng.random(90)
    for centered in (False, True):
        gram = curvature.WeightedGram(v, centered)
        for width in (3, 70, 71, 150):
            gram.extend(Z, width)
        A = Z - (Z @ v / v.sum())[:, None] if centered else Z
        np.testing.assert_allclose(gram.G[:150, :150], (A * v) @ A.T, atol=1e-11)
        np.testing.assert_allclose(gram.diagonal, np.einsum("ij,ij,j->i", A, A, v), atol=1e-11)
        np.testing.assert_allclose(
            gram.mean[:150], Z @ v / v.sum() if centered else 0.0, atol=1e-13
        )


def test_weighted_gram_matrices_are_made_when_enough_tables_were_asked_for_and_kept_within_bounds(
    monkeypatch,
):
    rng = np.random.default_rng(2)
    Z, v, grams = rng.standard_normal((40, 30)), rng.random(30), curvature.WeightedGrams(True)
    asked = [
        grams.near(v * (1 + 0.01 * t), Z, 40, 5) for t in range(6)
    ]  # scaled alike: the same shape; tables of 5 x 40 against a matrix of 40 x 40 / 2
    assert [gram is None for gram in asked] == [True, True, True, False, False, False]
    far = np.where(np.arange(30) < 3, 1.0, 1e-6)
    assert grams.near(far, Z, 40, 5) is None
    assert grams.near(far, Z, 40, 20) not in (None, asked[-1])
    monkeypatch.setattr(curvature, "CURVATURE_BYTES", 1)
    others = [grams.near(np.where(np.arange(30) == t, 1.0, 1e-6), Z, 40, 40) for t in range(10, 20)]
    assert len(grams.kept) == 2 and sum(gram.kept for gram in others) == 2 and not asked[-1].kept


def test_local_models_agree_with_the_exact_table_and_follow_the_working_columns():
    model, lambda2 = a_model(), 1e-2
    fit = model.refit(np.array([2, 7, 11]), 0.0, lambda2)
    whole = model.quadratic(fit, lambda2)
    part = RowModel(model.problem)
    part.grow(np.array([2, 7, 11, 4]))
    part.quadratic(part.refit(np.array([2, 7, 11]), 0.0, lambda2), lambda2)
    part.grow(np.arange(24))
    order = np.argsort(part.W)
    grown = part.quadratic(part.refit(np.array([2, 7, 11]), 0.0, lambda2), lambda2)
    exact = model.exact(fit, lambda2, model.Z[:24])
    for name in ("rows", "c", "a"):
        np.testing.assert_allclose(
            getattr(grown, name)[..., order], getattr(whole, name), atol=1e-9
        )
        np.testing.assert_allclose(getattr(exact, name), getattr(whole, name), atol=1e-12)
    np.testing.assert_allclose(
        whole.B, np.linalg.inv(whole.rows[:, fit.support] + 2 * lambda2 * np.eye(3)), rtol=1e-7
    )


@pytest.mark.parametrize(("lambda1", "price"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.01)])
def test_the_screen_keeps_the_columns_with_the_best_exchanges(lambda1, price):
    """Bounded, unbounded and by the definition, columns in any order."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((60, 200))
    A[:, 100:] += 1.5 * A[:, [5]]
    G, q, S, lambda2 = A.T @ A / 60, rng.standard_normal(200) * 0.3, np.array([5, 17, 40, 150]), 0.1
    q[S] += 1.0
    B = np.linalg.inv(G[np.ix_(S, S)] + 2 * lambda2 * np.eye(4))
    b = B @ q[S]
    c, a = q - G[:, S] @ b, np.diagonal(G).copy()
    prices, paid, locked, skip = (
        price * rng.random(200),
        np.full(4, price),
        np.array([False, True, False, False]),
        np.zeros(200, bool),
    )
    skip[S] = True
    target = 0.05
    V = B @ G[S]
    s = a + 2 * lambda2 - (G[S] * V).sum(axis=0)
    best = np.where(
        target + prices - np.maximum(np.abs(c) - lambda1, 0) ** 2 / (2 * s) < 0,
        target + prices - np.maximum(np.abs(c) - lambda1, 0) ** 2 / (2 * s),
        np.inf,
    )
    for i in (0, 2, 3):
        num, den = (
            np.maximum(np.abs(c + b[i] / B[i, i] * V[i]) - lambda1, 0),
            s + V[i] ** 2 / B[i, i],
        )
        best = np.minimum(best, 0.5 * (b[i] ** 2 / B[i, i] - num**2 / den) + prices - paid[i])
    best[S] = np.inf
    wanted = np.argsort(best, kind="stable")[:12]
    for bound in (np.inf, np.linalg.eigvalsh(B)[-1]):
        change, column, position = np.empty(12), np.empty(12, np.int64), np.empty(12, np.int64)
        count = screening.screen_exchanges(
            Block(G, c, a, 0),
            screening.Screen(S, B, b, bound),
            Roles(skip, locked, prices, paid),
            ranking.ExchangeRule(lambda1, lambda2, False, target, 1e300, 0.0),
            table.ExchangeList(change, column, position),
        )
        assert count == 12
        np.testing.assert_array_equal(column, wanted)
        np.testing.assert_allclose(change, best[wanted], atol=1e-12)


def test_violators_find_the_best_pairs_of_the_exact_ranking_over_all_columns():
    """Screened with unweighted Gram rows, ranked with the fit's curvatures: what the ranking of all
    p columns puts first is there.
    """
    rng = np.random.default_rng(4)
    n, p = 400, 600
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-X[:, ::60].sum(axis=1))), 1, -1)
    path = l0path.fit(X, y, loss="logistic", max_k=12, lambda2=1e-4)
    hits, total = 0, 0
    for k in (2, 5, 8, 12):
        model = make_model(pose(path._source.data))
        model.grow(path.support(k=k))
        fit = model.refit(path.support(k=k), 0.0, 1e-4)
        penalty, wanted = separable(0.0, 0.0, 1e-4), Wanted(1e300, 1e300, 20)
        [found] = violators(model, [fit], [wanted], penalty)
        Z = np.ascontiguousarray(model.problem.X.columns(np.arange(p)).T)
        exact = model.exact(fit, 1e-4, Z)
        best = ranked(model, fit, exact, np.arange(p), penalty, wanted)
        hits += len({(c.out, c.into) for c in found} & {(c.out, c.into) for c in best})
        total += len(best)
        assert (found[0].out, found[0].into) == (best[0].out, best[0].into)
    assert hits >= 0.95 * total


def test_gram_matrices_skip_rows_without_curvature():
    rng = np.random.default_rng(5)
    Z, S = rng.standard_normal((9, 50)), np.array([1, 4, 8])
    for share in (0.0, 0.1, 0.9):
        v = np.where(rng.random(50) < share, rng.random(50), 0.0)
        H, h0, work = np.empty((3, 3)), np.empty(3), np.empty(50)
        assert linear_algebra.weighted_gram(Z, S, v, H, h0, work) == pytest.approx(v.sum())
        np.testing.assert_allclose(H, (Z[S] * v) @ Z[S].T, atol=1e-13)
        np.testing.assert_allclose(h0, Z[S] @ v, atol=1e-13)


def test_fast_exponentials():
    a = np.concatenate([np.linspace(0, 50, 5001), [100.0, 700.0, 745.0]])
    mine = np.array([losses.exp_minus(x) for x in a])
    np.testing.assert_allclose(mine, np.exp(-a), rtol=2e-14, atol=5e-324)
    assert losses.exp_minus(1e6) == losses.exp_minus(np.inf) == 0.0
    b = np.concatenate([np.linspace(-40, 40, 2001), [-745.0, -700.0, 700.0, 709.0], a[::100]])
    np.testing.assert_allclose([losses.exponential(x) for x in b], np.exp(b), 2e-14, 5e-324)
    ends = [losses.exponential(x) for x in (-np.inf, -1e6, 0.0, 800.0, np.inf, np.nan)]
    np.testing.assert_array_equal(ends, [0.0, 0.0, 1.0, np.inf, np.inf, np.nan])
    e = np.concatenate([np.linspace(0, 1, 1001), np.logspace(-300, 0, 301)])
    np.testing.assert_allclose([losses.log1p_unit(x) for x in e], np.log1p(e), rtol=1e-15)
    assert np.isnan(losses.value(losses.Logistic(), 1.0, np.nan))
    assert (
        losses.value(losses.Logistic(), -1.0, 1e4) == 1e4
        and losses.value(losses.Logistic(), 1.0, np.inf) == 0.0
    )


def test_kernels_of_no_module_compile_beside_the_package():
    """The notice of compiling asked every compiled function for its module's name."""
    code = compile("def f(x):\n    return x + 1\n", "<string>", "exec")
    scope = {}
    exec(code, scope)
    function = types.FunctionType(scope["f"].__code__, {})
    function.__module__ = None
    assert numba.njit(function)(1) == 2
    assert "l0path.core.dispatch" in sys.modules


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_fits_of_many_rows_end_where_rounding_begins(loss):
    """A sum of n alike terms rounds by more than the 1e-15 that tells fits of few rows apart; every
    such fit has converged all the same, at the null intercept that is known in closed form.
    """
    n = 50_000
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = (
            np.where(rng.random(n) < 0.3 + 0.02 * seed, 1.0, -1.0)
            if loss == "logistic"
            else rng.poisson(1 + 0.2 * seed, n).astype(float)
        )
        mean = (y > 0).mean() if loss == "logistic" else y.mean()
        b0 = np.log(mean / (1 - mean)) if loss == "logistic" else np.log(mean)
        for start in (0.0, b0):
            # the kernel that fits enter, so that no other is compiled
            x = np.array([[start]])
            _, status, _, _ = refit_in_turn(
                newton.LossRows(
                    loss_data(losses.make_loss(loss)),
                    y,
                    np.full(n, 1 / n),
                    np.zeros(n),
                    True,
                    np.empty((0, n)),
                ),
                np.empty((1, 0), dtype=np.int64),
                newton.Shrinkage(0.0, 0.0),
                newton.Box(np.empty((1, 0)), np.empty((1, 0))),
                x,
                newton.Stopping(np.inf, 0, True, 100),
                np.empty(n),
            )
            assert status == newton.CONVERGED
            assert x[0, 0] == pytest.approx(b0, abs=1e-10)


def each_refitted(model, supports, starts, b0, shrinkage, target):
    """What `first_below` says, support by support."""
    for e, (support, b) in enumerate(zip(supports, starts, strict=True)):
        fit = model.refit(support, *shrinkage, (b, b0), target)
        if fit is not None and (fit.value < target or fit.flags):
            return e, fit
    return -1, None


@pytest.mark.parametrize("max_iter", [1000, 1])
@pytest.mark.parametrize("lambda1", [0.0, 0.02])
def test_refits_in_turn_are_those_of_each_support(lambda1, max_iter):
    model, shrinkage = a_model(n=60, p=14, seed=3), (lambda1, 1e-2)
    model.max_iter = max_iter
    fit = model.refit(np.array([1, 4, 6]), *shrinkage)
    into = np.array([0, 2, 3, 5, 7, 2, 0])
    out = np.array([1, 1, 4, 6, 4, 6, 4])
    supports, starts = exchanged_supports(fit.support, fit.b, out, into)
    values = sorted(model.refit(support, *shrinkage).value for support in supports)
    for target in (values[0], 0.5 * (values[0] + values[1]), values[4], np.inf):
        at = supports, starts, fit.b0, shrinkage, target
        (e, new), (known, wanted) = model.first_below(*at), each_refitted(model, *at)
        assert e == known and (new is None) == (wanted is None)
        if new is not None:
            assert new.flags == wanted.flags and new.support.tolist() == supports[e].tolist()
            assert new.value == pytest.approx(wanted.value, rel=1e-12)
            np.testing.assert_allclose(new.b, wanted.b, atol=1e-8)


def test_refits_in_turn_see_that_a_support_separates_the_classes():
    """Without shrinkage: the second support separates, the third one holds a copy of a column."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 5))
    y = np.where(X[:, 2] > 0, 1, -1)
    X[:, 4] = X[:, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = l0path.fit(X, y, loss="logistic", max_k=1)
    model = make_model(pose(path._source.data))
    model.grow(np.arange(5))
    supports = np.array([[0, 1], [1, 2], [3, 4]])
    at = supports, np.zeros((3, 2)), 0.0, (0.0, 0.0), np.inf
    assert model.first_below(*at)[0] == 0
    at = (*at[:-1], 1e-3)
    e, fit = model.first_below(*at)
    assert (e, fit.value, fit.flags) == (1, 0.0, ("separated",))
    assert each_refitted(model, *at)[1].flags == fit.flags


@pytest.mark.parametrize(("dropped", "added"), [(1, 1), (1, 0), (0, 1)])
def test_exchanged_supports_are_sorted_and_keep_their_coefficients(dropped, added):
    rng = np.random.default_rng(0)
    support = np.array([2, 5, 6, 9])
    b = rng.standard_normal(4)
    out = rng.choice(support, 6) if dropped else np.full(6, -1)
    into = np.array([0, 3, 7, 8, 10, 4]) if added else np.full(6, -1)
    supports, starts = exchanged_supports(support, b, out, into)
    for e in range(6):
        known = {j: x for j, x in zip(support, b, strict=True) if j != out[e]}
        known |= {into[e]: 0.0} if added else {}
        assert supports[e].tolist() == sorted(known)
        assert starts[e].tolist() == [known[j] for j in sorted(known)]


def test_steps_that_are_much_damped_leave_the_hessian_as_it_is():
    """What is left of curvatures says whether a fit runs off."""
    H = np.array([[1.0, 0.3], [0.3, 0.1]])
    rest = [np.zeros(2) for _ in range(3)]
    model = newton.NewtonModel(
        x=np.zeros(2), H=H.copy(), grad=np.ones(2), l1=np.zeros(2), ridge=np.zeros(2),
        lower=np.full(2, -np.inf), upper=np.full(2, np.inf), squares=np.ones(2),
        rhs=rest[0], diagonal=rest[1], new=rest[2],
    )  # fmt: skip
    newton.newton_step(model, 1e12)
    np.testing.assert_array_equal(model.H, H)


@pytest.mark.parametrize("intercept", [True, False])
def test_columns_are_told_from_combinations_whatever_the_weights(intercept):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 6))
    weight = np.where(np.arange(30) < 3, 1e9, 1.0)  # three rows hide what the others say
    X[:, 3] = X[:, 0] - 2.0 * X[:, 1]
    X[:, 4] = X[:, 0] + 3.0
    X[:, 5] = X[:, 2] + 1e-3 * rng.standard_normal(30)
    y = (X[:, 0] + rng.standard_normal(30) > 0).astype(float)
    path = l0path.fit(
        X, y, loss="logistic", lambda2=0.1, max_k=1, sample_weight=weight, fit_intercept=intercept
    )
    model = make_model(pose(path._source.data))
    model.grow(np.arange(6))
    found = model.independent_of(np.array([0, 1]))
    assert sorted(found.tolist()) == ([2, 5] if intercept else [2, 4, 5])
    assert sorted(model.independent_of(np.array([0, 1, 2])).tolist()) == (
        [5] if intercept else [4, 5]
    )


@pytest.mark.parametrize("loss", ["gamma", "poisson"])
def test_no_optimum_is_rejected_from_a_start_at_which_the_loss_is_about_to_overflow(loss):
    """A row a hundred times as far out as the others: where one column takes the place of another
    its loss is 1e240 or beyond all numbers. Optima below the target are found from there, too.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(33, 5)) + 26.0
    X[20] *= 100.0
    weights = 10.0 ** rng.integers(0, 8, 33)
    weights[20] = 1e3
    mean = np.exp(np.clip(0.3 * (X - 26.0) @ rng.normal(size=5), -3, 3))
    y = rng.gamma(1.0, mean) if loss == "gamma" else rng.poisson(mean)
    given = {"loss": loss, "fit_intercept": False, "sample_weight": weights}
    problem = resolved(request(X, y, **given), Clock())[1]

    def model():
        out = make_model(problem)  # which remembers nothing
        out.grow(np.arange(5))
        return out

    known = {S: model().refit(np.array(S), 0.0, 0.0) for S in combinations(range(5), 3)}
    for S, T in permutations(known, 2):
        if len(set(S) & set(T)) < 2:
            continue
        best, other = known[S], known[T]
        start = np.array([other.b[T.index(j)] if j in T else 0.0 for j in S])
        target = best.value + 1e-3 * abs(best.value)
        found = model().refit(np.array(S), 0.0, 0.0, (start, 0.0), target)
        assert found.value == pytest.approx(best.value, rel=1e-9)
        twice = np.array([S, S]), np.array([start, start])
        e, found = model().first_below(*twice, 0.0, (0.0, 0.0), target)
        assert e == 0 and found.value == pytest.approx(best.value, rel=1e-9)
