"""Sums of the long benchmarks that are stored in the repository."""

import re
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
        stored.add(one, question.KEYS, question.run(cell, range(2)))
    stored.add(many, question.KEYS, question.run(second, range(2)))
    stored.add(many, question.KEYS, question.run(first, range(1)))
    done = stored.counted(many)
    assert done == {first.number: 1, second.number: 2}
    stored.add(many, question.KEYS, question.run(first, range(done[first.number], 2)))
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


def test_a_row_against_a_peer_replaces_the_older_one(benchmarks, tmp_path):
    import peer_table
    import stored

    row = {"peer": "abess", "data": "squared, 5 x 3, iid"}
    peer_table.keep("", "speed.py", **row, ratios=[9.0])  # without a folder nothing is kept
    assert not list(tmp_path.iterdir())
    peer_table.keep(tmp_path, "speed.py", **row, ratios=[9.0])
    peer_table.keep(tmp_path, "a/speed.py", **row, ratios=[0.2, 0.5, 4.0], seconds=2.0)
    pairs = [(1.0, 1.0), (0.9, 1.0), (1.0, 0.9), (1.0, 1.0)]
    peer_table.keep(tmp_path, "responses.py", peer="abess", data="gamma", known=pairs, ratios=[1.5])
    peer_table.keep(tmp_path, "quality.py", peer="L0Learn", data="2", sizes=5, not_worse=1.0)
    table = stored.load(tmp_path / "peers.csv").set_index("data")
    assert len(table) == 3
    assert table.loc["squared, 5 x 3, iid", ["ratio", "script"]].tolist() == [0.5, "speed.py"]
    assert table.loc["gamma", ["sizes", "not_worse", "better"]].tolist() == [4, 0.75, 0.25]
    shown = peer_table.losses_first(table.reset_index())
    assert shown["time to the peer's"].tolist() == ["1.50", "0.50", ""]
    assert table.index[peer_table.lost(table)].tolist() == ["gamma"]
    assert peer_table.told(table)[0].startswith("l0path is slower in 1 of 2 rows")


def test_tables_go_between_their_marks_of_the_page_that_has_them(benchmarks, monkeypatch, tmp_path):
    import results

    pages = [tmp_path / "one.md", tmp_path / "two.md"]
    for page, mark in zip(pages, ("near", "far"), strict=True):
        page.write_text(f"a\n<!-- {mark}: begin -->\nold\n<!-- {mark}: end -->\nb\n", "utf-8")
    monkeypatch.setattr(results, "PAGES", pages)
    before = pages[0].read_text("utf-8")
    results.put("far", "new")
    assert pages[0].read_text("utf-8") == before
    made = "a\n<!-- far: begin -->\n\nnew\n\n<!-- far: end -->\nb\n"
    assert pages[1].read_text("utf-8") == made


def test_marks_of_the_pages_are_there_once(benchmarks):
    import results

    texts = [page.read_text("utf-8") for page in results.PAGES]
    scripts = "".join(path.read_text("utf-8") for path in BENCHMARKS.glob("*.py"))
    marks = set(re.findall(r'\bput\("([\w-]+)"', scripts))
    assert len(marks) > 8
    for mark in marks:
        assert sum(text.count(f"<!-- {mark}: begin -->") for text in texts) == 1, mark
        assert sum(text.count(f"<!-- {mark}: end -->") for text in texts) == 1, mark


def real_rows():
    """Stored sums of two splits of two data sets of numbers and of one with classes."""
    rows = []
    for data, classes, scores in (
        ("one", False, {"relaxed lasso": (0.5, 0.7), "MCP": (0.4, 0.3), "ridge": (0.55, 0.75)}),
        ("two", False, {"relaxed lasso": (0.2, 0.2), "MCP": (0.3, 0.3), "ridge": (0.1, 0.1)}),
        ("three", True, {"relaxed lasso": (0.8, 0.9), "ridge": (0.9, 0.8)}),
    ):
        base = scores["relaxed lasso"]
        for method, values in scores.items():
            for value, other in zip(values, base, strict=True):
                gap = {"score": value, "gap": value - other, "gap2": (value - other) ** 2}
                keys = {"data": data, "n": 50, "p": 4, "classes": classes, "method": method}
                rows.append(keys | gap | {"size": 3})
    return pd.DataFrame(rows)


