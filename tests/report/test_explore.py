"""The page of `explore`: the numbers in it, names that could break it, what may be missing; and in
a real browser its slider, keys, tables, contrast and widths.
"""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import l0path

HOSTILE = [
    "</script ><script>window.broken=1</script>",
    "a & b \"q\" 'r'",
    "größe π 😀 \u2028 z",
    "<!-- <img src=x onerror=window.broken=1>",
    "$data ${x} \\u0041",
    "x" * 120,
]


class Scripts(HTMLParser):
    """The text of the scripts of a page, as a browser cuts it."""

    def __init__(self, page):
        super().__init__()
        self.found, self.inside = [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "script":
            self.found.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1] += data


def contents(page):
    scripts = Scripts(page.html).found
    assert len(scripts) == 2
    return json.loads(scripts[0])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 14))
    return X, X[:, :6] @ np.array([2.0, -1.5, 1.2, 1.0, -0.8, 0.6]) + 0.5 * rng.standard_normal(90)


@pytest.fixture(scope="module")
def cv(data):
    X, y = data
    return l0path.cv_fit(
        X,
        y,
        cv=4,
        max_k=10,
        random_state=0,
        certify=True,
        feature_names=HOSTILE + [f"v{j}" for j in range(6, 14)],
    )


@pytest.fixture(scope="module")
def page(cv):
    return cv.explore(title="A <b>title</b> & more")


# -------------------- the numbers


def test_the_numbers_are_those_of_the_path(cv, page):
    shown, path = contents(page), cv.path
    assert shown["title"] == "A <b>title</b> & more" and len(shown["rows"]) == len(path)
    for i, row in enumerate(shown["rows"]):
        coef, scaled = path.coef(index=i).iloc[1:], path.coef(index=i, standardized=True).iloc[1:]
        assert [shown["names"][j] for j in row["at"]] == coef.index.tolist()
        np.testing.assert_allclose(row["b"], coef, rtol=1e-6)
        np.testing.assert_allclose(
            [b * shown["scale"][j] for j, b in zip(row["at"], row["b"], strict=True)],
            scaled,
            rtol=1e-5,
        )
        t, score = path.table.loc[i], cv.table.loc[i]
        for key, value in {
            "k": t.k,
            "objective": t.objective,
            "ratio": t.deviance_ratio,
            "bound": t.lower_bound,
            "gap": t.gap,
            "cv": score.cv_mean,
            "se": score.cv_se,
        }.items():
            assert row[key] == pytest.approx(value, rel=1e-6, abs=1e-12)
        found = path.alternatives(index=i, n=5)
        assert [a[:2] for a in row["alternatives"]] == found[["dropped", "added"]].values.tolist()
        np.testing.assert_allclose(
            [a[2] for a in row["alternatives"]], found["objective"], rtol=1e-6
        )
    assert {c["index"] for c in shown["choices"]} == {
        cv.index("min"),
        cv.index("1se"),
        *(path.index(rule) for rule in ("bic", "ebic", "aic")),
    }
    assert shown["start"] == cv.index("min") and shown["bounds"] and not shown["log"]


def test_only_columns_that_enter_are_held():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3000))
    path = l0path.fit(X, X[:, 7] - X[:, 2000], max_k=4)
    page = path.explore(alternatives=0)
    assert set(contents(page)["names"]) == set(path.coef().index[1:]) and len(page.html) < 60_000


