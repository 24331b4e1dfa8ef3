"""The page of `explore` for every kind of response, models side by side, files, and intervals."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import l0path


def contents(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.DOTALL)[1])


def columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60)


def read_downloads(browser):
    """Let a click on a download keep its text, in place of writing a file."""
    browser.execute_script(
        "window.kept = []; window.Blob = function (parts) { kept.push(parts.join('')); };"
        "URL.createObjectURL = function () { return '#'; };"
    )


def table_of(browser, name):
    return browser.execute_script(
        f"return [...document.querySelectorAll('#{name} tr')].map(tr => "
        "[...tr.children].map(td => td.textContent))"
    )


def click(browser, name):
    browser.execute_script(f"document.getElementById('{name}').click()")


@pytest.fixture(scope="module")
def cv():
    X, y = columns()
    return l0path.cv_fit(X, y, cv=3, max_k=3, random_state=0, certify=False, lambda2=0)


def test_intervals_are_those_of_predict_interval(cv):
    X, y = columns()
    band = contents(cv.explore(alternatives=0))["band"]
    assert len(band["models"]) == len(cv) and "90%" in band["note"]
    for i in range(len(cv)):
        predicted = cv.predict(X, index=i)
        wanted = cv.predict_interval(X, index=i)
        assert len(band["models"][i]) == 30
        for middle, observed, low, high in band["models"][i]:
            j = int(np.argmin(np.abs(y - observed) + np.abs(predicted - middle)))
            assert middle == pytest.approx(predicted[j], rel=1e-3, abs=1e-3)
            assert (low, high) == pytest.approx(tuple(wanted.loc[j]), rel=1e-3, abs=1e-3)


def test_no_intervals_without_folds_or_for_classes(cv):
    X, y = columns()
    assert contents(l0path.fit(X, y, max_k=1).explore(alternatives=0))["band"] is None
    classes = l0path.cv_fit(X, y > 0, cv=3, max_k=1, lambda2=0.01, loss="logistic", random_state=0)
    assert contents(classes.explore(alternatives=0))["band"] is None


def test_several_responses_and_classes_have_their_coefficients():
    X, y = columns()
    path = l0path.fit(X, np.column_stack([y, X[:, 2] - y]), max_k=2, certify=False)
    shown = contents(path.explore())
    assert shown["responses"] == ["y0", "y1"] and not shown["classes"]
    assert shown["rows"][1]["alternatives"]
    for i, row in enumerate(shown["rows"]):
        coef = path.coef(index=i)
        np.testing.assert_array_equal(np.array(row["b"]).T, coef.iloc[1:].to_numpy().reshape(-1, 2))
        assert row["intercept"] == coef.iloc[0].tolist() and row["n"] == len(row["at"])


def test_ordered_classes_have_thresholds():
    X, y = columns()
    path = l0path.fit(X, np.digitize(y, [-0.7, 0.7]), loss="ordinal", max_k=1)
    shown = contents(path.explore(alternatives=0))
    for i, row in enumerate(shown["rows"]):
        coef = path.coef(index=i)
        assert dict(row["thresholds"]) == coef.iloc[:2].to_dict() and row["intercept"] is None
        assert row["b"] == coef.iloc[2:].tolist() and shown["positive"] is None


def test_a_page_of_many_columns_is_small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5000), dtype=np.float32)
    names = [f"expression of gene {j}" for j in range(5000)]
    path = l0path.fit(X, X[:, 0] + rng.standard_normal(120), feature_names=names, max_k=40)
    page = path.explore(alternatives=0)
    assert len(path) > 30 and len(page.html.encode()) < 1_000_000


def test_two_models_stand_side_by_side(look, cv):
    browser = look(cv.explore(alternatives=0), width=390)
    browser.execute_script("document.querySelector('#size').value = 1")
    browser.execute_script("document.querySelector('#size').dispatchEvent(new Event('input'))")
    click(browser, "keep")
    click(browser, "more")
    heads, *rows = table_of(browser, "sidetable")
    assert heads == ["", "kept: k = 1", "chosen: k = 2"]
    rows, one, two = {row[0]: row[1:] for row in rows}, cv.coef(k=1), cv.coef(k=2)
    for name, b in two.items():
        kept = f"{one[name]:.4g}" if name in one else ""
        told = [value.replace("−", "-") for value in rows[name]]
        assert [v and float(v) for v in told] == [kept and float(kept), float(f"{b:.4g}")]
    assert rows["features"] == ["1", "2"] and "held-out deviance" in rows
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    click(browser, "drop")
    assert browser.execute_script("return document.getElementById('sidebox').hidden")


def test_files_have_the_chosen_model(look, cv):
    X, _ = columns()
    browser = look(cv.explore(alternatives=0))
    read_downloads(browser)
    k = int(browser.execute_script("return document.getElementById('value').textContent")[4:])
    click(browser, "csv")
    click(browser, "python")
    table, code = browser.execute_script("return kept")
    found = pd.read_csv(io.StringIO(table), index_col=0)["coefficient"]
    pd.testing.assert_series_equal(
        found, cv.coef(k=k), check_names=False, rtol=1e-15, check_index_type=False
    )
    space = {}
    exec(code, space)
    data = {f"x{j}": X[:, j] for j in range(6)}
    np.testing.assert_allclose(space["predict"](data), cv.predict(X, k=k), rtol=1e-12)


@pytest.mark.parametrize("kind", ["formula", "logistic"])
def test_code_predicts_with_terms_and_links(look, kind):
    X, y = columns()
    table = pd.DataFrame(X[:, :3], columns=["a", "odd name", 'say "b"'])
    table["y"], table["c"] = y > 0 if kind == "logistic" else y, np.where(X[:, 3] > 0, "u", "v")
    if kind == "formula":
        path = l0path.fit("y ~ a*C(c) + np.exp(a)", table, max_k=2, certify=False)
    else:
        inputs = table.iloc[:, :3]
        path = l0path.fit(inputs, table["y"], loss="logistic", lambda2=0.01, max_k=2)
    browser = look(path.explore(alternatives=0))
    read_downloads(browser)
    for _ in range(3):
        click(browser, "more")
    click(browser, "python")
    click(browser, "csv")
    code, rows = browser.execute_script("return kept")
    space = {}
    exec(code, space)
    wanted = path.predict(table if kind == "formula" else inputs, index=len(path) - 1)
    np.testing.assert_allclose(space["predict"](table), wanted, rtol=1e-12)
    names = pd.read_csv(io.StringIO(rows))["feature"].tolist()
    assert names == path.coef(index=len(path) - 1).index.tolist()


def test_a_class_is_chosen_from_a_list(look):
    X, y = columns()
    path = l0path.fit(X, np.digitize(y, [-0.7, 0.7]), loss="multinomial", max_k=1, lambda2=0.01)
    browser = look(path.explore(alternatives=0))
    browser.execute_script(
        "var list = document.getElementById('response'); list.value = 2;"
        "list.dispatchEvent(new Event('change')); document.getElementById('more').click()"
    )
    coef, shown = path.coef(k=1).iloc[:, 2], table_of(browser, "coefs")[1:]
    assert [row[0] for row in shown] == [coef.index[1], "(Intercept)"]
    assert float(shown[0][1].replace("−", "-")) == float(f"{coef.iloc[1]:.4g}")
    read_downloads(browser)
    click(browser, "csv")
    saved = pd.read_csv(io.StringIO(browser.execute_script("return kept")[0]), index_col=0)
    np.testing.assert_allclose(saved, path.coef(k=1), rtol=1e-15)
    click(browser, "python")
    space = {}
    exec(browser.execute_script("return kept")[1], space)
    data = {f"x{j}": X[:, j] for j in range(6)}
    np.testing.assert_allclose(space["predict"](data), path.predict(X, k=1), rtol=1e-12)


RESPONSES = {
    "several": lambda y, z: (np.column_stack([y, z]), {"fit_intercept": False}),
    "offset": lambda y, z: (np.column_stack([y, z]), {"offset": np.column_stack([z, y])}),
    "ordinal": lambda y, z: (np.digitize(y, [-0.7, 0.7]), {"loss": "ordinal", "lambda2": 0.01}),
    "cox": lambda y, z: (np.column_stack([np.exp(-y), z < 0.5]), {"loss": "cox"}),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_code_of_other_responses_predicts(look, kind):
    X, y = columns()
    response, options = RESPONSES[kind](y, X[:, 2] + 0.3 * np.cos(9 * y))
    path = l0path.fit(X, response, max_k=2, certify=False, **options)
    browser = look(path.explore(alternatives=0))
    read_downloads(browser)
    for _ in range(3):
        click(browser, "more")
    click(browser, "python")
    space, data = {}, {f"x{j}": X[:, j] for j in range(6)}
    exec(browser.execute_script("return kept")[0], space)
    offset = {"offset": options["offset"]} if kind == "offset" else {}
    wanted = path.predict(X, index=len(path) - 1, **offset)
    np.testing.assert_allclose(space["predict"](data, **offset), wanted, rtol=1e-12, atol=1e-15)


def test_numbers_beside_the_chosen_model_hide_neither_points_nor_bars(look):
    X, y = columns()
    cv = l0path.cv_fit(X, y, cv=3, random_state=0, certify=False, lambda2=0)
    browser = look(cv.explore(alternatives=0))
    for _ in range(len(cv)):
        found = browser.execute_script(
            "return Array.from(document.querySelectorAll('figure svg')).slice(1).map(function (s) {"
            " var box = function (node) { var b = node.getBoundingClientRect();"
            " return [b.left, b.right, b.top, b.bottom]; };"
            " var all = function (name) { return Array.from(s.querySelectorAll(name)).map(box); };"
            " return [Array.from(s.querySelectorAll('rect.plate + text')).map(box),"
            " all('circle[r=\"2.2\"]').concat(all('line[stroke=\"var(--line)\"]'))]; });"
        )
        assert len(found) >= 2
        for texts, others in found:
            assert texts
            for a in texts:
                assert all(
                    a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2] for b in others
                )
        click(browser, "less")
