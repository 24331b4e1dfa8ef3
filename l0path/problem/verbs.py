"""Verbs that solvers ask of a loss. What they do for it are the methods of its class with their
names (`core.dispatch.with_verbs`), in Python and in kernels.

A loss that is a sum over rows has the verbs of one row: `value`, `slope`, `curvature`, and
`fenchel_gap` if bounds are to refute exchanges. The verbs of all rows below then sum these. A loss
that couples rows (the partial likelihood of Cox) has the verbs of all rows instead:

    value_of_rows         the loss at a predictor eta (n,)
    derivatives_of_rows   its slopes, and v (n,) of its curvature B = diag(v) - P'P in eta
    slope_along           its slope along a line between two predictors
    coupling_of_rows      P z for columns z, and `rank_of`, the number of rows of P
    curvature_times       B z for columns z, and `hessian_of_rows`, by a loss without P: then v is
                          B 1, which an intercept needs
    bound_of_rows         a lower bound by weak duality; without one it refutes nothing
    origin_of             a number that may be taken off every predictor
    reach_of_rows         how far predictors are from the offset, and the margins of classes
    state_of_rows         in place of the first three: all that its verbs at one predictor share,
                          which ask `state_at`, so that it is compiled, and computed, once

Its traits say `coupled`. Whoever makes Hessians, or tables of exchanges, takes off (P Z')'(P Z')
from what v gives (`coupled_columns`). Python calls the functions at the end.

Kernels take a loss as `LossData`, with its verbs of all rows by address; those that go from one
predictor to the next let it remember where it was (`along_the_way`).
"""

import math
import threading
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from ..compiled import address_of, part, verb_at
from ..core.dispatch import (
    calling,
    generic,
    generic_in_python,
    njit,
    njit_by_address,
    njit_inlined,
    with_verbs,
)

HALVINGS = 10  # of the way of a dual point out of the domain of a conjugate
SIGNS = 4  # products from which the diagonal of a curvature is estimated

# -------------------- one row


@generic
def value(loss, y, eta):
    """Loss of one row; NaN for a loss that is no sum over rows, of which nothing asks it."""
    return math.nan


@generic
def slope(loss, y, eta):
    """First derivative in eta; NaN as for `value`."""
    return math.nan


@generic
def curvature(loss, y, eta):
    """Second derivative in eta (one of its values where it jumps); NaN as for `value`, and for a
    loss of straight pieces.
    """
    return math.nan


@generic
def fenchel_gap(loss, y, eta, at, dual):
    """At least l*(dual) + l(eta) - dual eta, where l* is the conjugate of the loss of one row in
    eta and `at` its slope at eta; inf where l* is infinite, and for losses without one, of which
    no exchange is then refuted by a bound.
    """
    return math.inf


# -------------------- losses as kernels take them

VECTOR, NUMBER = types.Array(types.float64, 1, "C"), types.float64
MATRIX, INDICES = types.Array(types.float64, 2, "C"), types.Array(types.int64, 1, "C")
BY_ADDRESS = []  # `AddressedVerb`, by their places in `LossData.at`
STATE = 0  # the place of `state_of_rows`
LARGEST_WHOLE = 2**53  # whole numbers up to it are doubles, too


class AddressedVerb(NamedTuple):
    """A verb of all rows that kernels call by its address."""

    verb: Any
    signature: Any  # of its compiled code: `SHARED`, and its arguments after the loss
    call: Any  # `call_at` of this signature
    without: Any  # see `called_by_address`
    sums: bool  # see `called_by_address`
    rare: bool  # see `called_by_address`


@with_verbs
class LossData(NamedTuple):
    """A loss as kernels take it: one type for all losses, so that a kernel is compiled once and a
    further loss compiles its verbs alone. Addresses are those of one process: see `loss_data`.
    """

    # (len(BY_ADDRESS),), int64, where the compiled verbs are, 0 for those that the loss has not
    at: np.ndarray
    numbers: np.ndarray  # float64, the numbers of the record, then its arrays of numbers
    # int64, where each array begins and ends, then its arrays of indices, and `state_size`
    ints: np.ndarray
    memory: np.ndarray  # float64, see `along_the_way`; (0,) for none, as where threads share it
    rank: int  # `rank_of`

    def __reduce__(self):
        raise TypeError("addresses of compiled code are those of one process")

    def rank_of(self):
        return self.rank

    def along_the_way(self, y):
        size = _size_of_state(self.ints, y.size)
        if size == 0:
            return self
        # how many predictors it knows, and which is the newest; each with its state
        memory = np.empty(2 + 2 * (y.size + size))
        memory[0], memory[1] = 0.0, 0.0
        return LossData(self.at, self.numbers, self.ints, memory, self.rank)


