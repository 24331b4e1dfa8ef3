"""Losses in kernels by the addresses of their verbs: one type for all, the same numbers as their
definitions, and nothing compiled anew for a further loss but its verbs.
"""

import enum
import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, typeof, types
from numba.core.caching import NullCache
from numba.core.errors import TypingError

import l0path
from l0path.compiled import KernelCache, call_at, reach
from l0path.core import dispatch
from l0path.exchange import trials
from l0path.problem import verbs
from l0path.problem.coupled.cox import cox_of
from l0path.problem.coupled.ordinal import Ordinal
from l0path.problem.losses import NAMES, Huber, Logistic, Poisson, Squared, make_loss
from l0path.working_set import refits

N = 40
PLACES = {one.verb: place for place, one in enumerate(verbs.BY_ADDRESS)}
RNG = np.random.default_rng(3)
RESPONSES = {
    "real": RNG.standard_normal(N),
    "classes": RNG.choice([-1.0, 1.0], N),
    "counts": RNG.poisson(2.0, N).astype(float),
    "shares": RNG.random(N),
    "positive": RNG.gamma(2.0, size=N),
    "amounts": RNG.gamma(2.0, size=N) * (RNG.random(N) < 0.7),
}


def of_rows():
    """(name, record, y) of every loss that is a sum over rows."""
    return [
        (name, make_loss(name), RESPONSES[kind.traits.response]) for name, kind in NAMES.items()
    ]


@njit
def asked(loss, y, eta, weights, slopes, curvatures):
    """The derivatives of a loss, as a kernel asks for them."""
    return verbs.derivatives_of_rows(loss, y, eta, weights, slopes, curvatures)


@pytest.mark.parametrize("name, loss, y", of_rows(), ids=[name for name, _, _ in of_rows()])
def test_verbs_by_address_are_the_definitions(name, loss, y):
    eta, weights = 0.3 * RNG.standard_normal(N), RNG.dirichlet(np.ones(N))
    each = [verbs.value(loss, *pair) for pair in zip(y, eta, strict=True)]
    first = weights * [verbs.slope(loss, *pair) for pair in zip(y, eta, strict=True)]
    second = weights * [verbs.curvature(loss, *pair) for pair in zip(y, eta, strict=True)]
    slopes, curvatures = np.empty(N), np.empty(N)
    found = asked(verbs.loss_data(loss), y, eta, weights, slopes, curvatures)
    np.testing.assert_allclose(found, weights @ each, rtol=1e-12)
    np.testing.assert_allclose(slopes, first, rtol=1e-12)
    np.testing.assert_allclose(curvatures, second, rtol=1e-12)
    np.testing.assert_allclose(verbs.mean_loss(loss, y, eta, weights), found, rtol=1e-14)
    out = np.empty(N)
    verbs.losses(loss, y, eta, out)
    np.testing.assert_allclose(out, each, rtol=1e-12)


@njit
def bound_and_line(loss, y, eta, weights, H, out):
    """Verbs that a loss may not have, and one that is compiled for few kernels."""
    slopes, curvatures = np.empty(y.size), np.empty(y.size)
    verbs.derivatives_of_rows(loss, y, eta, weights, slopes, curvatures)
    tangent = verbs.Tangent(eta, slopes, curvatures)
    bound = verbs.bound_of_rows(loss, y, weights, tangent, eta)
    verbs.hessian_of_rows(loss, y, weights, H, np.arange(1), eta, H)
    along = verbs.along_a_column(loss, y, eta, weights, y, 0.5, out)
    return verbs.origin_of(loss, eta, eta), bound, along


def test_what_a_loss_has_not_is_known_without_code():
    y, eta, weights = RESPONSES["real"], 0.3 * RNG.standard_normal(N), np.full(N, 1.0 / N)
    H, out = np.full((1, N), 7.0), np.full(2, 9.0)
    usual, all_of_it = (verbs.loss_data(Huber(1.0), *rare) for rare in ((), [verbs.along_a_column]))
    places = [PLACES[one] for one in (verbs.origin_of, verbs.hessian_of_rows)]
    assert not usual.at[places].any() and not all_of_it.at[places].any()
    place = PLACES[verbs.along_a_column]
    assert usual.at[place] == 0 != all_of_it.at[place]
    origin, bound, along = bound_and_line(all_of_it, y, eta, weights, H, out)
    assert origin == 0.0 and (H == 7.0).all() and bound == pytest.approx(0.0, abs=1e-12)
    values = np.empty(N)
    verbs.losses(Huber(1.0), y, eta + 0.5 * y, values)
    assert along == pytest.approx(weights @ values, rel=1e-13) and (out != 9.0).all()
    out[:] = 9.0
    assert np.isnan(bound_and_line(usual, y, eta, weights, H, out)[2]) and (out == 9.0).all()
    # of a loss of all rows without bounds by rows
    assert verbs.loss_data(Ordinal(4)).at[PLACES[verbs.drawn_back_rows]] == 0


