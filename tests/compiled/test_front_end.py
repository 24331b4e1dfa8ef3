"""Kernels compiled by the short pipeline: what they compute, that arrays made in them are freed,
that what it leaves out is compiled by numba's own, and that numba's own takes over where it fails.
"""

import gc
import sys
import tomllib
from typing import NamedTuple

import numba
import numpy as np
import pytest
from fresh import ROOT
from numba.core import types
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys
from test_kernel_cache import PROGRAM, copy_of_the_package, run

import l0path
from l0path.compiled import collection_put_off, indices_at, numbers_at, part, parts
from l0path.compiled.front_end import RememberingContext, ShortCompiler
from l0path.compiled.lowering import ShortLower
from l0path.core.dispatch import generic, njit
from l0path.core.elementary import exp_minus
from l0path.working_set.linear_algebra import invert, weighted_square


class Pair(NamedTuple):
    matrix: np.ndarray
    marks: np.ndarray


@njit
def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


@njit
def halves(a):
    half = a[: a.shape[0] // 2]
    new = np.empty(half.shape[0])
    for i in range(half.shape[0]):
        new[i] = half[i] / 2
    return new


@njit
def sum_of_halves(a):
    return total(halves(a)) + total(a[1:])


@njit
def squares_of(a):
    return np.array([v * v for v in a]) + a


@njit
def maybe(a, weights):
    if weights is None:
        return total(a)
    return total(weights)


@njit
def entries(pair, at, out):
    matrix, marks = pair.matrix, pair.marks
    k = marks.size
    for j in range(matrix.shape[1]):
        row = matrix[at - j]
        out[j - k] = row[-1] + matrix[-j, at] + (10.0 if marks[j - 1] else 0.0)
        marks[j - 1] = j > 1
    return out[0] + out[-1]


@njit
def last_made(a, times):
    kept, b = a, a
    for i in range(times):
        made = np.empty(a.size)
        for j in range(a.size):
            made[j] = b[j] + i
        b, kept = made, b
    pair = Pair(b.reshape(1, -1), kept > 0.0)
    return pair.matrix[0], kept


@njit
def at_or_after(a, j):
    return a[j] if j >= 0 else 0.0


@njit
def counted_from_0(a):
    j, s = 0, at_or_after(a, 2)
    while j < a.size:
        s += at_or_after(a, j)
        j += 1
    return s + at_or_after(a, -1)


@njit
def perhaps_unset(a, limit):
    for i in range(a.size):
        t = a[i]
        if t > limit:
            found = i
    if t > limit:
        return found
    return -1


@pytest.fixture
def counted():
    """numba counts what its kernels allocate and free."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def code(kernel):
    """LLVM code of the only specialization of a kernel."""
    (text,) = kernel.inspect_llvm().values()
    return text


def test_a_kernel_is_compiled_once_for_all_numbers_that_its_callers_name():
    assert counted_from_0(np.arange(4.0)) == 8.0
    assert len(at_or_after.overloads) == 1


def test_kernels_that_make_no_array_count_no_references():
    a = np.arange(6.0)
    before = sys.getrefcount(a)
    assert total(a) == 15.0
    assert sys.getrefcount(a) == before
    assert "NRT_" not in code(total)


@pytest.mark.usefixtures("counted")
def test_arrays_made_in_kernels_are_freed():
    a = np.arange(6.0)
    assert np.array_equal(halves(a), [0.0, 0.5, 1.0])
    assert sum_of_halves(a) == 16.5
    before = rtsys.get_allocation_stats()
    for _ in range(5):
        sum_of_halves(a)
        halves(a)
    after = rtsys.get_allocation_stats()
    made = after.mi_alloc - before.mi_alloc
    assert made >= 10
    assert after.mi_free - before.mi_free == made


def test_what_the_short_pipeline_leaves_out_is_compiled():
    a = np.arange(3.0)
    assert np.array_equal(squares_of(a), [0.0, 2.0, 6.0])
    assert maybe(a, None) == 3.0
    assert maybe(a, 2 * a) == 6.0


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("loss", ["squared", "logistic", "ordinal", "cox"])
def test_fits_free_what_their_kernels_allocate(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    y = np.where(X[:, 0] + rng.standard_normal(30) > 0, 1, -1)
    y = {"ordinal": np.arange(30) % 3, "cox": np.column_stack([rng.random(30), y > 0])}.get(loss, y)
    counts = []
    for _ in range(3):
        l0path.fit(X, y, loss=loss, max_k=3, certify=False, n_jobs=1)
        gc.collect()
        stats = rtsys.get_allocation_stats()
        counts.append((stats.alloc - stats.free, stats.mi_alloc - stats.mi_free))
    assert counts[1] == counts[2]


def test_the_remembering_context_finds_what_numba_finds():
    numbas = cpu_target.typing_context
    ours = RememberingContext(numbas)
    kinds = [types.int64, types.int32, types.float64, types.boolean, types.intp]
    for operator in ("add", "truediv", "floordiv", "lt"):
        function = getattr(__import__("operator"), operator)
        for left in kinds:
            for right in kinds:
                found = [ours.resolve_function_type(function, (left, right), {}) for _ in range(2)]
                expected = numbas.resolve_function_type(function, (left, right), {})
                assert found == [expected, expected]
    array = types.Array(types.float64, 2, "F")
    index = types.UniTuple(types.int64, 2)
    assert ours.resolve_setitem(array, index, types.float64) == numbas.resolve_setitem(
        array, index, types.float64
    )


def test_kernels_go_the_short_way():
    assert issubclass(total._compiler.pipeline_class, ShortCompiler)


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_entries_and_rows_are_those_of_python(order, dtype):
    matrix = np.arange(9).reshape(3, 3).astype(dtype)
    matrix = np.asarray(matrix, order=order) if order != "A" else np.repeat(matrix, 2, 1)[:, ::2]
    for at in (-1, 0, 1):
        results = []
        for kernel in (entries, entries.py_func):
            marks, out = np.array([True, False, True]), np.zeros(3)
            results.append((kernel(Pair(matrix, marks), at, out), out.tolist(), marks.tolist()))
        assert results[0] == results[1]


@generic
def sum_of_entries(pair):
    return weighted_square(pair.matrix[0], pair.marks) + exp_minus(pair.matrix[1, 0])


def test_what_a_verb_calls_is_not_taken_in_by_force_as_the_verb_is(monkeypatch):
    forced = {}

    class Told(parts.CalleeLibrary):
        def finalize(self):
            super().finalize()
            for one in map(self._final_module.get_function, self.names):
                forced[self.name] = b"alwaysinline" in b" ".join(one.attributes)

    monkeypatch.setattr(parts, "CalleeLibrary", Told)

    @njit
    def entry(pair):
        return sum_of_entries(pair)

    pair = Pair(np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.int8))
    assert entry(pair) == pytest.approx(5.0 + np.exp(-3.0))
    assert forced == {"sum_of_entries": True, "weighted_square": False, "exp_minus": True}


@pytest.mark.usefixtures("counted")
def test_arrays_that_change_hands_in_a_loop_live_as_long_as_they_are_held():
    a = np.arange(1.0, 5.0)
    for times in (0, 1, 2, 5):
        before, held = rtsys.get_allocation_stats(), sys.getrefcount(a)
        for found, expected in zip(last_made(a, times), last_made.py_func(a, times), strict=True):
            assert np.array_equal(found, expected)
        del found, expected
        after = rtsys.get_allocation_stats()
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
        assert sys.getrefcount(a) == held


def test_variables_that_are_set_in_one_branch_only():
    a = np.arange(6.0)
    for limit in (2.5, 4.5, 7.0):
        assert perhaps_unset(a, limit) == perhaps_unset.py_func(a, limit)


def test_where_numba_is_not_as_expected_its_own_lowering_is_used(monkeypatch):
    def renamed(*_):
        raise AttributeError("no such field")

    monkeypatch.setattr(ShortLower, "_field", renamed)

    @njit
    def inner(a):
        return a[0] + a.size

    @njit
    def outer(a):
        b = np.empty(a.size)
        b[0] = a[1]
        return inner(a) + b[0]

    assert outer(np.array([2.0, 5.0])) == 9.0


UNTESTED = "import numba\nnumba.__version__ = '0.999.1'\n"


def test_the_versions_of_numba_that_are_tested_are_those_that_are_asked_for():
    lowest, above = parts.LOWEST, parts.ABOVE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"numba>={lowest},<{above}" in project["dependencies"]
    assert parts.tested(lowest) and parts.tested(f"{lowest}.2") and parts.tested(numba.__version__)
    assert not parts.tested(above) and not parts.tested(f"{above}.0rc1")


def test_another_version_of_numba_compiles_its_own_way_and_one_line_says_so(tmp_path):
    package = copy_of_the_package(tmp_path)
    settings = {"package": package, "NUMBA_CACHE_DIR": tmp_path / "cache", "L0PATH_QUIET": ""}
    found, err = run(program=UNTESTED + PROGRAM, **settings)
    assert found["answer"] == [0.5, 2.0] and found["compiled"] == 1
    assert err.count("numba 0.999.1 is not one of the versions tested, 0.61 and later, below") == 1
    assert run(program=UNTESTED + PROGRAM, **settings | {"L0PATH_QUIET": 1})[1] == ""


def test_numbas_own_kernels_may_call_ours():
    @numba.njit
    def foreign(A, k, B):
        return invert(A, k, B)

    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((20, 3)), np.empty((3, 3))
    assert foreign(X.T @ X, 3, B) == 0
    assert np.allclose(B, np.linalg.inv(X.T @ X))


def test_garbage_collection_is_as_it_was_once_modules_are_loaded():
    for enabled in (False, True):
        (gc.enable if enabled else gc.disable)()
        try:
            with collection_put_off():
                assert not gc.isenabled()
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


class Arrays(NamedTuple):
    """Arrays of a record, as `problem.verbs.LossData` has them."""

    numbers: np.ndarray
    ints: np.ndarray


def views_of_a_whole(n):
    """Views of an array of which nothing else is left."""
    whole = np.empty(n)
    for i in range(n):
        whole[i] = i
    return part(whole, 0, n // 2), part(whole, n // 2, n)


def sums_of_views(record, n):
    """Sums of an array of numbers and of one of indices, and of views of them."""
    x, a, total = numbers_at(record, 0), indices_at(record, 1), 0.0
    for i in range(n):
        total += part(x, i, x.size).sum() + part(a, 0, i).sum()
    return total


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("compile_", [njit, numba.njit, lambda function: function])
def test_views_are_slices_and_live_as_long_as_they_are_held(compile_):
    before = rtsys.get_allocation_stats()
    one, other = compile_(views_of_a_whole)(7)
    np.testing.assert_array_equal(np.concatenate([one, other]), np.arange(7.0))
    del one, other
    x, a = np.arange(2.0, 7.0), np.array([3, 1, 4, 1])
    ends = np.array([1, 6, 4, 8])
    record = Arrays(np.append(0.5, x), np.append(ends, a))
    expected = sum(x[i:].sum() + a[:i].sum() for i in range(4))
    assert compile_(sums_of_views)(record, 4) == expected
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