class NoLoss(NamedTuple):
    """A record for which a verb is compiled that all losses without one of their own share."""


SHARED = types.int64, VECTOR, INDICES, VECTOR  # address of `state_of_rows`, numbers, ints, memory


def called_by_address(returned, *kinds, without=None, sums=False, rare=False):
    """Decorator of a verb of all rows: kernels call that of a `LossData` by its address.

    returned, kinds: numba types of what it returns and of its arguments after the loss; without:
    the number that kernels take for it where a loss has no such verb, None where the verb itself
    says so; a verb that returns nothing then does nothing. sums: whether the verb itself asks verbs
    of one row, so that a loss which has these has it. rare: whether it is compiled only for those
    who name it to `loss_data`, or ask it alone.
    """

    def register(verb):
        place, signature, names = len(BY_ADDRESS), returned(*SHARED, *kinds), _arguments(verb)
        call, given = calling(signature), ", ".join(names)
        BY_ADDRESS.append(AddressedVerb(verb, signature, call, without, sums, rare))
        scope = {"call": call, "without": without, "__name__": __name__}
        shared = f"loss.at[{STATE}], loss.numbers, loss.ints, loss.memory"
        made = f"call(loss.at[{place}], {shared}, {given}) if loss.at[{place}] else without"
        exec(f"def by_address(loss, {given}): return {made}", scope)
        scope["by_address"].in_kernels = verb_at(place, signature, names, without)
        verb.register(LossData)(scope["by_address"])
        return verb

    return register


def _arguments(verb):
    """The names of the arguments of a verb after the loss."""
    code = verb.__wrapped__.__code__
    return code.co_varnames[1 : code.co_argcount]


@cache
def _kernel(verb, record, kinds):
    """The kernel of a verb for a class of records, of (*SHARED, ...): the record is made of its
    numbers and views of its arrays. kinds: those of its fields, see `_kind_of_field`; None for a
    class as in `_in_kernels`.
    """
    fields, scalars, arrays = ["finder", "numbers", "ints", "memory"] if kinds is None else [], 0, 0
    for kind in kinds or ():
        if kind in SCALARS:
            fields.append(SCALARS[kind].format(scalars))
            scalars += 1
        else:
            fields.append(f"part({kind}, ints[{2 * arrays}], ints[{2 * arrays + 1}])")
            arrays += 1
    given = ", ".join(_arguments(verb))
    # Compiled code is found by a name that has the module, the name of the function and a number
    # that counts the functions of a process: stored code of two processes has the same numbers, so
    # that the names of functions must tell apart what has the same arguments.
    name = "_".join((verb.__name__, "of", record.__name__, *(kinds or ())))
    # with the module of the record it is stored where that is of the package
    scope = {"verb": verb, "record": record, "__name__": record.__module__}
    scope["part"] = part
    body = f"return verb(record({', '.join(fields)}), {given})"
    exec(f"def {name}(finder, numbers, ints, memory, {given}): {body}", scope)
    return njit_by_address(scope[name])


def _in_kernels(record):
    """The class of what verbs take for a class of records: its `in_kernels`, of what `SHARED` says,
    where the loss has a `state_of_rows`. Such verbs read the arrays that they need (`numbers_at`),
    for a record of many arrays takes long to compile where functions pass it on.
    """
    return getattr(record, "in_kernels", record)


SCALARS = {"float": "numbers[{}]", "int": "int(numbers[{}])", "bool": "numbers[{}] != 0.0"}
ARRAYS = {"numbers", "ints"}