def test_arguments_of_another_kind_are_no_call_of_a_verb():
    @njit
    def kernel(loss, y, eta, weights):
        return verbs.value_of_rows(loss, y, eta, weights)

    y = np.ones(3)
    with pytest.raises(TypingError, match="was given to a call by address"):
        kernel(verbs.loss_data(Huber(1.0)), y, np.ones(3, np.float32), y)


def test_every_loss_is_one_type():
    stop, event = RNG.exponential(size=N), np.ones(N)
    coupled = [cox_of(np.empty(0), stop, event), Ordinal(4)]
    data = [verbs.loss_data(loss) for loss in [*(loss for _, loss, _ in of_rows()), *coupled]]
    assert {type(one) for one in data} == {verbs.LossData} and len(set(map(typeof, data))) == 1
    assert [verbs.rank_of(one) for one in data[-2:]] == [N, 3]  # a term for each death


@njit
def remembering(loss, y):
    """The loss with a memory."""
    return verbs.along_the_way(loss, y)


def test_what_a_kernel_remembers_is_its_own():
    data = verbs.loss_data(Ordinal(4))
    ways = [remembering(data, np.zeros(N)) for _ in range(2)]
    assert data.memory.size == 0 and min(way.memory.size for way in ways) > 2 * N
    assert not np.shares_memory(ways[0].memory, ways[1].memory)
    assert remembering(verbs.loss_data(Logistic()), np.zeros(N)).memory.size == 0