def test_real_data_in_short(benchmarks, tmp_path):
    import real_data
    import stored

    stored.add(tmp_path / "real_data.csv", real_data.KEYS, real_rows())
    table = real_data.compared(stored.load(tmp_path / "real_data.csv"))
    # of "one", MCP: gaps -0.1 and -0.4, mean -0.25, standard error 0.15 sqrt(1 + 2/3)
    one = table[(table["data"] == "one") & (table["method"] == "ridge")].iloc[0]
    assert one["gap"] == pytest.approx(0.05) and one["better"]
    assert not table[(table["data"] == "one") & (table["method"] == "MCP")]["worse"].any()
    shown, note = real_data.in_short(table)
    shown = shown.set_index("method")
    assert shown.loc["MCP", "numbers: worse, better"] == "0, 1"
    assert shown.loc["MCP", "classes: AUC"] == ""
    assert shown.loc["ridge", "numbers: mean rank"] == "2.00"
    assert shown.loc["relaxed lasso", "classes: AUC"] == "0.850"
    assert "Data sets of numbers: 2 with 2 splits" in note


def test_rules_of_choice_are_those_of_cv_fit(benchmarks):
    import choice_rules

    import l0path

    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 8))
        X[:, 5] = X[:, 4]  # of a copy no model has both: sizes whose models are equal
        y = X[:, 0] + 0.5 * X[:, 1] + 2.0 * rng.standard_normal(40)
        cv = l0path.cv_fit(X, y, cv=5, random_state=seed, progress=False)
        errors = cv.folds.to_numpy()
        table = cv.details[["k", "lambda2", "relax"]]
        table = table.assign(nonzeros=(cv.coef("all", full=True).to_numpy()[1:] != 0).sum(axis=0))
        found = choice_rules.choices(errors, table)
        assert found["min"] == cv.select("min")
        assert found["sparse"] == cv.select("sparse")
        for rule in ("min", "sparse"):
            at, more = found[rule], found[f"{rule}, more shrinkage"]
            allowed = []
            for i, row in enumerate(table.itertuples()):
                gaps = errors[i] - errors[at]
                near = gaps.mean() <= gaps.std(ddof=1) / np.sqrt(5)
                if near and row.k == table["k"].iloc[at]:
                    allowed.append((row.lambda2, row.relax, i))
            assert more == max(allowed)[2]


def test_summary_of_rules_of_choice(benchmarks, tmp_path):
    import choice_rules
    import stored

    errors = np.array([[1.0, 2.0], [1.2, 1.9], [3.0, 3.0]])
    table = pd.DataFrame({"k": [1, 1, 0], "lambda2": [0.0, 1.0, 0.0], "relax": 1.0})
    table["nonzeros"] = [1, 1, 0]
    file = tmp_path / "choice_rules.csv"
    for number, truth in ((0, [2.0, 1.0, 4.0]), (1, [2.0, 4.0, 4.0]), (130, [1.0, 3.0, 4.0])):
        found = choice_rules.choices(errors, table)
        rows = choice_rules.rows_of(number, table, np.array(truth), found)
        stored.add(file, choice_rules.KEYS, pd.concat([rows, rows]))
    shown = choice_rules.summary(stored.load(file)).set_index("rule")
    more = shown.loc["min, more shrinkage"]
    assert more["low"] == pytest.approx(1.0) and more["medium"] == pytest.approx(3.0)
    assert more["log"] == pytest.approx(np.log(3.0) / 3)
    assert shown.loc["min", "its error"] == 0.0 and more["features"] == 1.0