def _kind_of_field(field):
    """The kind of a field of a record: a scalar of `SCALARS`, "numbers" or "ints", an array of
    float64 or int64; None for anything else.
    """
    if isinstance(field, (float, np.floating)):
        return "float"
    if isinstance(field, (bool, np.bool_)):
        return "bool"
    if type(field) is int or isinstance(field, np.integer):  # a member of an enum is neither
        return "int" if abs(field) <= LARGEST_WHOLE else None
    if isinstance(field, np.ndarray) and field.ndim == 1 and field.flags.c_contiguous:
        return {"float64": "numbers", "int64": "ints"}.get(field.dtype.name)
    return None


class CompiledVerbs:
    """The verbs of a class of records with fields of some kinds, compiled when they are first asked
    for. kernels: by their places, None for those that the class has not.
    """

    def __init__(self, record, kinds):
        kept, self.kernels, self._known = _in_kernels(record), [], {}
        self.has_state, rows = _registered(state_of_rows, kept), _registered(value, kept)
        for verb, _, _, without, sums, _ in BY_ADDRESS:
            if _registered(verb, kept) or (sums and rows):
                self.kernels.append(_kernel(verb, kept, None if self.has_state else kinds))
            elif self.has_state and _registered(verb, WithState):
                self.kernels.append(_kernel(verb, WithState, None))
            else:
                self.kernels.append(_kernel(verb, NoLoss, ()) if without is None else None)

    def at(self, asked=()):
        """`LossData.at`. asked: a tuple of rare verbs, beside which all others are compiled; or one
        verb, and no other is.
        """
        if asked not in self._known:
            usual = {one.verb for one in BY_ADDRESS if not one.rare}
            wanted = {state_of_rows, asked} if callable(asked) else usual.union(asked)
            self._known[asked] = np.array(
                [self._address(i) if one.verb in wanted else 0 for i, one in enumerate(BY_ADDRESS)],
                dtype=np.int64,
            )
        return self._known[asked]

    def _address(self, place):
        """The address of a verb, 0 for one that the class has not."""
        kernel = self.kernels[place]
        return 0 if kernel is None else address_of(kernel, BY_ADDRESS[place].signature)


def _registered(verb, record):
    """Whether a class of records has a verb of its own."""
    return verb.dispatch(record) is not verb.dispatch(object)


@cache
def compiled_verbs(record, kinds):
    """The `CompiledVerbs` of a class of records; None for one with fields that are neither numbers
    nor arrays of them.
    """
    verbs = value, value_of_rows, state_of_rows
    if None in kinds or not any(_registered(verb, _in_kernels(record)) for verb in verbs):
        return None
    return CompiledVerbs(record, kinds)


class Packed:
    """A record as kernels take it: its fields by its verbs, see `LossData`."""

    def __init__(self, verbs, loss, kinds):
        self.verbs, self.rank, self._known = verbs, rank_of(loss), {}
        self.numbers, self.ints = _laid_out(loss, kinds)

    def data(self, asked):
        """The `LossData` with the verbs asked, see `CompiledVerbs.at`."""
        if asked not in self._known:
            fields = self.numbers, self.ints, NOTHING, self.rank
            self._known[asked] = LossData(self.verbs.at(asked), *fields)
        return self._known[asked]


_last = threading.local()  # pair: the last record of a thread, and its `Packed`


def _packed(loss):
    """The `Packed` of the record of a loss; None where there are no `compiled_verbs`."""
    held, packed = getattr(_last, "pair", (None, None))
    if held is loss:
        return packed
    kinds = tuple(map(_kind_of_field, loss))
    verbs = compiled_verbs(type(loss), kinds)
    if verbs is None:
        return None
    _last.pair = loss, Packed(verbs, loss, kinds)
    return _last.pair[1]


def _laid_out(loss, kinds):
    """The numbers and ints of a record, see `LossData`."""
    pairs = list(zip(kinds, loss, strict=True))
    numbers = [[float(field) for kind, field in pairs if kind in SCALARS]]
    ends, ints = [], []
    places = {"numbers": len(numbers[0]), "ints": 2 * sum(kind in ARRAYS for kind in kinds)}
    for kind, field in pairs:
        if kind in ARRAYS:
            ends += [places[kind], places[kind] + field.size]
            places[kind] += field.size
            (numbers if kind == "numbers" else ints).append(field)
    ints = [np.array(ends, np.int64), *ints, np.array(state_size(loss), np.int64)]
    return np.concatenate(numbers, dtype=np.float64), np.concatenate(ints)


