"""Folds that share products with the fit on all rows: the numbers of a fold alone, up to rounding,
for every design, weighting and kind of split; and folds that advance together.
"""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from lazy import lazy
from thinning import thinned
from threadpoolctl import threadpool_info

import l0path
from l0path.core import threads
from l0path.core.control import Clock
from l0path.cross_validation import run, together
from l0path.designs import Standardized, TrainingSet, training_set
from l0path.engine.request import request
from l0path.engine.run import run as fit_request
from l0path.errors import SeparationWarning
from l0path.problem.problem import all_rows_of, pose

model_selection = lazy("sklearn.model_selection")

N, P = 120, 300


def sample(seed=0):
    """(X, filled sparse X, real y, classes): columns that are hard to subtract from: constant,
    rare, far from 0, tiny, with an outlier.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    X[:, 1:] += 0.7 * X[:, :-1]
    X[:, 5], X[:, 6] = 0.0, 2.0
    X[[3, 7], 5] = 1.0
    X[:, 7] += 1e7
    X[:, 8] *= 1e-6
    X[10, 9] = 1e4
    S = X * (rng.random((N, P)) < 0.1)
    y = X[:, 50] - X[:, 60] + S[:, 70] + 0.5 * rng.standard_normal(N)
    return X, S, y, np.where(y + rng.standard_normal(N) > 0, "yes", "no")


X, S, Y, Z = sample()
DESIGNS = {
    "C": X,
    "F": np.asfortranarray(X),
    "float32": X.astype(np.float32),
    "integers": np.round(4 * X).astype(np.int64),
    "sparse": sp.csc_array(S),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
}
WEIGHTS = np.random.default_rng(5).uniform(0.5, 2.0, N) * (np.arange(N) % 17 > 0)
OPTIONS = [
    {},
    {"fit_intercept": False},
    {"standardize": False},
    {"sample_weight": WEIGHTS},
    {"loss": "logistic", "lambda2": 0.01},
    {"loss": "logistic", "lambda2": 0.01, "class_weight": {"no": 1.0, "yes": 2.0}},
]


def known(A, **options):
    """(Data, AllRows) of a fit on all rows."""
    found = fit_request(request(A, Z if "loss" in options else Y, max_k=3, **options))
    return found.request.data, all_rows_of(found.working_set)


def folds(left, n=N):
    """keep (n,) without the rows `left`."""
    keep = np.ones(n)
    keep[left] = 0.0
    return keep


@pytest.mark.parametrize(("design", "options"), thinned(2, DESIGNS, OPTIONS))
def test_products_of_a_training_set_are_the_direct_ones(design, options):
    data, all_rows = known(DESIGNS[design], **options)
    for left in (slice(0, N, 5), slice(0, 12), slice(0, N // 2)):
        alone, fold = pose(data, folds(left)), pose(data, folds(left), all_rows)
        assert isinstance(fold.X, TrainingSet) and not isinstance(alone.X, TrainingSet)
        assert np.array_equal(alone.usable, fold.usable)
        np.testing.assert_allclose(fold.X.scale, alone.X.scale, rtol=1e-13)
        assert (
            np.abs(fold.X.center - alone.X.center)
            <= 1e-14 * (alone.X.scale + np.abs(alone.X.center))
        ).all()
        np.testing.assert_allclose(fold.square, alone.square, rtol=1e-13)
        J = np.flatnonzero(alone.usable)[[0, 3, 5, 6, 7, 8, 20, -1]]
        wanted, got = np.empty((J.size, P)), np.empty((J.size, P))
        alone.X.gram_rows(J, alone.weights, wanted)
        fold.X.gram_rows(J, fold.weights, got)
        size = np.sqrt(alone.square)
        assert (np.abs(got - wanted) <= 5e-14 * np.outer(size[J], size))[:, alone.usable].all()
        q = fold.X.products(fold.weights, fold.y) - alone.X.products(alone.weights, alone.y)
        assert (np.abs(q) <= 5e-14 * size * np.sqrt(alone.weights @ alone.y**2))[alone.usable].all()
        other = np.random.default_rng(0).uniform(
            1, 2, fold.X.n
        )  # weights and responses that are not the fold's are read directly
        np.testing.assert_array_equal(
            fold.X.products(other, other), Standardized.products(fold.X, other, other)
        )
        fold.X.gram_rows(J, other, got)
        Standardized.gram_rows(fold.X, J, other, wanted)
        np.testing.assert_array_equal(got, wanted)


def test_a_response_whose_spread_leaves_with_the_held_out_rows_is_read_directly():
    y = Y.copy()
    y[0] = 1e9
    found = fit_request(request(X, y, max_k=1))
    fold = pose(found.request.data, folds([0]), all_rows_of(found.working_set))
    np.testing.assert_array_equal(
        fold.X.products(fold.weights, fold.y), Standardized.products(fold.X, fold.weights, fold.y)
    )


def test_training_sets_that_are_not_most_of_the_rows_are_read_directly():
    data, all_rows = known(X)
    for keep in (
        folds(slice(0, 80)),
        np.random.default_rng(0).integers(0, 3, N).astype(float),
        np.ones(N),
    ):
        assert type(pose(data, keep, all_rows).X) is Standardized
    heavy, weighty = known(X, sample_weight=np.where(np.arange(N) < 5, 100.0, 1.0))
    assert type(pose(heavy, folds(slice(0, 5)), weighty).X) is Standardized
    balanced, own = known(X, loss="logistic", lambda2=0.01, class_weight="balanced")
    assert type(pose(balanced, folds(slice(0, 10)), own).X) is Standardized
    rare = np.where(np.arange(N)[:, None] == np.arange(P)[None, :] % 10, 1.0, 0.0) + 0.0 * X
    nearly, few = known(rare)
    assert (
        type(pose(nearly, folds(slice(0, 10)), few).X) is Standardized
    )  # most columns are constant without these rows


def test_beyond_the_memory_allowed_rows_are_read_directly():
    data, all_rows = known(X)
    all_rows.store.capacity = len(all_rows.store.at) + 2
    alone, fold = pose(data, folds(slice(0, 9))), pose(data, folds(slice(0, 9)), all_rows)
    J, wanted, got = np.flatnonzero(alone.usable)[:9], np.empty((9, P)), np.empty((9, P))
    alone.X.gram_rows(J, alone.weights, wanted)
    fold.X.gram_rows(J, fold.weights, got)
    np.testing.assert_allclose(got[:, alone.usable], wanted[:, alone.usable], atol=5e-14)
    assert len(all_rows.store.at) <= all_rows.store.capacity


MANNERS = ("one by one", "together")


@pytest.fixture(params=MANNERS)
def manner(request, monkeypatch):
    monkeypatch.setattr(together, "WORTH", 0 if request.param == "together" else 1 << 60)
    return request.param


def assert_same(monkeypatch, A, y, **options):
    """cv_fit with products shared and without: the same supports and scores."""
    options = {"lambda2": 0, **options}
    shared_cv = l0path.cv_fit(A, y, max_k=6, random_state=0, **options)
    monkeypatch.setattr(run, "SHARED_PRODUCTS", False)
    alone = l0path.cv_fit(A, y, max_k=6, random_state=0, **options)
    np.testing.assert_allclose(shared_cv.folds, alone.folds, rtol=1e-8)
    for a, b in zip(shared_cv._fits, alone._fits, strict=True):
        assert all(np.array_equal(s.support, t.support) for s, t in zip(a, b, strict=True))
    monkeypatch.setattr(run, "SHARED_PRODUCTS", True)
    assert l0path.cv_fit(A, y, max_k=6, random_state=0, **options).folds.equals(
        shared_cv.folds
    )  # whoever was faster


@pytest.mark.parametrize(("design", "manner"), thinned(2, DESIGNS, MANNERS), indirect=["manner"])
def test_scores_of_every_design_are_those_of_folds_alone(design, manner, monkeypatch):
    assert_same(monkeypatch, DESIGNS[design], Y, cv=5)


SPLITS = {
    "weights": {"sample_weight": WEIGHTS},
    "no intercept": {"fit_intercept": False},
    "not standardized": {"standardize": False},
    "repeats": {"n_repeats": 2},
    "groups": {"groups_cv": np.arange(N) // 4},
    "one thread": {"n_jobs": 1},
    "two threads": {"n_jobs": 2},
    "offset": {"offset": 0.3 * Y},
    "time series": {"cv": lambda: model_selection.TimeSeriesSplit(4)},
    "shuffled": {"cv": lambda: model_selection.ShuffleSplit(3, random_state=0)},
    "halves": {"cv": 2},
    "ridges": {"lambda2": [0.1, 0.01]},
    "lambda0": {"lambda0": "grid", "lambda2": 0.01},
    "rows drawn again": {
        "cv": [(np.random.default_rng(i).integers(0, 90, 90), np.arange(90, N)) for i in range(3)]
    },
    "lasso in a box": {"lambda1": 0.05, "lower": -1.0},
}


@pytest.mark.parametrize(("split", "manner"), thinned(2, SPLITS, MANNERS), indirect=["manner"])
def test_scores_of_every_split_are_those_of_folds_alone(split, manner, monkeypatch):
    options = SPLITS[split]
    cv = options.get("cv", 4)
    folds = {"cv": cv() if callable(cv) else cv}
    assert_same(monkeypatch, DESIGNS["F"], Y, **options | folds)


OF_CLASSES = {
    "": {},
    "sample_weight": {"sample_weight": WEIGHTS},
    "class_weight": {"class_weight": "balanced"},
    "n_jobs": {"n_jobs": 2},
    "fit_intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize(("options", "design"), thinned(2, OF_CLASSES, ("F", "sparse")))
def test_scores_of_another_loss_are_those_of_folds_alone(options, design, monkeypatch):
    more = {"cv": 3, "loss": "logistic", "lambda2": 0.02, **OF_CLASSES[options]}
    assert_same(monkeypatch, DESIGNS[design], Z, **more)


def test_a_fold_never_sees_the_responses_it_leaves_out(manner):
    ids = np.arange(N) % 4
    other = np.where(ids == 2, 5.0 * np.random.default_rng(1).standard_normal(N), Y)
    a, b = (l0path.cv_fit(X, y, cv=ids, max_k=8) for y in (Y, other))
    for s, t in zip(a._fits[2], b._fits[2], strict=True):
        assert np.array_equal(s.support, t.support)
        np.testing.assert_allclose(s.beta, t.beta, rtol=1e-8, atol=1e-10)


def test_folds_together_read_X_less_often(monkeypatch):
    reads, plain = [], training_set.GramRows.fetch

    def counted(self, J, make):
        def noted(new, out):
            reads.append(len(new))
            make(new, out)

        return plain(self, J, noted)

    monkeypatch.setattr(training_set.GramRows, "fetch", counted)
    passes = {}
    for worth in (0, 1 << 60):
        monkeypatch.setattr(together, "WORTH", worth)
        reads.clear()
        cv = l0path.cv_fit(X, Y, cv=8, max_k=10, random_state=0, lambda2=0)
        passes[worth] = len(reads), sum(reads)
    assert passes[0][0] < 0.5 * passes[1 << 60][0]
    assert passes[0][1] == passes[1 << 60][1]  # the same columns
    assert (
        "model" not in cv._source.extra and "model" not in l0path.fit(X, Y, max_k=1)._source.extra
    )


def test_a_group_passes_on_errors_warnings_and_the_order_of_its_folds():
    def calls(gather):
        def call(i):
            for j in range(i):
                gather.bring([j, 10 + i], seen.append)
            warnings.warn(f"fold {i}", UserWarning, stacklevel=1)
            return i

        return [lambda i=i: call(i) for i in range(4)]

    for slots in (1, 2):
        seen = []
        results, told = together.run_together(calls, 4, Clock(), slots)
        assert results == [0, 1, 2, 3]
        assert [text for caught in told for _, text in caught] == [f"fold {i}" for i in range(4)]
        assert seen == [[0, 11, 12, 13], [1, 12, 13], [2, 13]]

    def failing(gather):
        return [lambda: 1, lambda: gather.bring([1], lambda columns: 1 / 0)]

    with pytest.raises(ZeroDivisionError):
        together.run_together(failing, 2, Clock(), 1)


def test_ctrl_c_ends_a_group_and_a_deadline_runs_folds_one_by_one(monkeypatch):
    monkeypatch.setattr(together, "WORTH", 0)
    A = np.random.default_rng(0).standard_normal((300, 3000))
    l0path.cv_fit(A, A[:, 0], cv=2, max_k=2)
    sent = []

    def press():
        while not any(thread.name.startswith("l0path fold") for thread in threading.enumerate()):
            time.sleep(0.001)
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    with pytest.raises(KeyboardInterrupt, match="interrupted after 0 of 10 folds"):
        l0path.cv_fit(
            A, np.random.default_rng(1).standard_normal(300), cv=10, max_k=100, random_state=0
        )
    assert time.perf_counter() - sent[0] < 10
    presser.join()
    assert not any(thread.name.startswith("l0path fold") for thread in threading.enumerate())
    called = []
    monkeypatch.setattr(run, "run_together", lambda *a: called.append(a))
    some = l0path.cv_fit(X, Y, cv=3, max_k=2, lambda2=0, time_limit=100)
    assert some.folds.shape == (3, 3)
    assert not called


def test_separation_in_a_fold_is_told_once():
    y = np.where(X[:, 50] > 0, "yes", "no")
    with pytest.warns(SeparationWarning) as caught:
        l0path.cv_fit(X, y, cv=3, loss="logistic", max_k=3, lambda2=0)
    assert len(caught) == 1


def test_blas_is_held_to_one_thread_from_any_python_thread():
    seen = []

    def work():
        with threads.one_blas_thread():
            seen.extend(
                info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"
            )

    with threads.one_blas_thread():
        pass
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert set(seen) == {1}
