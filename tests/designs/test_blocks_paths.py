"""Paths on designs in blocks are those of the matrix in memory, and keep to their budgets."""

import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from design_checks import peak
from disk_sources import SOURCES, genotypes, parquet_of, saved, write_bed
from recomputed import objective_of
from thinning import thinned

import l0path
from l0path.designs import blocks, convert, polynomial
from l0path.engine.request import request
from l0path.engine.run import run as fit_request
from l0path.exact import tree
from l0path.working_set.gram import GramModel

# -------------------- paths


def problem(seed, n, p, loss, dtype="float64"):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.normal(size=(n, p)), dtype=dtype)
    signal = X[:, : p : p // 4].astype(float).sum(axis=1)
    if loss in ("squared", "huber"):
        return X, signal + rng.normal(size=n)
    return X, rng.poisson(np.exp(0.3 * signal)) if loss == "poisson" else rng.random(n) < 1 / (
        1 + np.exp(-signal)
    )


def assert_same_path(a, b):
    """The same supports, objectives and coefficients to 1e-9."""
    assert [s.support.tolist() for s in a._solutions] == [s.support.tolist() for s in b._solutions]
    np.testing.assert_allclose(a.details.objective, b.details.objective, rtol=1e-9)
    assert a.details.optimality.tolist() == b.details.optimality.tolist()
    for s, t in zip(a._solutions, b._solutions, strict=True):
        np.testing.assert_allclose(s.beta, t.beta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "loss"),
    thinned(
        2,
        ["float64", "float32"],
        ["squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"],
    ),
)
def test_paths_are_those_of_the_matrix_in_memory(tmp_path, loss, dtype):
    X, y = problem(7, 120, 60, loss, dtype)
    assert_same_path(
        l0path.fit(blocks(saved(tmp_path, X)), y, loss=loss, lambda2=1e-3, max_k=6),
        l0path.fit(X.astype(float), y, loss=loss, lambda2=1e-3, max_k=6),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"lambda0": "grid", "max_k": 5},
        {"algorithm": "cd", "max_k": 5},
        {"algorithm": "apg", "max_k": 4},
        {"algorithm": "dual_iht", "max_k": 4, "lambda2": 0.01},
        {"algorithm": "primal_dual", "max_k": 4, "lambda2": 0.01},
        {"algorithm": "feature_generating", "max_k": 4, "lambda2": 0.01},
        {"lower": -1.0, "upper": 1.0, "max_k": 5},
        {"lambda2": l0path.grid(n=3), "max_k": 4},
        {"always_include": [3], "exclude": [0, 5], "max_k": 5},
        {"fit_intercept": False, "max_k": 5},
        {"standardize": False, "max_k": 5},
    ],
    ids=str,
)
def test_options_work_on_blocks(tmp_path, options):
    X, y = problem(8, 100, 40, "squared")
    assert_same_path(
        l0path.fit(blocks(saved(tmp_path, X)), y, **options), l0path.fit(X, y, **options)
    )


def test_weights_offset_and_bounds_work_on_blocks(tmp_path):
    X, y = problem(9, 100, 30, "squared")
    rng = np.random.default_rng(10)
    options = {
        "sample_weight": np.round(rng.uniform(0, 2, 100)),
        "offset": rng.normal(size=100),
        "max_k": 5,
        "lambda2": 0.01,
        "certify": True,
    }
    a, b = l0path.fit(blocks(saved(tmp_path, X)), y, **options), l0path.fit(X, y, **options)
    assert_same_path(a, b)
    np.testing.assert_allclose(a.details.lower_bound, b.details.lower_bound, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_follows_a_fit_works_on_blocks(tmp_path, loss):
    X, y = problem(11, 150, 30, loss)
    file = saved(tmp_path, X)
    options = {"cv": 4, "loss": loss, "lambda2": 1e-3, "max_k": 4, "random_state": 0}
    a, b = l0path.cv_fit(blocks(file), y, **options), l0path.cv_fit(X, y, **options)
    np.testing.assert_allclose(a.scores.cv_mean, b.scores.cv_mean, rtol=1e-9)
    model, other = a.model("min"), b.model("min")
    np.testing.assert_allclose(model.predict(blocks(file)), other.predict(X), rtol=1e-8)
    np.testing.assert_allclose(a.predict(blocks(file)), b.predict(X), rtol=1e-8)
    np.testing.assert_allclose(
        model.certify(time_limit=None).lower_bound,
        other.certify(time_limit=None).lower_bound,
        rtol=1e-6,
    )
    np.testing.assert_allclose(model.summary().table.coef, other.summary().table.coef, rtol=1e-8)
    pd.testing.assert_frame_equal(model.alternatives(3), other.alternatives(3), rtol=1e-6)
    np.testing.assert_allclose(model.refit().params, other.refit().params, rtol=1e-6)
    a.save(tmp_path / "path.l0")
    again = l0path.load(tmp_path / "path.l0")
    assert objective_of(again, k=2, X=blocks(file), y=y) == pytest.approx(objective_of(a, k=2))


def test_folds_in_processes_read_the_file_themselves(tmp_path):
    X, y = problem(12, 120, 20, "squared")
    options = {"cv": 3, "max_k": 3, "random_state": 0, "n_jobs": 2}
    np.testing.assert_allclose(
        l0path.cv_fit(blocks(saved(tmp_path, X)), y, **options).scores.cv_mean,
        l0path.cv_fit(X, y, **options).scores.cv_mean,
        rtol=1e-9,
    )


def test_a_fit_to_genotypes(tmp_path):
    rng = np.random.default_rng(13)
    copies, A = genotypes(rng, 300, 200)
    y = A[:, 20] - A[:, 120] + 0.3 * rng.normal(size=300)
    path = l0path.fit(blocks(write_bed(tmp_path, copies)), y, max_k=4)
    assert_same_path(path, l0path.fit(A, y, max_k=4))
    assert path.model(k=2).features == ["rs20", "rs120"]


@pytest.mark.parametrize(
    ("loss", "kind"),
    thinned(2, ("squared", "logistic"), ("zarr square", "zarr wide", "dask", "parquet", "npy C")),
)
def test_paths_of_chunked_sources(tmp_path, kind, loss):
    X, y = problem(14, 90, 30, loss)
    assert_same_path(
        l0path.fit(blocks(SOURCES[kind](tmp_path, X)), y, loss=loss, lambda2=1e-3, max_k=4),
        l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=4),
    )


