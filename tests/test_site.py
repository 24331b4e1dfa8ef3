"""The built documentation: its search finds the right page first, no page is too long, and pages of
the reference begin with an example. It needs the packages of the documentation (`pip install
".[docs]"`), and node or a browser.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from test_vignettes import ONE_IDEA

TESTS = Path(__file__).resolve().parent
HIGHEST = 12_000  # pixels of a page of the guide or reference, 1280 wide
ONE_IDEA_HIGHEST = 4000  # pixels of a vignette that teaches one idea


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site: where .ci/run built it, or else one of its own."""
    if built := os.environ.get("L0PATH_SITE"):
        return Path(built)
    pytest.importorskip("mkdocs", reason="the documentation's own packages: pip install '.[docs]'")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=TESTS.parent, env=quiet, check=True)
    return folder


def questions():
    """{question: page} of the list beside this file."""
    lines = (TESTS / "search_questions.txt").read_text(encoding="utf-8").splitlines()
    return dict(re.split(r" {2,}", line) for line in lines if line and not line.startswith("#"))


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the search of the site")
def test_the_right_page_comes_first(site):
    wanted = questions()
    assert len(wanted) >= 30
    command = ["node", TESTS / "search_site.mjs", site]
    asked = json.dumps(list(wanted))
    run = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    wrong = {question: found[question][:3] for question in wanted if not found[question]}
    wrong |= {
        question: found[question][:3]
        for question, page in wanted.items()
        if found[question] and found[question][0] != page
    }
    assert wrong == {}


def test_examples_come_before_parameters(site):
    """Where a page has an example, it stands before the tables of parameters."""
    late, examples = [], 0
    for file in sorted((site / "reference").glob("*.html")):
        text = unescape(file.read_text(encoding="utf-8"))
        for part in text.split('class="doc doc-object')[1:]:
            own = part.split('class="doc doc-children"')[0]
            places = [own.find(f"{name}:</") for name in ("Examples", "Parameters")]
            examples += places[0] >= 0
            if min(places) >= 0 and places[0] > places[1]:
                late.append(file.name)
    assert examples > 80 and late == []


def test_nothing_private_is_in_the_reference(site):
    named = set()
    for file in (site / "reference").glob("*.html"):
        named |= set(re.findall(r'<h\d id="(l0path[\w.]+)"', file.read_text(encoding="utf-8")))
    assert len(named) > 200
    assert [name for name in named if name.rpartition(".")[2].startswith("_")] == []


def longest(site, many):
    """The pages, those of vignettes apart, with most characters between their tags, and most
    pictures.
    """

    def length(file):
        text = file.read_text(encoding="utf-8")
        article = text[text.find("<article") : text.find("</article>")]
        return len(re.sub(r"<[^>]+>", "", article)) + 1000 * article.count("<img")

    left_out = (site / "404.html", *(site / "vignettes").glob("*.html"))
    pages = [file for file in site.rglob("*.html") if file not in left_out]
    assert len(pages) > 100
    return sorted(pages, key=length, reverse=True)[:many]


@pytest.fixture(scope="module")
def height(site):
    """A function: the height of a page of the site in pixels, in a window 1280 wide."""
    pytest.importorskip("selenium", reason="a browser measures the pages")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("needs chromium and chromedriver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1280,900"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=driver)
    with webdriver.Chrome(options=options, service=service) as opened:

        def measured(file):
            opened.get(file.as_uri())
            return opened.execute_script("return document.documentElement.scrollHeight")

        yield measured


def test_no_page_is_too_long(site, height):
    heights = {str(file.relative_to(site)): height(file) for file in longest(site, 15)}
    assert {page: pixels for page, pixels in heights.items() if pixels > HIGHEST} == {}


def test_a_vignette_that_teaches_one_idea_is_a_short_page(site, height):
    pages = [site / "vignettes" / f"{file.stem}.html" for file in ONE_IDEA]
    assert len(pages) >= 24
    heights = {page.stem: height(page) for page in pages}
    assert {name: pixels for name, pixels in heights.items() if pixels > ONE_IDEA_HIGHEST} == {}
