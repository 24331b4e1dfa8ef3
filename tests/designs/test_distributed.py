"""Designs on a Dask cluster: verbs against the matrix, paths against those of the matrix in memory,
workers that die in mid-path, what travels, folds through joblib.

The default run kills one worker in mid-path, then all, and stops all for good; everything else that
needs a cluster is slow.
"""

import os
import pickle
import re
import signal
import time
from importlib.util import find_spec

import numpy as np
import pytest
from design_checks import assert_verbs, numbers
from disk_sources import genotypes, parquet_of, saved, write_bed
from lazy import lazy
from test_blocks_paths import assert_same_path, problem

import l0path
from l0path.designs import Standardized, blocks

joblib = lazy("joblib")

if find_spec("distributed") is None:
    pytest.skip("dask's distributed is not installed", allow_module_level=True)
distributed, sharded = lazy("distributed"), lazy("l0path.designs.cluster.shards")
cuts = lazy("l0path.designs.cluster.shards", "_cuts")
slow = pytest.mark.slow


def cluster_of_two():
    """Client of a cluster of two worker processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


two = pytest.fixture(cluster_of_two, scope="module", name="two")
mortal = pytest.fixture(
    cluster_of_two, name="mortal"
)  # a cluster of its own for each test that kills


def zarr_file(folder, X):
    """A Zarr folder; by its path, so that workers open it themselves."""
    pytest.importorskip("zarr").create_array(
        str(folder / "X.zarr"), shape=X.shape, chunks=(9, 4), dtype=X.dtype
    )[:] = X
    return folder / "X.zarr"


SOURCES = {
    "npy F": lambda folder, X: saved(folder, np.asfortranarray(X)),
    "npy C float32": lambda folder, X: saved(folder, np.ascontiguousarray(X, dtype="float32")),
    "int8": lambda folder, X: saved(folder, np.asfortranarray(X, dtype="int8")),
    "array": lambda folder, X: X,
    "dask": lambda folder, X: pytest.importorskip("dask.array").from_array(X, chunks=(9, 5)),
    "zarr": zarr_file,
    "parquet": lambda folder, X: parquet_of(folder, X, 10),
}


@slow
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_the_verbs_of_its_matrix(tmp_path, two, kind):
    rng = np.random.default_rng(1)
    A = numbers(rng, 23, 11)
    design = blocks(SOURCES[kind](tmp_path, A), client=two, shards=3)
    assert isinstance(design, sharded.Sharded) and len(design.shards) == 3
    assert_verbs(design, A, rng)
    rows, center, scale = (
        np.flatnonzero(rng.random(23) < 0.6),
        A.mean(axis=0),
        np.maximum(A.std(axis=0), 0.1),
    )
    assert_verbs(Standardized(design, center, scale, rows), ((A - center) / scale)[rows], rng)
    np.testing.assert_array_equal(design.take_rows(rows).X, A[rows])


@slow
def test_genotypes_stay_packed(tmp_path, two):
    rng = np.random.default_rng(2)
    copies, A = genotypes(rng, 131, 40)
    file = write_bed(tmp_path, copies)
    assert_verbs(blocks(file, client=two), A, rng)
    y = A[:, 5] - A[:, 30] + 0.3 * rng.normal(size=131)
    assert_same_path(l0path.fit(blocks(file, client=two), y, max_k=4), l0path.fit(A, y, max_k=4))


@slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("p", [60, 5000])
def test_paths_are_those_of_the_matrix_in_memory(tmp_path, two, monkeypatch, loss, p):
    if p == 60:
        monkeypatch.setattr(
            "l0path.designs.cluster.shards.SMALL", 0
        )  # what is small travels as what is large does
    X, y = problem(3, 120, p, loss)
    assert_same_path(
        l0path.fit(blocks(saved(tmp_path, X), client=two), y, loss=loss, lambda2=1e-3, max_k=6),
        l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=6),
    )


OPTIONS = [
    {"lambda0": "grid", "max_k": 4},
    {"algorithm": "cd", "max_k": 4},
    {"algorithm": "apg", "max_k": 3},
    {"lower": -1.0, "upper": 1.0, "max_k": 4},
    {"lambda1": l0path.grid(n=2), "max_k": 3},
    {"always_include": [3], "exclude": [0, 5], "max_k": 4},
    {"fit_intercept": False, "standardize": False, "max_k": 4},
    {"sample_weight": np.arange(100) % 3 + 0.0, "max_k": 4},
    {"certify": True, "lambda2": 0.01, "max_k": 3},
    {"groups": np.arange(40) // 3, "max_k": 4},
    {"loss": "huber", "max_k": 4},
    {"loss": "huber", "certify": True, "lambda2": 0.01, "max_k": 3},
]


@slow
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(options))
def test_options_work_on_a_cluster(tmp_path, two, options):
    X, y = problem(8, 100, 40, "squared")
    far = l0path.fit(blocks(saved(tmp_path, X), client=two), y, **options)
    here = l0path.fit(X, y, **options)
    assert_same_path(far, here)
    np.testing.assert_allclose(far.details.lower_bound, here.details.lower_bound, rtol=1e-6)


@slow
def test_bounds_do_not_come_from_memory_that_was_never_written(tmp_path, two, monkeypatch):
    """Zeros in it once closed every gap of a loss other than the squared one."""
    X, y = problem(8, 100, 40, "squared")
    options = {"loss": "huber", "certify": True, "lambda2": 0.01, "max_k": 3}
    here = l0path.fit(X, y, **options).details
    monkeypatch.setattr(np, "empty", np.zeros)
    far = l0path.fit(blocks(saved(tmp_path, X), client=two), y, **options).details
    np.testing.assert_allclose(far.lower_bound, here.lower_bound, rtol=1e-6)
    open_gaps = far[far.optimality != "global"]  # size 1 is compared with all others
    assert open_gaps.k.tolist() == [2, 3]
    assert (open_gaps.lower_bound < 0.99 * open_gaps.objective).all()


@slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_follows_a_fit_works_on_a_cluster(tmp_path, two, loss):
    X, y = problem(11, 150, 30, loss)
    options = {"cv": 3, "loss": loss, "lambda2": 1e-3, "max_k": 3, "random_state": 0}
    design = blocks(saved(tmp_path, X), client=two)
    a, b = l0path.cv_fit(design, y, **options), l0path.cv_fit(X, y, **options)
    np.testing.assert_allclose(a.scores.cv_mean, b.scores.cv_mean, rtol=1e-9)
    np.testing.assert_allclose(a.model("min").predict(design), b.model("min").predict(X), rtol=1e-8)
    np.testing.assert_allclose(
        a.model("min").summary().table.coef, b.model("min").summary().table.coef, rtol=1e-8
    )


@slow
def test_gram_rows_beyond_the_workers_memory_are_let_go(tmp_path, two, monkeypatch):
    X, y = problem(19, 80, 900, "squared")
    monkeypatch.setattr(sharded.Sharded, "gram_rows", 12)
    for loss in ("squared", "logistic"):
        z = y if loss == "squared" else y > 0
        assert_same_path(
            l0path.fit(
                blocks(saved(tmp_path, X), client=two), z, loss=loss, lambda2=1e-2, max_k=10
            ),
            l0path.fit(X, z, loss=loss, lambda2=1e-2, max_k=10),
        )


# -------------------- workers that die


def kill_one(client):
    """SIGKILL to the first worker, as a machine that is gone."""
    address, pid = sorted(client.run(os.getpid).items())[0]
    os.kill(pid, signal.SIGKILL)
    return address


@pytest.mark.parametrize(
    "loss, kind",
    [
        ("squared", "npy F"),
        pytest.param("logistic", "npy F", marks=slow),
        pytest.param("squared", "dask", marks=slow),
    ],
)
def test_a_path_outlives_a_worker(tmp_path, mortal, monkeypatch, loss, kind):
    X, y = problem(5, 120, 400, loss)
    source = SOURCES[kind](tmp_path, X)
    counted, gather = {"calls": 0, "killed": None}, sharded.Sharded.gather

    def watched(self, futures):
        counted["calls"] += 1
        if counted["calls"] == counted.get("at"):
            counted["killed"] = kill_one(
                mortal
            )  # shards, Gram rows and running tasks of this worker are gone
        return gather(self, futures)

    monkeypatch.setattr(sharded.Sharded, "gather", watched)
    wanted = l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=6)
    assert_same_path(
        l0path.fit(blocks(source, client=mortal), y, loss=loss, lambda2=1e-3, max_k=6), wanted
    )
    counted.update(
        at=counted["calls"] - 1, calls=0
    )  # after the Gram rows were made, before the last answer
    design = blocks(source, client=mortal)
    path = l0path.fit(design, y, loss=loss, lambda2=1e-3, max_k=6)
    assert counted["killed"] is not None and counted["calls"] > counted["at"]
    assert_same_path(path, wanted)
    assert path.status.startswith("complete") and (path.details.optimality != "unverified").all()
    assert_same_path(
        l0path.fit(design, y, loss=loss, lambda2=1e-3, max_k=6), wanted
    )  # the same shards, wherever they are now


def pids(client):
    return list(client.run(os.getpid).values())


def kill_all(client):
    for pid in pids(client):
        os.kill(pid, signal.SIGKILL)


class At:
    """Calls act() once, after the tasks of the `number`-th call of a stage were sent."""

    def __init__(self, monkeypatch, stage, act, number=1):
        self.stage, self.act, self.left, self.done = stage, act, number, False
        submit, gather = sharded.Sharded.submit, sharded.Sharded.gather

        def sent(design, function, *arguments, **options):
            self.seen = self.seen or function.__name__ == stage
            return submit(design, function, *arguments, **options)

        def asked(design, futures):
            if self.seen and not self.done:
                self.left -= 1
                self.seen, self.done = False, self.left == 0
                if self.done:
                    self.act()
            return gather(design, futures)

        self.seen = False
        monkeypatch.setattr(sharded.Sharded, "submit", sent)
        monkeypatch.setattr(sharded.Sharded, "gather", asked)


STAGES = [
    ("squared", "_moments"),
    ("squared", "_leading"),
    ("squared", "_gram_rows"),
    ("squared", "_best_exchanges"),
    ("squared", "_columns"),
    ("logistic", "_proposals"),
    ("logistic", "_gram_rows"),
]


@pytest.mark.parametrize(
    "loss, stage",
    [
        pytest.param(*case, marks=() if case == ("squared", "_best_exchanges") else slow)
        for case in STAGES
    ],
)
def test_a_path_outlives_all_workers_at_once(tmp_path, mortal, monkeypatch, loss, stage):
    """No task is bound to the address of a worker: those that come back have others."""
    X, y = problem(5, 120, 400, loss)
    options = {"loss": loss, "lambda2": 1e-3, "max_k": 6}
    at = At(monkeypatch, stage, lambda: kill_all(mortal))
    path = l0path.fit(blocks(saved(tmp_path, X), client=mortal), y, **options)
    assert at.done
    assert_same_path(path, l0path.fit(X, y, **options))
    assert path.status.startswith("complete")


@slow
@pytest.mark.parametrize("loss, stage", STAGES)
def test_a_path_outlives_one_worker_in_every_stage(tmp_path, mortal, monkeypatch, loss, stage):
    X, y = problem(6, 120, 400, loss)
    options = {"loss": loss, "lambda2": 1e-3, "max_k": 6}
    at = At(monkeypatch, stage, lambda: kill_one(mortal))
    path = l0path.fit(blocks(saved(tmp_path, X), client=mortal), y, **options)
    assert at.done
    assert_same_path(path, l0path.fit(X, y, **options))


@slow
@pytest.mark.parametrize("kind", ["npy F", "array", "dask", "zarr", "parquet"])
def test_the_smallest_case_of_a_cluster_without_a_worker(tmp_path, kind):
    """One worker, killed between blocks() and fit, and back at another address."""
    X, y = problem(7, 60, 20, "squared")
    X = X.astype("float64")
    source = SOURCES[kind](tmp_path, X)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        design = blocks(source, client=client)
        before = set(client.nthreads())
        kill_all(client)
        deadline = time.monotonic() + 60
        while not set(client.nthreads()) - before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert_same_path(l0path.fit(design, y, max_k=4), l0path.fit(X, y, max_k=4))


@slow
@pytest.mark.parametrize("kill", [kill_one, kill_all])
def test_shards_are_read_although_workers_die_meanwhile(tmp_path, mortal, monkeypatch, kill):
    X, y = problem(8, 120, 400, "squared")
    submit, sent = sharded.Sharded.submit, []

    def killing(design, function, *arguments, **options):
        future = submit(design, function, *arguments, **options)
        sent.append(function.__name__)
        if sent.count("_read") == 2:
            sent.clear()
            kill(mortal)
            monkeypatch.setattr(sharded.Sharded, "submit", submit)
        return future

    monkeypatch.setattr(sharded.Sharded, "submit", killing)
    design = blocks(saved(tmp_path, X), client=mortal)
    assert_same_path(l0path.fit(design, y, max_k=4), l0path.fit(X, y, max_k=4))


@slow
@pytest.mark.parametrize("kill", [kill_one, kill_all])
@pytest.mark.parametrize("calls", [1, 3])
def test_folds_outlive_workers(tmp_path, mortal, monkeypatch, kill, calls):
    X, y = problem(9, 120, 400, "squared")
    options = {"cv": 3, "max_k": 4, "random_state": 0}
    design = blocks(saved(tmp_path, X), client=mortal)
    counted, gather, run = [], sharded.Sharded.gather, l0path.cross_validation.run._run_folds

    def asked(design, futures):
        counted.append(len(futures))
        if len(counted) == calls:
            kill(mortal)
        return gather(design, futures)

    def folds(*arguments):
        monkeypatch.setattr(sharded.Sharded, "gather", asked)
        return run(*arguments)

    monkeypatch.setattr("l0path.cross_validation.run._run_folds", folds)
    found = l0path.cv_fit(design, y, **options)
    assert len(counted) >= calls  # workers were killed while folds were solved
    monkeypatch.undo()
    wanted = l0path.cv_fit(X, y, **options)
    np.testing.assert_allclose(found.folds, wanted.folds, rtol=1e-9)


@pytest.mark.slow
def test_a_cluster_without_progress_is_given_up_with_what_was_solved(tmp_path, mortal, monkeypatch):
    X, y = problem(10, 120, 400, "squared")
    design, stopped = blocks(saved(tmp_path, X), client=mortal), pids(mortal)
    monkeypatch.setattr("l0path.designs.cluster.shards.STALL", 5.0)

    def stop():
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    at = At(monkeypatch, "_best_exchanges", stop)
    try:
        with pytest.raises(RuntimeError, match=r"no progress for \d+ s") as caught:
            l0path.fit(design, y, max_k=6)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    told, path = str(caught.value), caught.value.path
    # they are sent out, or wait for Gram rows that the workers had not made when they stopped
    assert at.done and re.search(r"\d x best exchanges \((processing|waiting)\)", told)
    assert "read again" in told
    assert all(address in told for address in mortal.nthreads()) and "not heard of" in told
    assert ".path" in told and path.status.startswith("the cluster made no progress")
    wanted = l0path.fit(X, y, max_k=6)
    assert len(path) == 7 and (path.details.objective >= wanted.table.objective * (1 - 1e-9)).all()
    assert (path.details.optimality[1:] == "unverified").any()
    assert_same_path(l0path.fit(design, y, max_k=6), wanted)  # the same X serves again


@slow
def test_long_tasks_are_progress(tmp_path, mortal, monkeypatch):
    monkeypatch.setattr("l0path.designs.cluster.shards.STALL", 8.0)
    design = blocks(saved(tmp_path, np.eye(4)), client=mortal)
    assert design.gather([design.submit(lambda: __import__("time").sleep(15) or 3)]) == [3]


@slow
def test_folds_on_a_cluster_that_is_given_up_keep_the_fit_on_all_rows(
    tmp_path, mortal, monkeypatch
):
    X, y = problem(11, 120, 40, "squared")
    monkeypatch.setattr("l0path.designs.cluster.shards.STALL", 8.0)
    design, stopped = blocks(saved(tmp_path, X), client=mortal), pids(mortal)
    run = l0path.cross_validation.run._run_folds

    def folds(*arguments):
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        return run(*arguments)

    monkeypatch.setattr("l0path.cross_validation.run._run_folds", folds)
    try:
        with pytest.raises(RuntimeError, match="no progress") as caught:
            l0path.cv_fit(design, y, cv=3, max_k=4, lambda2=0, random_state=0)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    assert_same_path(caught.value.path, l0path.fit(X, y, max_k=4))


@slow
def test_a_task_that_kills_its_workers_is_named(tmp_path, mortal):
    design = blocks(saved(tmp_path, np.eye(4)), client=mortal)
    mortal.cluster.scheduler.allowed_failures = 0
    with pytest.raises(RuntimeError, match=r"workers died 1 times .* ran out of memory"):
        design.gather([design.submit(lambda: os._exit(1))])


@slow
def test_a_lost_scheduler_is_one_error(tmp_path):
    X, y = problem(12, 60, 20, "squared")
    file = saved(tmp_path, X)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, timeout=2) as client,
    ):
        design = blocks(file, client=client)
        cluster.sync(cluster.scheduler.close)
        for call in (
            lambda: l0path.fit(design, y, max_k=2),
            lambda: l0path.fit(design, y, max_k=2),
            lambda: blocks(file, client=client),
        ):
            with pytest.raises(RuntimeError, match=r"the scheduler.*connect a new .*Client"):
                call()


@slow
def test_what_the_workers_cannot_hold_is_refused_before_it_is_read(tmp_path, two, monkeypatch):
    file, workers = saved(tmp_path, np.zeros((50, 20), order="F")), sharded.Sharded._workers
    limit = 400e6

    def small(design):
        return {a: {**w, "memory_limit": int(limit)} for a, w in workers(design).items()}

    monkeypatch.setattr(sharded.Sharded, "_workers", small)
    used = max(w["metrics"]["memory"] for w in two.scheduler_info()["workers"].values())
    limit = (max(sharded.PROCESS, used) + 20e6) / (sharded.FILLED - sharded.SHARE)
    blocks(file, client=two)  # 4 KB a worker, and its share of Gram rows
    limit = 200e6
    with pytest.raises(MemoryError, match=r"memory_limit 200 MB.*50 x 20.*without client="):
        blocks(file, client=two)
    limit = 1e9
    source = blocks(file).source
    source.n, source.p = 1000, 150_000  # 1.2 GB, 600 MB for each worker
    with pytest.raises(MemoryError, match=r"600 MB for 2 shards of X \(1000 x 150000, 1\.20 GB\)"):
        sharded.Sharded(source, two)


# -------------------- what travels


@slow
def test_only_residuals_and_winners_travel(tmp_path, two):
    n, p, K = 60, 20_000, 8
    X, y = problem(7, n, p, "squared", "float32")
    design = blocks(saved(tmp_path, X), client=two)
    path = l0path.fit(design, y, max_k=K)
    assert (path.details.optimality != "unverified").all()
    came = design.received
    assert (
        came < 8 * p * 6 + 2_000_000
        # mean, variance, X'y and the two looks for equal columns, once; then winners and working
        # columns
    )
    l0path.fit(design, y, max_k=K)
    assert design.received - came < 8 * p * 6 + 2_000_000
    assert design.sent < 2 * (
        8 * p * 5 + 5_000_000
    )  # center, scale, mean square, usable, X'y to each shard; residuals and supports


# -------------------- folds through joblib


@slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_folds_run_on_the_cluster_through_joblib(two, loss):
    X, y = problem(12, 120, 20, loss)
    options = {"cv": 3, "loss": loss, "lambda2": 1e-3, "max_k": 3, "random_state": 0}
    wanted = l0path.cv_fit(X, y, **options)
    with joblib.parallel_config(backend="dask"):
        found = l0path.cv_fit(X, y, n_jobs=2, **options)
    np.testing.assert_allclose(found.folds, wanted.folds, rtol=1e-12)
    assert_same_path(found, wanted)
    assert found.model("min").k == wanted.model("min").k


@slow
def test_grid_searches_run_on_the_cluster_through_joblib(two):
    selection = pytest.importorskip("sklearn.model_selection")
    X, y = problem(13, 90, 12, "squared")
    search = selection.GridSearchCV(l0path.L0Regressor(), {"k": [1, 2, 4]}, cv=3)
    wanted = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        np.testing.assert_allclose(
            search.fit(X, y).cv_results_["mean_test_score"], wanted, rtol=1e-12
        )


@slow
def test_subsamples_and_splits_run_on_the_cluster_through_joblib(two):
    X, y = problem(14, 100, 12, "squared")
    stability = {"k": 2, "n_subsamples": 8, "random_state": 0}
    splits = {"k": 2, "n_splits": 4, "random_state": 0}
    wanted, table = (
        l0path.stability_selection(X, y, **stability),
        l0path.split_inference(X, y, **splits),
    )
    with joblib.parallel_config(backend="dask"):
        found, other = (
            l0path.stability_selection(X, y, n_jobs=2, **stability),
            l0path.split_inference(X, y, n_jobs=2, **splits),
        )
    assert found.frequency.equals(wanted.frequency) and found.subsets.equals(wanted.subsets)
    np.testing.assert_allclose(other.to_numpy(), table.to_numpy(), rtol=1e-9)


# -------------------- errors


@slow
def test_arguments_are_checked(tmp_path, two):
    file = saved(tmp_path, np.eye(4))
    for shards in (0, -1, True, 1.5, "2"):
        with pytest.raises(ValueError, match="shards="):
            blocks(file, client=two, shards=shards)
    with pytest.raises(ValueError, match="pass client= too"):
        blocks(file, shards=2)
    with pytest.raises(TypeError, match=r"client=3 must be a dask\.distributed\.Client"):
        blocks(file, client=3)
    with pytest.raises(TypeError, match="n_jobs=None"):
        pickle.dumps(blocks(file, client=two))
    with pytest.raises(ValueError, match="NaN or infinity: 1 entries in 1 of 3 columns"):
        l0path.fit(
            blocks(np.array([[1.0, 2.0, np.nan], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]), client=two),
            np.arange(3.0),
        )


@slow
def test_a_file_that_workers_cannot_read_says_so(tmp_path, two):
    file = saved(tmp_path, np.asfortranarray(np.eye(6)))
    source = blocks(file).source
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"X\.npy"):
        sharded.Sharded(source, two)


@pytest.mark.parametrize(
    "p, number, across, wanted",
    [
        (10, 3, 1, [0, 3, 7, 10]),
        (10, 3, 2, [0, 4, 8, 10]),
        (10, 3, 5, [0, 3, 7, 10]),
        (3, 3, 1, [0, 1, 2, 3]),
        (1000, 2, 300, [0, 600, 1000]),
    ],
)
def test_shards_are_cut_at_chunks(p, number, across, wanted):
    assert cuts(p, number, across) == wanted