def test_fits_at_the_same_time_are_those_of_one_after_the_other():
    X, e = RNG.standard_normal((120, 12)), RNG.logistic(size=120)
    stop = np.column_stack([np.exp(e - X[:, 0]), np.ones(120)])
    cases = [(np.digitize(e + k * X[:, 0], [-1, 0, 1]), "ordinal") for k in (1, -2)]
    cases += [(stop, "cox"), (stop[::-1].copy(), "cox")]

    def fitted(case):
        return l0path.fit(X, case[0], loss=case[1], max_k=5).table["objective"].to_numpy()

    alone = [fitted(case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for one, other in zip(alone, pool.map(fitted, cases), strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_further_loss_compiles_no_kernel_of_the_search():
    X = RNG.standard_normal((60, 8))
    eta = X[:, 0] - X[:, 1]
    l0path.fit(X, np.where(eta > RNG.logistic(size=60), 1, -1), loss="logistic", max_k=4)
    before = [len(kernel.signatures) for kernel in (refits.refit_in_turn, trials.attempt)]
    classes = np.digitize(eta + RNG.logistic(size=60), [-1, 1])  # two predictors of each row
    amounts = ("poisson", RNG.poisson(np.exp(eta / 2))), ("gamma", np.exp(eta))
    for loss, y in (*amounts, ("multinomial", classes)):
        l0path.fit(X, y * 1.0, loss=loss, max_k=4)

    @l0path.own_loss("pseudo_huber_by_address")
    class PseudoHuber(NamedTuple):
        delta: float

        def value(self, y, eta):
            return self.delta**2 * ((1.0 + ((y - eta) / self.delta) ** 2) ** 0.5 - 1.0)

        def slope(self, y, eta):
            return (eta - y) / (1.0 + ((y - eta) / self.delta) ** 2) ** 0.5

        def curvature(self, y, eta):
            return (1.0 + ((y - eta) / self.delta) ** 2) ** -1.5

    l0path.fit(X, eta + RNG.standard_normal(60), loss=PseudoHuber(1.0), max_k=4)
    assert [len(kernel.signatures) for kernel in (refits.refit_in_turn, trials.attempt)] == before
    kernels = verbs.compiled_verbs(PseudoHuber, ("float",)).kernels
    place = PLACES[verbs.value_of_rows]
    own = kernels[place]
    assert isinstance(own._cache, NullCache) and not isinstance(own._cache, KernelCache)
    of_package = verbs.compiled_verbs(Huber, ("float",)).kernels[place]
    assert isinstance(of_package._cache, KernelCache)


def test_records_that_are_equal_as_tuples_are_told_apart():
    assert Logistic() == Poisson() == Squared()
    y, eta, w = np.ones(2), np.zeros(2), np.full(2, 0.5)
    values = [verbs.mean_loss(loss, y, eta, w) for loss in (Logistic(), Poisson(), Squared())]
    np.testing.assert_allclose(values, [np.log(2.0), 1.0, 0.5])
    assert verbs.mean_loss(Huber(1), 3 * y, eta, w) == 2.5
    assert verbs.mean_loss(Huber(1.0), 3 * y, eta, w) == 2.5


class Odd(NamedTuple):
    """A loss with fields of all kinds."""

    power: int
    double: bool
    scale: float

    def value(self, y, eta):
        total = 1.0
        for _ in range(self.power):
            total *= self.scale * (y - eta)
        return 2.0 * total if self.double else total


@pytest.mark.parametrize("double", [True, False])
def test_whole_numbers_and_truth_values_keep_their_types(double):
    compiled = dispatch.compiled_method(Odd, "value")
    verbs.value.register(Odd)(lambda loss, y, eta: compiled(loss, y, eta))
    y, w = np.array([1.0, 2.0]), np.full(2, 0.5)
    found = verbs.mean_loss(Odd(2, double, 3.0), y, np.zeros(2), w)
    assert found == (2.0 if double else 1.0) * 9.0 * 2.5


def test_a_record_with_a_negative_zero_is_another_one():
    for delta in (0.0, -0.0):
        data = verbs.loss_data(Huber(delta))
        assert np.signbit(data.numbers[0]) == np.signbit(delta)


class Side(enum.IntEnum):
    LOW = 1


class Tabled(NamedTuple):
    """A loss with an array of two dimensions, which is not packed."""

    table: np.ndarray


class Large(NamedTuple):
    """A loss with a number that no double holds."""

    number: int


def test_what_cannot_be_packed_stays_a_record():
    for kind in (Tabled, Large):
        verbs.value.register(kind)(lambda loss, y, eta: y)
    for loss in (Tabled(np.eye(2)), Large(2**60), Large(Side.LOW)):
        assert verbs.loss_data(loss) is loss
        assert verbs.mean_loss(loss, np.ones(3), np.zeros(3), np.full(3, 1 / 3)) == 1.0


def test_an_error_that_a_method_raises_in_a_kernel_is_raised():
    @l0path.own_loss("raising")
    class Raising(NamedTuple):
        def value(self, y, eta):
            if eta > 1.0:
                raise ValueError("eta is too large")
            return 0.5 * (y - eta) ** 2

        def slope(self, y, eta):
            return eta - y

        def curvature(self, y, eta):
            return 1.0

    loss, w = verbs.loss_data(Raising()), np.full(2, 0.5)
    assert asked(loss, np.ones(2), np.zeros(2), w, np.empty(2), np.empty(2)) == 0.5
    with pytest.raises(ValueError, match="eta is too large"):
        asked(loss, np.ones(2), np.full(2, 2.0), w, np.empty(2), np.empty(2))


def test_a_class_that_is_defined_anew_has_verbs_of_its_own():
    def defined(factor):
        @l0path.own_loss("anew")
        class Anew(NamedTuple):
            def value(self, y, eta):
                return factor * (y - eta) ** 2

            def slope(self, y, eta):
                return 2.0 * factor * (eta - y)

            def curvature(self, y, eta):
                return 2.0 * factor

        return verbs.loss_data(Anew())

    rows_ = np.ones(2), np.zeros(2), np.full(2, 0.5), np.empty(2), np.empty(2)
    assert [asked(loss, *rows_) for loss in (defined(1.0), defined(3.0))] == [1.0, 3.0]


def test_addresses_do_not_leave_the_process():
    with pytest.raises(TypeError, match="one process"):
        pickle.dumps(verbs.loss_data(Logistic()))


def test_a_dual_point_outside_at_its_slope_gives_no_bound():
    # Tabled has no conjugate: every dual point is outside
    ones, zeros = np.ones(3), np.zeros(3)
    rows_ = ones, ones / 3, zeros, zeros, zeros
    gain = verbs.drawn_back_rows(Tabled(np.eye(2)), *rows_, np.zeros(3), np.empty(3))
    assert gain == -np.inf


def test_a_call_by_address_takes_arrays_of_its_kind_only():
    vector = types.Array(types.float64, 1, "C")
    call = call_at(types.float64(vector, types.float64))

    @njit
    def kernel(address, x, t):
        return call(address, x, t)

    for x, t in ((np.ones(3, np.float32), 1.0), (np.ones((3, 3))[:, 0], 1.0), (np.ones(3), 1)):
        with pytest.raises(TypingError, match="was given to a call by address"):
            kernel(0, x, t)


def test_a_stamp_tells_the_signature_of_a_call_by_address():
    def caller(kind):
        call = call_at(types.float64(kind))
        return lambda address, x: call(address, x)

    assert len({reach.stamp(caller(kind)) for kind in (types.float64, types.int64)}) == 2


def test_compiling_a_loss_of_the_users_own_is_not_announced(monkeypatch, capsys):
    monkeypatch.setattr(dispatch._Announce, "said", False)
    monkeypatch.delenv("L0PATH_QUIET", raising=False)
    for loss, told in ((Large(1), ""), (Logistic(), "l0path: compiling kernels, up to 30 s")):
        data = {"dispatcher": verbs.of_record(verbs.value_of_each), "args": (typeof(loss),)}
        dispatch._Announce().on_start(SimpleNamespace(data=data))
        assert capsys.readouterr().err.partition(", once")[0] == told
