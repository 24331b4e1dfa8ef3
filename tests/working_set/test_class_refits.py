"""Refits of the multinomial loss: separated classes are found, against linear programs."""

import numpy as np
import pytest
import scipy

import l0path
from l0path.exchange.neighborhoods.refit import RefitNeighborhood
from l0path.problem.losses import Multinomial, make_loss
from l0path.problem.recession import (
    Face,
    Span,
    face_of,
    face_where,
    functions_of,
    inseparable_classes,
    span_of,
)
from l0path.problem.several import indicators
from l0path.problem.softmax import softmax_of
from l0path.problem.traits import FAR_OUT, SEPARATES
from l0path.problem.verbs import loss_data
from l0path.working_set import limits, newton
from l0path.working_set.refits import refit_in_turn


def drawn(rng):
    """(columns, class numbers, number of classes, whether there are intercepts) of a problem of
    small integers: some are separated, some almost.
    """
    n, k, r = rng.integers(6, 40), rng.integers(1, 4), rng.integers(2, 5)
    Z = rng.integers(-2, 3, size=(k, n)).astype(float)
    if rng.random() < 0.3:
        Z[-1] = rng.random(n) < 0.2
    signal = rng.choice([1.0, 4.0, 50.0]) * rng.normal(size=(r, k)) @ Z
    codes = np.argmax(signal + rng.gumbel(size=(r, n)), axis=0)
    return Z, codes, int(r), bool(rng.random() < 0.8)


def descended(Z, codes, r, intercept):
    """The status of Newton steps from 0 on all columns."""
    (k, n), q = Z.shape, r - 1
    rows = newton.LossRows(
        loss_data(softmax_of(r)),
        codes.astype(float),
        np.full(n, 1.0 / n),
        np.zeros(q * n),
        intercept,
        Z,
    )
    none = np.full((1, k), np.inf)
    return refit_in_turn(
        rows,
        np.arange(k)[None],
        newton.Shrinkage(0.0, 0.0),
        newton.Box(-none, none),
        np.zeros((1, q * (k + intercept))),
        newton.Stopping(np.inf, SEPARATES, True, 1000),
        np.empty(q * n),
    )[1]


def check(seeds):
    """Newton steps on classes that a linear program calls separated say so, which another one then
    decides, and other fits mostly converge: counts.
    """
    optima, alarms, separated = 0, 0, 0
    for seed in seeds:
        Z, codes, r, intercept = drawn(np.random.default_rng(seed))
        if np.linalg.matrix_rank(np.vstack([Z, np.ones((int(intercept), Z.shape[1]))])) < (
            len(Z) + intercept
        ):
            continue
        none, y = np.full(len(Z), np.inf), indicators(codes, r)
        functions = functions_of(Multinomial(), y, Z, intercept, -none, none)
        found = face_of(functions) is not None
        if np.unique(codes).size == r:  # an empty class has no finite intercept
            assert inseparable_classes(Z, codes, r, intercept) == (not found), seed
        status = descended(Z, codes, r, intercept)
        assert status == (newton.SEPARATED if found else status), seed
        optima += status == newton.CONVERGED
        alarms += status == newton.SEPARATED and not found
        separated += found
    return optima, alarms, separated


def test_separated_classes_are_found():
    optima, alarms, separated = check(range(60))
    assert optima > 10 and separated > 10 and alarms == 0


@pytest.mark.slow
def test_separated_classes_are_found_in_many_problems():
    optima, alarms, separated = check(range(1000, 4000))
    assert optima > 400 and separated > 500 and alarms < 5


@pytest.mark.parametrize("name", ["multinomial", "logistic"])
def test_a_direction_is_found_where_functions_are_known_to_grow(name):
    """What is found is one, none is found where there is none, and few are missed."""
    found, missed = 0, 0
    for seed in range(200):
        rng = np.random.default_rng([7, seed])
        Z, codes, r, intercept = drawn(rng)
        y = indicators(codes, r) if name == "multinomial" else np.where(codes > 0, 1.0, -1.0)
        none = np.full(len(Z), np.inf)
        functions = functions_of(make_loss(name), y, Z, intercept, -none, none)
        face, m = face_of(functions), functions.held.size
        if face is not None:
            own = face_where(functions, face.gone)
            found, missed = found + (own is not None), missed + (own is None)
            if own is not None:
                assert (own.gone == face.gone).all() and own.free.shape == face.free.shape
                grows = functions.A @ own.d
                assert (
                    grows[own.gone].min() > 0.99 and np.abs(grows[~own.gone]).max(initial=0) < 1e-6
                )
        for _ in range(3):  # all functions that any direction lets grow are among those of `face`
            some = rng.random(m) < rng.choice([0.2, 0.8, 1.1])
            own = face_where(functions, some)
            assert own is None or (face is not None and not (own.gone & ~face.gone).any()), seed
    assert found > 40 and missed <= 2