def loss_data(loss, *rare):
    """A loss as kernels take it: a `LossData`, made anew in every process; the record itself of one
    that cannot be packed, for which kernels are then compiled anew. rare: the verbs that kernels
    will ask beyond those that most of them do, see `called_by_address`.
    """
    packed = _packed(loss)
    return loss if packed is None else packed.data(rare)


NOTHING = np.empty(0)


# -------------------- all rows


class Tangent(NamedTuple):
    """A predictor, and what `derivatives_of_rows` fills there: (n,) each."""

    start: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray


TANGENT = types.NamedUniTuple(VECTOR, 3, Tangent)


@generic_in_python
def state_size(loss):
    """(how many a row, how many more): the numbers of the state of a loss. Its value, slopes (n,)
    and v (n,), are the first; what follows is the loss's own.
    """
    return 0, 0


@called_by_address(types.none, *6 * [VECTOR], without=0)
@generic
def state_of_rows(loss, y, eta, weights, before, known, state):
    """Fill the state at eta (n,), see `state_size`; a loss may find it faster from the state
    `known` at another predictor `before` (n,), both empty where there is none.
    """


@with_verbs
class WithState(NamedTuple):
    """A loss as those of its verbs take it that read its state and nothing else: they are compiled
    once for all such losses.
    """

    finder: int  # address of `state_of_rows`
    numbers: np.ndarray
    ints: np.ndarray
    memory: np.ndarray

    def value_of_rows(self, y, eta, weights):
        return state_at(self, y, eta, weights)[0]

    def origin_of(self, slopes, eta):  # all of them take up a number added to every predictor
        return middle(slopes, eta)

    def derivatives_of_rows(self, y, eta, weights, slopes, curvatures):
        state, n = state_at(self, y, eta, weights), y.size
        for i in range(n):
            slopes[i], curvatures[i] = state[1 + i], state[1 + n + i]
        return state[0]

    def slope_along(self, y, weights, start, end, t):
        eta, total = np.empty(y.size), 0.0
        for i in range(y.size):
            eta[i] = start[i] + t * (end[i] - start[i])
        state = state_at(self, y, eta, weights)
        for i in range(y.size):
            total += state[1 + i] * (end[i] - start[i])
        return total


@njit
def _size_of_state(ints, n):
    """How many numbers the state of a loss of n rows has, by `LossData.ints`."""
    return ints[ints.size - 2] * n + ints[ints.size - 1]


_find = BY_ADDRESS[STATE].call


@njit
def state_at(loss, y, eta, weights):
    """The state of a loss at a predictor, as `state_of_rows` fills it, or known from before.

    loss: as its verbs take it, see `_in_kernels`; y, eta, weights: (n,).
    """
    memory, size, n = loss.memory, _size_of_state(loss.ints, eta.size), eta.size
    before, known, place = part(memory, 0, 0), part(memory, 0, 0), 0
    if memory.size:
        width, newest = n + size, 2 + int(memory[1]) * (n + size)
        for slot in range(int(memory[0])):
            place = 2 + slot * width
            if _equal(part(memory, place, place + n), eta):
                memory[1] = slot
                return part(memory, place + n, place + width)
        place = 2
        if memory[0] > 0.0:
            before, known = (
                part(memory, newest, newest + n),
                part(memory, newest + n, newest + width),
            )
            place = 2 + width if newest == 2 else 2
        memory[0] = min(memory[0] + 1.0, 2.0)
        memory[1] = 0.0 if place == 2 else 1.0
        state = part(memory, place + n, place + width)
        for i in range(n):
            memory[place + i] = eta[i]
    else:
        state = np.empty(size)
    at, numbers, ints = loss.finder, loss.numbers, loss.ints
    _find(at, at, numbers, ints, memory, y, eta, weights, before, known, state)
    return state


@njit
def _equal(a, b):
    """Whether two arrays (n,) are equal."""
    for i in range(a.size):
        if a[i] != b[i]:
            return False
    return True


