"""A real browser, and the page of `explore`, shared by the tests of pages."""

import shutil

import numpy as np
import pytest
from page_samples import HOSTILE

import l0path


@pytest.fixture(scope="package")
def browser():
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="needs selenium: pip install l0path[test]"
    )
    chromium, driver = (
        next((found for name in names if (found := shutil.which(name))), None)
        for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
    )
    if chromium is None or driver is None:
        pytest.skip("needs chromium and its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield driver
    driver.quit()


@pytest.fixture
def look(browser, tmp_path):
    """A function that opens a page with a width, a scale and a color scheme."""

    def look(page, width=1200, scale=1, dark=False):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": scale, "mobile": width < 500},
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )
        file = tmp_path / "page.html"
        file.write_text(page if isinstance(page, str) else page.html, encoding="utf-8")
        browser.get(file.as_uri())
        return browser

    yield look
    assert browser.get_log("browser") == []


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
        lambda2=0,
        feature_names=HOSTILE + [f"v{j}" for j in range(6, 14)],
    )


@pytest.fixture(scope="module")
def page(cv):
    return cv.explore(title="A <b>title</b> & more")