@pytest.mark.parametrize("fails", [False, True])
def test_directions_that_functions_see(monkeypatch, fails):
    """Also where LAPACK's faster way does not converge, as it does for some harmless matrices."""

    def unsolved(*given, **more):
        raise np.linalg.LinAlgError("SVD did not converge")

    if fails:
        monkeypatch.setattr(np.linalg, "svd", unsolved)
    A = np.random.default_rng(0).normal(size=(9, 2)) @ [[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    span = span_of(A)
    both = np.hstack([span.seen, span.free])
    assert span.free.shape == (4, 2) and span.clear
    np.testing.assert_allclose(both.T @ both, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(A @ span.free, 0.0, atol=1e-12)
    assert not span_of(np.diag([1.0, 1e-11])).clear


def test_nothing_is_searched_below_a_loss_of_zero(monkeypatch):
    asked, improve = [], RefitNeighborhood._improve

    def watched(self, fit, first, keep, thorough):
        asked.append((fit.value, thorough))
        return improve(self, fit, first, keep, thorough)

    monkeypatch.setattr(RefitNeighborhood, "_improve", watched)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 30))
    with pytest.warns(l0path.errors.SeparationWarning):
        l0path.fit(X, X[:, :4].sum(axis=1) + rng.normal(size=60) > 0, loss="logistic")
    assert len(asked) > 5 and all(thorough or value > 1e-12 for value, thorough in asked)


def test_directions_found_on_other_columns_save_linear_programs(monkeypatch):
    rng, asked, program = np.random.default_rng(1), [], scipy.optimize.linprog
    X = rng.normal(size=(100, 20))
    eta = X[:, np.linspace(0, 19, 8).astype(int)] @ rng.choice([-1.0, 1.0], 8)
    scores = np.column_stack([np.zeros(100), eta, X[:, 1] - eta])
    y = np.argmax(scores + rng.gumbel(size=(100, 3)), axis=1)
    monkeypatch.setattr(
        scipy.optimize, "linprog", lambda *a, **more: asked.append(1) or program(*a, **more)
    )
    with pytest.warns(l0path.errors.SeparationWarning):
        path = l0path.fit(X, y, loss="multinomial")
    assert sum(s.separated for s in path._solutions) == 3
    assert len(asked) <= 12  # without them 47


@pytest.mark.parametrize("seed", [2, 7])
def test_a_direction_is_found_on_columns_that_a_far_row_makes_nearly_dependent(seed):
    """It has entries of 1e5, and HiGHS does not solve the program in the coefficients."""
    rng = np.random.default_rng(seed)
    Z, codes, none = rng.normal(size=(2, 12)), np.tile([0, 1, 2], 4), np.full(2, np.inf)
    Z[0, codes == 0] -= 5.0  # one class is apart, the two others are not
    Z[:, 8] = -9.7e5, -3.3e5
    Z -= 0.4 * Z[:, [8]]
    functions = functions_of(Multinomial(), indicators(codes, 3), Z, True, -none, none)
    face = face_of(functions)
    grows = functions.A @ face.d
    assert face.gone.sum() == 16 and grows[face.gone].min() == pytest.approx(1.0)
    assert np.abs(grows[~face.gone]).max() < 1e-9


def test_a_direction_without_curvature_is_seen_where_no_pivot_shows_it():
    m = 12
    L = 0.1 * (4.0 * np.eye(m) - 3.0 * np.tri(m))
    R = L @ L.T
    assert np.linalg.eigvalsh(R)[0] < 1e-12 < 1e-3 < np.diagonal(L).min() ** 2
    none = np.zeros(m)
    for H, lost in ((R, True), (np.eye(m) + R, False)):
        H = np.ascontiguousarray(H[::-1, ::-1])  # it is factorized from its end
        model = newton.NewtonModel(none, H, *[none] * 5, np.ones(m), *[none] * 3)
        assert newton.diverged(model) == lost


def test_rounding_of_slopes_moves_nothing_along_what_changes_no_term():
    face = Face(None, None, None, Span(np.eye(2), np.empty((2, 0)), True))
    box = np.full(2, -np.inf), np.array([1.0, np.inf])
    x, value, reached = limits._minimized(
        lambda x: (1.0 - 1e-12 * x[1], np.array([0.0, -1e-12]), 1e-18 * np.eye(2)),
        np.zeros(2),
        face,
        box,
    )
    assert not x.any() and value == 1.0 and reached


def test_predictors_far_apart_need_no_linear_program(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.argmax(12.0 * X[:, :2] @ rng.normal(size=(2, 3)) + rng.gumbel(size=(80, 3)), axis=1)
    monkeypatch.setattr(limits, "inseparable_classes", None)
    path = l0path.fit(X, y, loss="multinomial", certify=False)
    eta = path.predict(X, k=3, type="link")
    assert np.ptp(eta, axis=1).max() > FAR_OUT[SEPARATES]
    assert not any(s.separated for s in path._solutions)
