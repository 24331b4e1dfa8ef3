"""Sums of the long benchmarks that are stored in the repository."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def without_r(monkeypatch):
    """The simulations with a stand-in for R's glmnet: nothing, and small marginal slopes."""
    import lasso_question as question

    def no_lasso(samples):
        out = []
        for data in samples:
            X, y, folds = data.X, data.y, data.folds
            parts = [(X, y), *((X[folds != f], y[folds != f]) for f in range(question.FOLDS))]
            slopes = [A.T @ b / (A * A).sum(axis=0) for A, b in parts]
            out.append(np.array([[0.0 * b, 0.1 * b] for b in slopes]).transpose(0, 2, 1))
        return out, [0.0] * len(samples)

    monkeypatch.setattr(question, "lasso_coefficients", no_lasso)
    return question


def test_continued_results_are_those_of_one_run(benchmarks, monkeypatch, tmp_path):
    import stored

    question = without_r(monkeypatch)
    one, many = tmp_path / "one.csv", tmp_path / "many.csv"
    first, second = question.cells()[7], question.cells()[15]
    for cell in (first, second):
        stored.add(one, question.KEYS, question.run(cell, range(4)))
    stored.add(many, question.KEYS, question.run(second, range(4)))
    stored.add(many, question.KEYS, question.run(first, range(1)))
    done = question.counted(many)
    assert done == {first.number: 1, second.number: 4}
    stored.add(many, question.KEYS, question.run(first, range(done[first.number], 4)))
    whole, added = stored.load(one), stored.load(many)
    columns = ["number", "tuning", "method", "count", "error", "gap", "gap2", "nonzeros", "f1"]
    pd.testing.assert_frame_equal(added[columns], whole[columns], rtol=1e-7)
    shown = [question.summary(question.compared(results)) for results in (whole, added)]
    pd.testing.assert_frame_equal(*shown, rtol=1e-7)


def test_standard_errors_follow_from_sums(benchmarks):
    import stored

    values = np.random.default_rng(0).normal(3.0, 0.1, size=12)
    found = stored.standard_error(12, values.sum(), (values**2).sum())
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(12), rel=1e-9)


@pytest.mark.parametrize("classes", [False, True])
def test_more_splits_begin_with_those_that_are_stored(benchmarks, classes):
    import real_data

    y = np.random.default_rng(0).integers(0, 2, size=50).astype(float)
    few, many = (real_data.splits_of(y, classes, count) for count in (2, 5))
    for one, other in zip(few, many[:2], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_all_cells_are_run_and_each_once(benchmarks):
    import lasso_question as question

    order, every = question.in_order(), [*question.cells(), *question.guided_cells()]
    assert sorted(cell.number for cell in order) == list(range(len(every)))
    assert {cell.setting for cell in order[:8]} == set(question.SETTINGS)


def test_a_store_of_further_settings_alone_has_tables(benchmarks, monkeypatch, tmp_path):
    import stored

    question, file = without_r(monkeypatch), tmp_path / "further.csv"
    stored.add(file, question.KEYS, question.run(question.guided_cells()[-1], range(2)))
    shown = question.tables(question.compared(stored.load(file)))
    assert shown[0]["setting"].tolist() == ["counter-example", "counter-example"]
    assert set(shown[0]["tuned by"]) == {"validation", "cv"}