def test_files_with_names_are_predicted_by_name(tmp_path):
    rng = np.random.default_rng(31)
    names = [f"g{j}" for j in range(12)]
    frame = pd.DataFrame(rng.normal(size=(60, 12)), columns=names)
    y = frame.g2 - 2 * frame.g7 * frame.g3 + 0.1 * rng.normal(size=60)

    def design(columns, stem):
        frame.reindex(columns=columns, fill_value=0.0).to_csv(tmp_path / f"{stem}.csv", index=False)
        return blocks(convert(tmp_path / f"{stem}.csv", tmp_path / f"{stem}.npy", dtype="float64"))

    same, turned, fewer = (
        design(names, "same"),
        design(["more", *names[::-1]], "turned"),
        design([name for name in names if name != "g2"], "fewer"),
    )
    for path in (
        l0path.fit(same, y, max_k=3),
        l0path.fit(frame, y, max_k=3),
        l0path.fit(polynomial(frame), y, max_k=3),
    ):
        want = path.predict(frame.to_numpy())
        for X in (same, turned, frame[names[::-1]]):
            np.testing.assert_allclose(path.predict(X), want, rtol=1e-12)
        np.testing.assert_allclose(
            path.model(k=2).refit(X=turned, y=y).params, path.model(k=2).refit(X=same, y=y).params
        )
        np.testing.assert_allclose(
            path.validate(turned, y).scores.cv_mean, path.validate(same, y).scores.cv_mean
        )
        with pytest.raises(ValueError, match="X lacks 1 of the columns that the model uses: g2"):
            path.predict(fewer)
    back, path = names[::-1], l0path.fit(frame.to_numpy(), y, max_k=3)  # that knew no names
    np.testing.assert_allclose(
        path.predict(design(back, "back"), k=2),
        path.predict(frame[back].to_numpy(), k=2),
        rtol=1e-12,
    )


def test_equal_and_constant_columns_are_noticed(tmp_path):
    X, y = problem(15, 80, 200, "squared", "float32")
    X[:, 150], X[:, 160] = X[:, 0], 2.0
    path = l0path.fit(blocks(saved(tmp_path, X)), y, max_k=3)
    assert any("x150" in note for note in path.notes) and any("x160" in note for note in path.notes)


# -------------------- budgets


def test_a_default_path_reads_the_file_a_few_times(tmp_path):
    X, y = problem(16, 100, 6000, "squared", "float32")
    design = blocks(saved(tmp_path, X))
    path = l0path.fit(design, y, max_k=10)
    assert (path.details.optimality != "unverified").all()
    assert design.passes <= min(
        10, path.rounds.reads.max()
    )  # moments, equal columns and X'y are one read


def test_products_that_were_foreseen_are_not_read_again(tmp_path):
    X, _ = problem(17, 50, 300, "squared")
    design, R = blocks(saved(tmp_path, X)), np.random.default_rng(18).normal(size=(50, 3))
    design.foresee(R)
    design.moments(np.full(50, 0.02), True)
    np.testing.assert_allclose(design.correlate(R[:, 1]), X.T @ R[:, 1], atol=1e-12)
    np.testing.assert_allclose(design.correlate(R[:, [0, 2]]), X.T @ R[:, [0, 2]], atol=1e-12)
    assert design.passes == 1
    design.correlate(R)  # handed out once
    assert design.passes == 2


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gram_rows_stay_within_the_budget(tmp_path, loss):
    X, y = problem(19, 80, 5000, loss, "float32")
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    design.memory_limit = 400_000
    assert design.gram_rows == 6
    path, _, model = fit_request(request(design, y, loss=loss, lambda2=1e-2, max_k=10))
    held = (model if loss == "squared" else model.flat()).rows.shape[0]
    assert held <= 10  # the six that fit, or one support's
    assert_same_path(path, l0path.fit(X.astype(float), y, loss=loss, lambda2=1e-2, max_k=10))


