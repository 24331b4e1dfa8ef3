"""Designs and threads: results, thread counts, errors and forked processes."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, current_thread, main_thread
from time import sleep

import numpy as np
import pytest
import scipy.sparse as sp
from design_checks import numbers
from threadpoolctl import threadpool_info

from l0path.core import threads
from l0path.designs import Csc, Dense


def test_results_do_not_depend_on_threads():
    X = sp.random_array((2000, 3000), density=0.05, format="csc", rng=np.random.default_rng(14))
    X.data[:50] *= 1e6
    rng, weights = np.random.default_rng(15), np.full(2000, 1 / 2000)
    for m in (1, 3, 20):
        R = rng.normal(size=(2000, m))
        out = [Csc(X, threads=count).correlate(R) for count in (1, 2, 3)]
        assert np.array_equal(out[0], out[1]) and np.array_equal(out[0], out[2])
        assert np.array_equal(Csc(X, threads=2).correlate(R, 100, 2900), out[0][100:2900])
    assert np.array_equal(
        Csc(X, threads=1).moments(weights, True), Csc(X, threads=2).moments(weights, True)
    )


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_results_of_cast_tiles_do_not_depend_on_threads(monkeypatch, dtype, order):
    X = np.asarray(numbers(np.random.default_rng(22), 300, 4000, dtype), order=order)[::2, ::2]
    R, weights = np.random.default_rng(23).normal(size=(150, 10)), np.full(150, 1 / 150)
    out = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        out.append(
            (Dense(X).correlate(R), Dense(X).correlate(R[:, :1]), *Dense(X).moments(weights, True))
        )
    assert all(
        np.array_equal(a, b) for other in out[1:] for a, b in zip(out[0], other, strict=True)
    )


def test_blas_threads_are_given_back():
    def limits():
        return [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]

    before = limits()
    with threads.one_blas_thread():
        assert set(limits()) == {1}
        with threads.one_blas_thread():
            pass
        assert set(limits()) == {1}
    with pytest.raises(ZeroDivisionError), threads.one_blas_thread():
        raise ZeroDivisionError
    assert limits() == before


def test_two_python_threads_at_once():
    X = sp.random_array((3000, 2000), density=0.1, format="csc", rng=np.random.default_rng(24))
    dense, sparse, R = (
        Dense(X.toarray().astype("float32")),
        Csc(X, threads=2),
        np.random.default_rng(25).normal(size=(3000, 6)),
    )
    wanted = dense.correlate(R), sparse.correlate(R)
    with ThreadPoolExecutor(4) as callers:
        for kind, got in callers.map(
            lambda i: (i % 2, (dense, sparse)[i % 2].correlate(R)), range(16)
        ):
            assert np.array_equal(got, wanted[kind])


def test_thread_count_follows_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.count() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert 1 <= threads.count() <= 32


def test_an_error_in_a_thread_reaches_the_caller():
    def task(left, right):
        if left == 2:
            raise RuntimeError("part 2")

    for count in (1, 2):
        with pytest.raises(RuntimeError, match="part 2"):
            threads.run(task, [0, 1, 2, 3], count)


def test_ranges_are_done_once_on_so_many_threads_and_may_have_ranges_of_their_own():
    done, names, both = [], set(), Barrier(2)

    def task(left, right):
        names.add(current_thread().name)
        if left < 2:
            both.wait(timeout=60)  # two threads are at work
        threads.run(lambda a, b: done.append(10 * left + a), range(4), 2)

    threads.run(task, range(41), 2)
    assert sorted(done) == [10 * i + a for i in range(40) for a in range(3)]
    assert len(names) == 2 and current_thread().name in names


def test_one_pool_for_any_number_of_ranges():
    before = set(threads._pools)
    for number in (2, 3, 4):
        threads.run(lambda left, right: None, range(number + 1), 7)
    assert set(threads._pools) - before <= {7}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_no_range_begins_after_an_interruption(error):
    begun = []

    def task(left, right):
        begun.append(left)
        if current_thread() is main_thread():
            raise error("at once")
        sleep(0.01)

    with pytest.raises(error, match="at once"):
        threads.run(task, range(2001), 2)
    count = len(begun)
    sleep(0.05)
    assert len(begun) == count < 2000


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
# Python warns of threads at a fork, and so does JAX, which an earlier test may have started
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*JAX:RuntimeWarning")
def test_threads_work_in_a_forked_child():
    import multiprocessing

    X = sp.random_array((1000, 3000), density=0.1, format="csc", rng=np.random.default_rng(21))
    design = Csc(X, threads=2)
    wanted = design.correlate(np.ones(1000))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(
            pool.apply_async(design.correlate, (np.ones(1000),)).get(timeout=60), wanted
        )