@generic
def along_the_way(loss, y):
    """The loss for kernels that go from one predictor to the next: it remembers the last two and
    its states there, if it has a `state_of_rows`.
    """
    return loss


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, without=math.nan, sums=True)
@generic
def value_of_rows(loss, y, eta, weights):
    """The loss at eta (n,); weights (n,) sum to one."""
    total = 0.0
    for i in range(y.size):
        total += weights[i] * value(loss, y[i], eta[i])
    return total


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, VECTOR, without=math.nan, sums=True)
@generic
def value_and_slopes(loss, y, eta, weights, slopes):
    """Fill slopes (n,), with the weights in them; returns the loss."""
    total = 0.0
    for i in range(y.size):  # side by side: they share an exponential
        slopes[i] = weights[i] * slope(loss, y[i], eta[i])
        total += weights[i] * value(loss, y[i], eta[i])
    return total


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, without=math.nan, sums=True)
@generic
def derivatives_of_rows(loss, y, eta, weights, slopes, curvatures):
    """Fill slopes (n,) and v (n,) = `curvatures`, with the weights in them; returns the loss."""
    total = 0.0
    for i in range(y.size):
        total += weights[i] * value(loss, y[i], eta[i])
        slopes[i] = weights[i] * slope(loss, y[i], eta[i])
        curvatures[i] = weights[i] * curvature(loss, y[i], eta[i])
    return total


@called_by_address(
    NUMBER, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, VECTOR, without=math.nan, sums=True, rare=True
)
@generic
def along_a_column(loss, y, eta, weights, z, shift, out):
    """The loss at eta + shift z (n,); out (2,): its slope and curvature in shift."""
    total, d, h = 0.0, 0.0, 0.0
    for i in range(y.size):
        e = eta[i] + shift * z[i]
        total += weights[i] * value(loss, y[i], e)
        d += weights[i] * z[i] * slope(loss, y[i], e)
        h += weights[i] * z[i] * z[i] * curvature(loss, y[i], e)
    out[0], out[1] = d, h
    return total


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, without=math.nan, sums=True, rare=True)
@generic
def value_of_each(loss, y, eta, out):
    """Fill out (n,) with the loss of each row, without weights; returns 0."""
    for i in range(y.size):
        out[i] = value(loss, y[i], eta[i])
    return 0.0


@called_by_address(NUMBER, VECTOR, VECTOR, without=0.0)
@generic
def origin_of(loss, slopes, eta):
    """What a predictor eta (n,) is counted from where sizes of it are compared: 0, unless a number
    added to every predictor changes nothing.
    """
    return 0.0


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, VECTOR)
@generic
def reach_of_rows(loss, y, eta, offset, out):
    """Fill out (2,) with the largest distance of predictors eta from the offset, and, for a loss of
    classes, with the least margin by which eta - offset favors the class of a row; returns 0.
    """
    far, margin = 0.0, math.inf
    for i in range(y.size):
        far = max(far, abs(eta[i] - offset[i]))
        margin = min(margin, y[i] * (eta[i] - offset[i]))
    out[0], out[1] = far, margin
    return 0.0


@njit
def middle(slopes, eta):
    """The mean of eta (n,) by the sizes of the slopes (n,), which a row far out hardly has."""
    size, total = 0.0, 0.0
    for i in range(eta.size):
        size += abs(slopes[i])
        total += abs(slopes[i]) * eta[i]
    return total / size if size > 0.0 else 0.0


@called_by_address(NUMBER, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, without=math.nan, sums=True)
@generic
def slope_along(loss, y, weights, start, end, t):
    """The derivative of the loss in t at start + t (end - start)."""
    total = 0.0
    for i in range(y.size):
        d = end[i] - start[i]
        total += weights[i] * slope(loss, y[i], start[i] + t * d) * d
    return total


@generic
def rank_of(loss):
    """The number of rows of P; 0 for a loss that is a sum over rows."""
    return 0


@called_by_address(types.none, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX, without=0)
@generic
def coupling_of_rows(loss, y, eta, weights, Z, out):
    """out (k, rank_of) = Z P' at eta; Z (k, n) has a column in each row."""


@called_by_address(types.none, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX, without=0)
@generic
def curvature_times(loss, y, eta, weights, Z, out):
    """out (k, n) = Z B at eta, of a coupled loss that has no P; Z (k, n) has a column in each
    row.
    """