def test_slices_grids_groups_and_classes(data):
    X, y = data
    slices = contents(l0path.fit(X, y, lambda2=[1.0, 0.1], max_k=3).explore(alternatives=1))
    assert (
        [s["rows"] for s in slices["slices"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        and "λ₂ = 0.1" in slices["slices"][1]["label"]
        and not slices["scoring"]
    )
    grid = l0path.fit(X, y, lambda0=[1.0, 0.1, 0.0], max_k=14)
    shown = contents(grid.explore(alternatives=1))
    assert (
        shown["log"]
        and [row["lambda0"] for row in shown["rows"]] == [1.0, 0.1, 0.0]
        and shown["rows"][2]["x"] == pytest.approx(0.1 / 3)
    )
    groups = contents(l0path.fit(X, y, groups={"a": [0, 1], "b": [2, 3, 4]}, max_k=3).explore())
    assert (
        groups["swapnote"] == "Not offered for groups."
        and {"a", "b"} <= set(groups["group_of"])
        and all(row["alternatives"] is None for row in groups["rows"])
    )
    assert groups["rows"][-1]["groups"] and len(set(groups["family"])) < len(groups["family"])
    classes = contents(
        l0path.fit(
            X, np.where(y > 0, "sick", "well"), loss="logistic", lambda2=0.1, max_k=1
        ).explore(alternatives=0)
    )
    assert classes["positive"] == "well" and classes["swapnote"].startswith("Not asked")


def test_what_limits_the_exchanges_is_said(data, tmp_path, monkeypatch):
    X, y = data
    path = l0path.fit(X, y, max_k=4)
    late = contents(path.explore(time_limit=1e-9))
    assert (
        all(row["alternatives"] is None for row in late["rows"])
        and "time_limit=1e-09" in late["swapnote"]
    )
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert "pass X= and y=" in contents(loaded.explore())["swapnote"]
    assert contents(loaded.explore(X=X, y=y))["rows"] == contents(path.explore())["rows"]
    with pytest.raises(ValueError, match="checksum"):
        loaded.explore(X=X + 1, y=y)
    plain, calls = l0path.Path.alternatives, []

    def pressed(self, **options):
        calls.append(options["index"])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, **options)

    monkeypatch.setattr(l0path.Path, "alternatives", pressed)
    shown = contents(path.explore())
    assert (
        sum(row["alternatives"] is not None for row in shown["rows"]) == 2
        and "interrupted" in shown["swapnote"]
        and calls[0] == shown["start"]
    )


def test_models_nearly_as_good_have_a_section(data):
    X, y = data
    path = l0path.fit(X, y, max_k=8)
    assert contents(path.explore(alternatives=0))["good"] is None
    found = path.near_best(k=4, within=0.3)
    good = contents(path.explore(alternatives=0, near_best=found))["good"]
    assert good["names"] == list(found.frequencies.index) and good["left"] == [0, 0]
    assert good["share"] == pytest.approx(found.frequencies.tolist(), rel=1e-6)
    assert good["substitutes"] == [list(one) for one in found.substitutes[:20]]
    assert len(good["rows"]) == len(found) > 1 and f"{len(found)} models" in good["said"]
    for (k, score, apart, signs), model, own in zip(
        good["rows"], found, found.table.apart, strict=True
    ):
        assert (k, score) == (4, pytest.approx(model.objective, rel=1e-6))
        assert apart == pytest.approx(own, rel=1e-5)
        coef = model.coef
        assert signs == [int(np.sign(coef.get(name, 0.0))) for name in good["names"]]
    with pytest.raises(TypeError, match="must be a ModelSet"):
        path.explore(near_best=3)
    with pytest.raises(ValueError, match="belongs to another path"):
        l0path.fit(X[:, 1:], y, max_k=3).explore(near_best=found)


def test_bad_arguments(cv, data, tmp_path):
    path, (X, y) = cv.path, data
    other = l0path.fit(X, y, max_k=2)
    for options, error, match in (
        ({"alternatives": -1}, ValueError, "alternatives=-1"),
        ({"alternatives": True}, ValueError, "alternatives=True"),
        ({"time_limit": 0}, ValueError, "time_limit=0"),
        ({"cv": path}, TypeError, "CVPath"),
        ({"file": tmp_path}, IsADirectoryError, "is a folder"),
        ({"file": tmp_path / "no" / "a.html"}, FileNotFoundError, "there is no folder"),
    ):
        with pytest.raises(error, match=match):
            other.explore(**{"alternatives": 0, **options})
    with pytest.raises(ValueError, match="another path"):
        other.explore(cv=cv)


# -------------------- the page


def test_nothing_in_the_data_leaves_its_script(page):
    shown = contents(page)
    assert set(HOSTILE) <= set(shown["names"])
    assert "window.broken" not in re.sub(r"<script.*?</script>", "", page.html, flags=re.DOTALL)
    assert "<title>A &lt;b&gt;title&lt;/b&gt; &amp; more</title>" in page.html
    assert not re.search(r"(src|href|url|import)\s*[=(]\s*[\"']?(https?:)?//", page.html)


def test_a_page_is_written_shown_and_framed(page, cv, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    again = cv.explore(str(tmp_path / "p.html"), alternatives=0)
    assert (
        again.file.read_text(encoding="utf-8") == again.html
        and opened == []
        and "p.html" in repr(again)
    )
    cv.path.explore(tmp_path / "p.html", alternatives=0, show=True)
    assert opened == [(tmp_path / "p.html").resolve().as_uri()]
    new = cv.path.explore(alternatives=0)
    assert (
        "not written" in repr(new)
        and new.show()
        and opened[1].startswith("file:")
        and new.file.exists()
    )
    new.file.unlink()
    frame = page._repr_html_()
    assert (
        html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page.html
        and "allow-same-origin" not in frame
        and 'title="A &lt;b&gt;' in frame
    )


# -------------------- in a browser


def cells(browser, table):
    return browser.execute_script(
        f"return [...document.querySelectorAll('#{table} tbody tr')].map(tr => "
        "[...tr.children].map(td => td.textContent))"
    )


def wait(browser, script, wanted):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 5).until(
        lambda browser: browser.execute_script(f"return {script}") == wanted
    )


def said(row):
    """How the page writes a number, to 4 digits."""
    return float(f"{row:.4g}")


def test_slider_keys_and_buttons_choose_models(look, page, cv):
    from selenium.webdriver.common.keys import Keys

    browser = look(page)
    size = browser.find_element("id", "size")
    assert (
        browser.execute_script("return document.getElementById('value').textContent")
        == f"k = {cv.model('min').k}"
    )
    size.send_keys(Keys.HOME)
    for k in range(4):
        model = cv.model(index=k)
        order = (
            cv.path.coef(index=k, standardized=True)
            .iloc[1:]
            .abs()
            .sort_values(ascending=False, kind="stable")
            .index
        )
        rows = cells(browser, "coefs")
        assert [row[0] for row in rows] == [*order, "(Intercept)"] and size.get_attribute(
            "aria-valuetext"
        ) == f"k = {k}"
        np.testing.assert_allclose(
            [float(row[1]) for row in rows],
            [said(v) for v in [*model.coef[order], model.intercept]],
        )
        if k:
            assert [row[:2] for row in cells(browser, "alternatives")] == cv.path.alternatives(
                k=k, n=5
            )[["dropped", "added"]].values.tolist()
        else:
            assert "nothing to exchange" in browser.find_element("id", "swapnote").text
        size.send_keys(Keys.ARROW_RIGHT)
    wait(browser, "document.getElementById('said').textContent.split(':')[0]", "k = 4")
    size.send_keys(Keys.END)
    assert (
        size.get_attribute("aria-valuetext") == "k = 10"
        and not browser.find_element("id", "more").is_enabled()
    )
    browser.find_element("id", "less").send_keys(Keys.ENTER)
    assert size.get_attribute("aria-valuetext") == "k = 9"
    for button in browser.find_elements("css selector", "#choices button"):
        button.send_keys(Keys.SPACE)
        assert button.get_attribute("aria-pressed") == "true" and button.text.endswith(
            size.get_attribute("aria-valuetext")
        )
    browser.execute_script("document.querySelector('details').open = true")
    browser.find_elements("css selector", "#all button")[2].send_keys(Keys.ENTER)
    assert size.get_attribute("aria-valuetext") == "k = 2"
    table = cells(browser, "all")
    assert (
        len(table) == len(cv.path)
        and browser.find_elements("css selector", "#all tr[aria-current=true] button")[0].text
        == "2"
    )
    np.testing.assert_allclose(
        [float(row[1]) for row in table], [said(v) for v in cv.path.table.deviance_ratio]
    )


def test_curves_lie_where_the_numbers_are(look, page, cv):
    browser = look(page)
    for figure, values in ((1, cv.path.table.deviance_ratio), (2, cv.table.cv_mean)):
        points = browser.execute_script(
            "return "
            f"[...document.querySelectorAll('figure')[{figure}].querySelectorAll('circle[r=\"2.2\"]')].map(c "
            "=> [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        )
        assert len(points) == len(values)
        x, y = np.array(points).T
        assert np.corrcoef(x, cv.path.table.k)[0, 1] == pytest.approx(
            1.0, abs=1e-9
        ) and np.corrcoef(y, values)[0, 1] == pytest.approx(-1.0, abs=1e-9)
    browser.execute_script(
        "document.querySelectorAll('figure svg')[1].dispatchEvent(new MouseEvent('click', "
        "{clientX: document.querySelectorAll('figure svg')[1].getBoundingClientRect().right}))"
    )
    assert browser.find_element("id", "value").text == "k = 10"
    browser.find_element("id", "near").click()
    assert (
        len(
            browser.execute_script(
                "return "
                "[...document.querySelectorAll('figure')[1].querySelectorAll('circle[r=\"2.2\"]')]"
            )
        )
        == 11
    )  # k = 0 .. 10: ten either way
    assert (
        "deviance ratio"
        in browser.find_elements("css selector", "figure svg")[1]
        .get_attribute("aria-label")
        .lower()
    )


def test_titles_of_axes_keep_clear_of_tick_labels(look, data):
    X, y = data
    cv = l0path.cv_fit(X, 300.0 * y, cv=4, max_k=5, random_state=0)
    browser = look(cv.explore())
    boxes = browser.execute_script(
        "return Array.from(document.querySelectorAll('svg')).map(function (svg) {"
        " var box = function (node) { var b = node.getBoundingClientRect();"
        " return [b.left, b.right, b.top, b.bottom, node.textContent.length]; };"
        " var all = Array.from(svg.querySelectorAll('text'));"
        " return [all.filter(function (t) { return t.getAttribute('transform'); }).map(box),"
        " all.filter(function (t) { return t.classList.contains('tick'); }).map(box)]; });"
    )
    assert max(tick[4] for _, ticks in boxes for tick in ticks) >= 6
    for titles, ticks in boxes:
        for a in titles:
            for b in ticks:
                assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]


def test_slices_are_chosen_from_a_list(look, data):
    from selenium.webdriver.support.ui import Select

    path = l0path.fit(*data, lambda2=[1.0, 0.1], max_k=3)
    browser = look(path.explore(alternatives=0))
    Select(browser.find_element("id", "slice")).select_by_index(0)
    browser.find_element("id", "more").click()
    k = int(browser.find_element("id", "value").text[4:])
    coef = path.coef(k=k, slice=0)
    assert {row[0]: float(row[1]) for row in cells(browser, "coefs")} == {
        name: said(v) for name, v in coef.items()
    }
    assert "Not asked for" in browser.find_element("id", "swapnote").text


def test_names_stay_text(look, page):
    browser = look(page)
    browser.execute_script(
        "document.getElementById('size').value = 10; "
        "document.getElementById('size').dispatchEvent(new Event('input'))"
    )
    assert browser.execute_script(
        "return [window.broken, document.querySelectorAll('img').length, document.title, "
        "document.querySelector('h1').textContent]"
    ) == [None, 0, "A <b>title</b> & more", "A <b>title</b> & more"]
    assert set(HOSTILE) <= {row[0] for row in cells(browser, "coefs")}
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_every_control_has_a_name_and_the_focus_goes_down_the_page(look, page):
    from selenium.webdriver.common.keys import Keys

    browser = look(page)
    controls = [
        e
        for e in browser.find_elements("css selector", "input, select, button, [tabindex]")
        if e.is_displayed()
    ]
    assert len(controls) > 8 and all(e.accessible_name for e in controls)
    body, seen = browser.find_element("tag name", "body"), []
    for _ in range(len(controls) + 1):
        (browser.switch_to.active_element if seen else body).send_keys(Keys.TAB)
        seen.append(
            browser.execute_script(
                "return document.activeElement.id || "
                "document.activeElement.getAttribute('aria-label') || "
                "document.activeElement.tagName"
            )
        )
        assert (
            browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            != "none"
        )
    assert (
        seen[:3] == ["less", "size", "more"]
        and seen[seen.index("keep") :][:4] == ["keep", "csv", "python", "near"]
        and seen[-3:] == ["Chosen features", "swapbox", "SUMMARY"]
    )
    levels = [
        int(e.tag_name[1])
        for e in browser.find_elements("css selector", "h1, h2, h3")
        if e.is_displayed()
    ]
    assert levels[0] == 1 and set(levels[1:]) == {2}
    assert (
        all(e.get_attribute("scope") for e in browser.find_elements("css selector", "th"))
        and browser.find_element("id", "said").get_attribute("aria-live") == "polite"
    )


CONTRAST = """
function lum(c) { return c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)).reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0); }
function rgb(s) { const m = s.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; }
function back(e) { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; }
function ratio(a, b) { const x = lum(a), y = lum(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); }
const out = {};
for (const e of document.querySelectorAll("body *")) {
  if (!e.getClientRects().length || e.disabled || e.tagName === "OPTION") continue;
  const svg = e instanceof SVGElement, text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  const style = getComputedStyle(e);
  if (text) out["text " + e.tagName + "." + (e.getAttribute("class") || e.id)] = ratio(rgb(svg ? style.fill : style.color), back(e)) / 4.5;
  if (svg && !text && style.stroke !== "none" && !["other", "plate"].includes(e.getAttribute("class"))) out["line " + style.stroke] = ratio(rgb(style.stroke), back(e)) / 3;
}
return out;
"""


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(look, page, dark):
    browser = look(page, dark=dark)
    browser.execute_script(
        "document.querySelector('details').open = true; document.getElementById('size').value = "
        "10; document.getElementById('size').dispatchEvent(new Event('input'))"
    )
    found = browser.execute_script(CONTRAST)
    low = (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        == "rgb(20, 23, 26)"
    )
    assert low == dark and len([name for name in found if name.startswith("line")]) >= 7
    assert {name: ratio for name, ratio in found.items() if ratio < 1.0} == {}


@pytest.mark.parametrize("width, scale", [(375, 2), (640, 2), (320, 3)])
def test_phones_and_magnified_pages_do_not_scroll_sideways(look, page, width, scale):
    browser = look(page, width, scale)
    browser.execute_script("document.querySelector('details').open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    letters = """return Math.min(...[...document.querySelectorAll('figure svg text')].map(
        t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width))"""
    assert browser.execute_script(letters) > 11.5
    controls = [
        e
        for e in browser.find_elements(
            "css selector", ".choose button, .choose input, .choose select"
        )
        if e.is_displayed()
    ]
    assert len(controls) > 5 and all(
        e.rect["x"] >= 0 and e.rect["x"] + e.rect["width"] <= width for e in controls
    )


def test_a_frame_in_a_notebook_and_a_path_without_solutions(look, page, cv):
    browser = look(f"<!doctype html><meta charset=utf-8>{page._repr_html_()}")
    browser.switch_to.frame(0)
    assert (
        browser.find_element("tag name", "h1").text == "A <b>title</b> & more"
        and browser.find_element("id", "coefs").is_displayed()
    )
    browser.switch_to.default_content()
    path = l0path.Path(cv.path.meta, [], "stopped")
    browser = look(path.explore())
    assert (
        "no solution" in browser.find_element("id", "about").text
        and not browser.find_element("id", "main").is_displayed()
    )
    browser = look(
        l0path.Path(cv.path.meta, cv.path.solutions[:1], "one", [], [], cv.path._source).explore()
    )
    assert (
        browser.find_element("id", "value").text == "k = 0"
        and not browser.find_element("id", "more").is_enabled()
    )