def test_gram_rows_of_a_fold_go_with_it(tmp_path, monkeypatch):
    X, y = problem(20, 90, 300, "squared", "float32")
    alive, seen, start = weakref.WeakSet(), [], GramModel.__init__

    def watched(self, problem):
        alive.add(self)
        seen.append(len(alive))
        start(self, problem)

    monkeypatch.setattr(GramModel, "__init__", watched)
    l0path.cv_fit(blocks(saved(tmp_path, X)), y, cv=4, max_k=3, random_state=0)
    assert seen == [1] * 5  # never two at a time: that of all rows, and one a fold


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_long_columns_do_not_fill_the_memory_with_working_ones(tmp_path, loss):
    n, K = 12_000, 6
    X, y = problem(27, n, 150, loss, "float32")
    design = blocks(saved(tmp_path, X))
    design.memory_limit = 8 * n * 20  # twenty columns of float64
    path = l0path.fit(design, y, loss=loss, lambda2=1e-3, max_k=K)
    assert (
        path.rounds.working.iloc[-1] <= 20 + 6 * 4 + 2 * K
    )  # the first ones, looks at residuals, violators; without a limit there are 100 at the start
    assert_same_path(path, l0path.fit(X, y, loss=loss, lambda2=1e-3, max_k=K))


def test_a_certificate_reads_a_file_for_many_nodes_at_a_time(tmp_path, monkeypatch):
    X, y = problem(28, 80, 1500, "squared", "float32")
    y = y + np.random.default_rng(29).normal(size=80)
    monkeypatch.setattr("l0path.exact.contest.COPIED_WHOLE", 0)  # too large to be copied
    monkeypatch.setattr("l0path.relaxation.path_bounds.COPIED_ENTRIES", 0)
    monkeypatch.setattr("l0path.exact.nodes.columns.MOST_PRODUCTS", 0)  # nor for products
    found, reads, read = [], [], tree.Tree._read

    def counted(self, nodes):
        reads[-1] += 1
        return read(self, nodes)

    monkeypatch.setattr(tree.Tree, "_read", counted)
    for design in (X, blocks(saved(tmp_path, X))):
        path = l0path.fit(design, y, lambda2=0.1, max_k=3)
        reads.append(0)
        found.append(path.certify(k=3, time_limit=None))
    assert (
        found[0].proven
        and found[1].proven
        and found[0].incumbent == pytest.approx(found[1].incumbent, rel=1e-9)
    )
    assert found[0].nodes > 100 and reads[1] < 0.9 * reads[0], reads


def test_a_pass_allocates_little(tmp_path):
    X = np.zeros((500, 40_000), dtype=np.float32, order="F")  # 80 MB
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    R, weights = np.ones((500, 20)), np.full(500, 0.002)
    for task in (
        lambda: design.correlate(R),
        lambda: design.moments(weights, True),
        design.nonfinite,
        lambda: design.columns(np.arange(200)),
    ):
        assert peak(task) < 8 * 40_000 * 20 + 20e6


def test_columns_are_kept_for_reuse_within_the_budget(tmp_path):
    X, _ = problem(20, 1000, 400, "squared")
    design = blocks(saved(tmp_path, X), memory_limit="10MB")
    np.testing.assert_array_equal(design.columns(np.arange(400)), X)
    assert 0 < design._held <= 10_000_000 // 8 and design._held == sum(
        column.nbytes for column in design._kept.values()
    )
    np.testing.assert_array_equal(design.columns(np.arange(400)[::-1]), X[:, ::-1])
    with pytest.raises(IndexError, match="column 400 is out of range"):
        design.columns([400])


def test_a_design_can_be_pickled(tmp_path):
    X, _ = problem(21, 40, 10, "squared")
    copies, A = genotypes(np.random.default_rng(22), 40, 10)
    for source, wanted in (
        (saved(tmp_path, X), X),
        (parquet_of(tmp_path, X, 20), X),
        (write_bed(tmp_path, copies), A),
    ):
        again = pickle.loads(pickle.dumps(blocks(source)))
        np.testing.assert_allclose(again.columns(np.arange(10)), wanted, rtol=1e-14)


def test_two_fits_at_once(tmp_path):
    X, y = problem(23, 80, 300, "squared")
    design, wanted = blocks(saved(tmp_path, X)), l0path.fit(X, y, max_k=4)
    for path in threads_of(lambda: l0path.fit(design, y, max_k=4)):
        assert_same_path(path, wanted)


def threads_of(call):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(3)]]