@called_by_address(types.none, VECTOR, VECTOR, MATRIX, INDICES, VECTOR, MATRIX, without=0)
@generic
def hessian_of_rows(loss, y, weights, Z, S, eta, H):
    """Fill H[:k, :k] with Z_S B Z_S' at eta (n,) where the loss gives products with B; else H stays
    as v and P made it. Z (w, n) has a column in each row, of which S (k,) are asked for.
    """


@njit_inlined
def dual_gain(loss, y, w, eta, slope_here, dual, move):
    """What a row of weight w adds to the value of a dual point over that of the loss at eta, for
    predictors that have moved by `move`: dual move less w times the gap of the conjugate. The
    slope at eta and dual have w in them. -inf where dual leaves the domain of the conjugate.
    """
    inverse = 1.0 / w
    return dual * move - w * fenchel_gap(loss, y, eta, slope_here * inverse, dual * inverse)


@called_by_address(NUMBER, VECTOR, VECTOR, TANGENT, VECTOR, without=-math.inf, sums=True)
@generic
def bound_of_rows(loss, y, weights, tangent, end):
    """A lower bound on the loss over these columns, less the loss at the start of `tangent`, by
    weak duality.

    The dual point is slopes + B (end - start), the slopes that the quadratic model foretells at its
    optimum `end` (n,): there it is feasible, whatever the loss does. -inf where it leaves the
    domain of the conjugate. The shrinkage at `end` comes on top.
    """
    total = 0.0
    for i in range(y.size):
        d = end[i] - tangent.start[i]
        here = tangent.slopes[i]
        dual = here + tangent.curvatures[i] * d
        # without branches, for vector units
        total += dual_gain(loss, y[i], weights[i], tangent.start[i], here, dual, d)
    return total if abs(total) < math.inf else -math.inf


@called_by_address(NUMBER, *6 * [VECTOR], without=-math.inf, sums=True)
@generic
def dual_gain_of_rows(loss, y, weights, eta, slopes, ahead, dual):
    """The value of a dual point (n,) over that of the loss at eta, for predictors that have moved
    to `ahead`, see `dual_gain`; infinite where it leaves the domain of the conjugate.
    """
    gain = 0.0
    for i in range(y.size):  # without branches, for vector units
        gain += dual_gain(loss, y[i], weights[i], eta[i], slopes[i], dual[i], ahead[i] - eta[i])
    return gain


@called_by_address(NUMBER, *7 * [VECTOR], without=-math.inf, sums=True)
@generic
def drawn_back_rows(loss, y, weights, eta, slopes, ahead, dual, moved):
    """As `dual_gain_of_rows`, of the rows within the domain of the conjugate. The others are drawn
    back towards their slopes until they are, and no more: `moved` (n,) is the change of their
    dual, 0 for rows within. -inf where one is outside at its slope.
    """
    gain = 0.0
    for i in range(y.size):
        w, move = weights[i], ahead[i] - eta[i]
        moved[i] = 0.0
        more = dual_gain(loss, y[i], w, eta[i], slopes[i], dual[i], move)
        if more > -math.inf:
            gain += more
            continue
        at, step, kept = slopes[i] / w, (dual[i] - slopes[i]) / w, 0.0
        for _halving in range(HALVINGS):
            step *= 0.5
            if fenchel_gap(loss, y[i], eta[i], at, at + step) < math.inf:
                kept = 0.5 * step
                break
        moved[i] = slopes[i] - dual[i] + kept * w
        dual[i] += moved[i]
        if moved[i] == 0.0:
            gain = -math.inf
    return gain


@generic_in_python
def least_value(loss, y, weights):
    """A lower bound on the value of a coupled loss."""
    return -math.inf


class Free(NamedTuple):
    """What a coupled loss has at its best for every predictor, see the fields of `Solution`."""

    level: float = 0.0  # added to the predictors
    thresholds: Any = None
    baseline: Any = None


@generic_in_python
def free_at(loss, y, eta, weights):
    """The `Free` of a loss at predictors eta (n,); rows of weight 0 do not count."""
    return Free()


@generic_in_python
def has_ended(loss, y, eta, weights):
    """Whether a number that a coupled loss finds for every predictor is at the end of its range at
    eta, so that there is no best one.
    """
    return False


