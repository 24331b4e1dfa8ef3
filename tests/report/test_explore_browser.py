"""The page of `explore` in a real browser: its slider, keys, tables, contrast and widths."""

import numpy as np
import pandas as pd
import pytest
from page_samples import HOSTILE

import l0path


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
            cv.coef(index=k, standardized=True)
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
            assert [row[:2] for row in cells(browser, "alternatives")] == cv.model(
                k=k
            ).alternatives(n=5)[["dropped", "added"]].values.tolist()
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
        len(table) == len(cv)
        and browser.find_elements("css selector", "#all tr[aria-current=true] button")[0].text
        == "2"
    )
    np.testing.assert_allclose(
        [float(row[1]) for row in table], [said(v) for v in cv.details.deviance_ratio]
    )


def test_curves_lie_where_the_numbers_are(look, page, cv):
    browser = look(page)
    for figure, values in ((1, cv.details.deviance_ratio), (2, cv.scores.cv_mean)):
        points = browser.execute_script(
            "return "
            f"[...document.querySelectorAll('figure')[{figure}].querySelectorAll('circle[r=\"2.2\"]')].map(c "
            "=> [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        )
        assert len(points) == len(values)
        x, y = np.array(points).T
        assert np.corrcoef(x, cv.details.k)[0, 1] == pytest.approx(1.0, abs=1e-9) and np.corrcoef(
            y, values
        )[0, 1] == pytest.approx(-1.0, abs=1e-9)
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
    cv = l0path.cv_fit(X, 300.0 * y, cv=4, max_k=5, random_state=0, lambda2=0)
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
    path = l0path.Path(cv._meta, [], "stopped")
    browser = look(path.explore())
    assert (
        "no solution" in browser.find_element("id", "about").text
        and not browser.find_element("id", "main").is_displayed()
    )
    browser = look(l0path.Path(cv._meta, cv._solutions[:1], "one", [], [], cv._source).explore())
    assert (
        browser.find_element("id", "value").text == "k = 0"
        and not browser.find_element("id", "more").is_enabled()
    )


def test_the_size_is_in_the_address_and_a_link_opens_there(look, page, cv):
    browser = look(page)
    assert browser.execute_script("return location.hash") == f"#k={cv.model('min').k}"
    browser.find_element("id", "less").click()
    k = cv.model("min").k - 1
    assert browser.execute_script("return location.hash") == f"#k={k}"
    address = browser.current_url.split("#")[0]
    browser.get("about:blank")
    browser.get(f"{address}#k=3")
    shown = "return document.getElementById('value').textContent"
    assert browser.execute_script(shown) == "k = 3"
    browser.execute_script("location.hash = '#k=5'")
    wait(browser, "document.getElementById('value').textContent", "k = 5")
    browser.back()
    wait(browser, "document.getElementById('value').textContent", "k = 3")
    browser.get("about:blank")
    browser.get(f"{address}#k=99")  # no such size
    assert browser.execute_script(shown) == f"k = {cv.model('min').k}"


def test_the_title_names_the_response_and_no_number_comes_twice(look, data):
    X, y = data
    table = pd.DataFrame(X).add_prefix("v").assign(weight=y)
    browser = look(l0path.fit("weight ~ .", table, max_k=3).explore())
    assert browser.title == "Models of weight"
    facts = browser.execute_script(
        "return [...document.querySelectorAll('#facts dt')].map(dt => dt.textContent)"
    )
    assert "loss" in facts and "objective" not in facts  # no penalty: they are the same


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_what_sticks_takes_little_of_the_screen(look, page, width, height):
    browser = look(page, width)
    stuck = browser.execute_script(
        "const box = document.querySelector('.choose'); return getComputedStyle(box).position === "
        "'sticky' ? box.getBoundingClientRect().height : 0"
    )
    assert stuck <= 0.18 * height


BUTTONS = """return [...document.querySelectorAll('button, select')].filter(b => b.getClientRects().length)
    .map(b => [b.textContent, b.getBoundingClientRect().height, b.getBoundingClientRect().right])"""


def test_buttons_of_phones_are_large_and_fill_their_lines(look, page):
    browser = look(page, 390)
    found = browser.execute_script(BUTTONS)
    assert len(found) > 5
    for text, height, right in found:
        assert height >= 44 and right <= 390, text
    lines = browser.execute_script(
        "const a = document.getElementById('less'), b = document.getElementById('more');"
        "return [a.getBoundingClientRect().top, b.getBoundingClientRect().top]"
    )
    assert lines[0] == lines[1]  # the slider stands between its buttons
    ends = {right for text, _, right in found if text.startswith(("Download", "best"))}
    assert max(ends) > 350


FIGURES = """return [...document.querySelectorAll('#charts figure')].map(f => {
    const b = f.getBoundingClientRect(); return [Math.round(b.top), Math.round(b.right)]; })"""


@pytest.mark.parametrize("width", [1300, 1000, 390])
def test_no_quarter_of_the_page_is_empty(look, data, width):
    X, y = data
    paths = (
        l0path.fit(X, y, max_k=5),
        l0path.cv_fit(X, y, cv=3, max_k=5, random_state=0),
        l0path.cv_fit(X, y, cv=3, max_k=5, random_state=0, loss="huber", certify=True),
    )
    seen = set()
    for path in paths:
        browser = look(path.explore(alternatives=0), width)
        places = browser.execute_script(FIGURES)
        seen.add(len(places))
        last = {top: right for top, right in places}
        edge = browser.execute_script(
            "return Math.round(document.getElementById('charts').getBoundingClientRect().right)"
        )
        assert all(right == edge for right in last.values())  # each line of charts is full
    assert {2, 3} <= seen


def test_a_chart_of_bounds_is_there_where_a_gap_is_open(look, data):
    X, y = data
    proven = l0path.fit(X, y, max_k=4)
    assert set(proven.details.optimality) == {"global"}
    browser = look(proven.explore(alternatives=0))
    assert len(browser.execute_script(FIGURES)) == 2
    facts = browser.find_element("id", "facts").text
    assert "0 (proven)" in facts and "lower bound" not in facts
    wide = np.random.default_rng(1).standard_normal((40, 60))
    response = wide[:, :3].sum(axis=1) + 2 * np.random.default_rng(2).standard_normal(40)
    some = l0path.fit(wide, response, lambda2=0.01, max_k=6, certify=True)
    assert (some.details.gap > 1e-3).any()
    browser = look(some.explore(alternatives=0))
    assert len(browser.execute_script(FIGURES)) == 3


def test_facts_stand_once_and_what_changed_is_for_readers_alone(look, page):
    browser = look(page)
    wait(browser, "document.getElementById('said').textContent !== ''", True)
    box = browser.find_element("id", "said").rect
    assert box["width"] <= 1 and box["height"] <= 1
    about = browser.find_element("id", "about").text
    assert "14 features, of which" in about and "columns" not in about