@generic_in_python
def unseen(loss, y, weights, X, square):
    """The columns (p,) of a design that a coupled loss does not see, because they change no
    predictor but by what it takes off: one read of X, or none. square (p,): the weighted mean
    square of the columns.
    """
    return np.zeros(X.p, dtype=bool)


@generic_in_python
def restricted(loss, y, rows):
    """The loss of some rows (mask or indices): the same, but for losses that keep rows."""
    return loss


# -------------------- compiled


def mean_loss(loss, y, eta, weights):
    """`value_of_rows`."""
    return _asked(value_of_rows, loss, y, eta, weights)


def derivatives(loss, y, eta, weights, slopes, curvatures):
    """`derivatives_of_rows`."""
    return _asked(derivatives_of_rows, loss, y, eta, weights, slopes, curvatures)


def dual_bound(loss, y, weights, tangent, end):
    """`bound_of_rows`."""
    return _asked(bound_of_rows, loss, y, weights, tangent, end)


def found_state(loss, y, eta, weights):
    """The state of a loss at a predictor, see `state_size`; (0,) for a loss without one."""
    a_row, more = state_size(loss)
    state = np.empty(a_row * y.size + more)
    _asked(state_of_rows, loss, y, eta, weights, NOTHING, NOTHING, state)
    return state


def losses(loss, y, eta, out):
    """`value_of_each`."""
    _asked(value_of_each, loss, y, eta, out)


def origin(loss, slopes, eta):
    """`origin_of`."""
    return _asked(origin_of, loss, slopes, eta)


def mean_of_rows(loss, y, eta, weights):
    """`mean_loss` over the rows of positive weight: 0 exp(eta) is no number where exp overflows.

    Parameters
    ----------
    loss : record
    y, eta, weights : ndarray of shape (n,)
        Weights sum to one.

    Returns
    -------
    float
    """
    seen = weights > 0.0
    if not seen.all():
        loss = restricted(loss, y, seen)
        y, eta, weights = y[seen], eta[seen], weights[seen]
    return float(mean_loss(loss, y, eta, weights))


def _asked(verb, loss, *rows):
    """The result of a verb, by a kernel that calls it: for a record that cannot be packed one that
    is compiled for its class.
    """
    packed = _packed(loss)
    return of_record(verb)(loss if packed is None else packed.data(verb), *rows)


@cache
def of_record(verb):
    """The kernel of a verb for a loss as it is given, a record or a `LossData`."""
    given, name = ", ".join(_arguments(verb)), f"asked_{verb.__name__}"  # see `_kernel`
    scope = {"verb": verb, "__name__": __name__}
    exec(f"def {name}(loss, {given}): return verb(loss, {given})", scope)
    return njit(scope[name])


def multiplies(loss):
    """Whether a loss gives its curvature as products with columns, and not by v and P."""
    return loss.traits.coupled and not rank_of(loss)


def derivatives_with_sizes(loss, y, eta, weights, slopes, curvatures):
    """`derivatives` where v is to say how large the curvatures of rows are."""
    value = derivatives(loss, y, eta, weights, slopes, curvatures)
    if multiplies(loss):
        curvatures[:] = sizes_of_curvatures(loss, y, eta, weights)
    return value


def sizes_of_curvatures(loss, y, eta, weights):
    """How large the curvatures of rows are (n,) under a loss that `multiplies`: the diagonal of B
    as products with random signs estimate it. It is exact where that is all of B.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, y.size))
    products = multiply_columns(loss, y, eta, weights, signs)
    return np.maximum((signs * products).mean(axis=0), 0.0)


def multiply_columns(loss, y, eta, weights, Z):
    """Z B (m, n) at a predictor, for columns Z (m, n), one a row, by a loss that `multiplies`."""
    out = np.empty(Z.shape)
    _asked(curvature_times, loss, y, eta, weights, np.ascontiguousarray(Z), out)
    return out


def coupled_columns(loss, y, eta, weights, Z):
    """Z P' (m, rank_of) for columns Z (m, n), one a row, at a predictor: what the curvature of a
    coupled loss takes off is the product of two such.
    """
    out = np.empty((Z.shape[0], rank_of(loss)))
    _asked(coupling_of_rows, loss, y, eta, weights, np.ascontiguousarray(Z), out)
    return out
