"""The page in a real browser, on a phone and on a desktop, in light and dark."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.processes import PATIENCE
from helpers.report_models import Case
from vmtl.report import fit_control, render

pytestmark = pytest.mark.system

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium; absent it is a reason to skip, but under CI a failure."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        reason = "Chromium and its driver are not installed (Debian: apt-get install chromium chromium-driver)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    found.set_page_load_timeout(PATIENCE)
    found.set_script_timeout(PATIENCE)
    yield found
    found.quit()


@pytest.fixture(scope="module")
def page(class_case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    train = class_case.train
    control = fit_control(class_case.model, train.X, train.y, train.tasks, repeats=1)
    others = {"none": class_case.evidence, "pooled": class_case.evidence, "even": class_case.evidence}
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(class_case.model, class_case.evidence, others, control, {"seed": 0}), encoding="utf-8")
    return file


def show(browser: Any, page: Path, size: str, scheme: str = "light") -> None:
    width, height = SIZES[size]
    look = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", look)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")


def screenshot(browser: Any, y: int = 0) -> Any:
    from PIL import Image

    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, arguments[0])", y)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(browser.get_screenshot_as_base64()))).convert("L"))


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_logged_and_nothing_is_asked_for(browser: Any, page: Path, size: str) -> None:
    browser.get_log("browser")
    browser.get_log("performance")
    show(browser, page, size)
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert page.as_uri() in asked
    assert [url for url in asked if url != page.as_uri() and not url.startswith("data:")] == []


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(browser: Any, page: Path, size: str) -> None:
    show(browser, page, size)
    assert browser.execute_script("return document.documentElement.scrollWidth") == SIZES[size][0]
    script = "return [...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width)"
    assert all(150 < width < SIZES[size][0] for width in browser.execute_script(script))


def test_a_table_that_is_wider_than_its_frame_says_so(browser: Any, page: Path) -> None:
    script = (
        "return [...document.querySelectorAll('.sheet')].map("
        "s => [s.scrollWidth > s.clientWidth, getComputedStyle(s.querySelector('caption span'), '::after').content])"
    )
    seen = set()
    for size in SIZES:
        show(browser, page, size)
        browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        for wide, hint in browser.execute_script(script):
            assert ("scroll" in hint) == wide
            seen.add(wide)
    assert seen == {True, False}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_are_not_blank_and_follow_the_scheme(browser: Any, page: Path, size: str, scheme: str) -> None:
    show(browser, page, size, scheme)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    for y in range(0, height - SIZES[size][1], max(height // 4, 1)):
        image = screenshot(browser, y)
        assert len(np.unique(image)) > 10
        assert image.std() > 5
        assert (np.median(image) > 128) == (scheme == "light")


def test_every_figure_has_a_text_alternative(browser: Any, page: Path) -> None:
    show(browser, page, "desktop")
    figures = browser.find_elements("css selector", "figure")
    assert len(figures) >= 9
    for figure in figures:
        assert figure.aria_role in ("image", "img")
        assert len(figure.accessible_name) > 30


def column(browser: Any, table: str, place: int) -> list[str]:
    script = (
        "return [...document.querySelector(arguments[0]).tBodies[0].rows].map(r => r.cells[arguments[1]].innerText)"
    )
    found: list[str] = browser.execute_script(script, table, place)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_tables_sort_numbers_and_text_both_ways(browser: Any, page: Path, size: str) -> None:
    show(browser, page, size)
    heads = browser.find_elements("css selector", "#table-arrows th button")
    press = "arguments[0].click()"
    browser.execute_script(press, heads[2])
    weights = [float(text.split()[0]) for text in column(browser, "#table-arrows", 2)]
    assert weights == sorted(weights)
    browser.execute_script(press, heads[2])
    assert [float(text.split()[0]) for text in column(browser, "#table-arrows", 2)] == sorted(weights, reverse=True)
    browser.execute_script(press, heads[0])
    names = column(browser, "#table-arrows", 0)
    assert names == sorted(names)
    states = [h.get_attribute("aria-sort") for h in browser.find_elements("css selector", "#table-arrows th")]
    assert states == ["ascending", *["none"] * 4]


def test_the_keyboard_sorts_too(browser: Any, page: Path) -> None:
    show(browser, page, "desktop")
    browser.find_elements("css selector", "#table-scores th button")[1].send_keys("\ue007")
    *rows, mean = column(browser, "#table-scores", 1)
    assert [int(text) for text in rows] == sorted(int(text) for text in rows)
    assert mean == "–"  # of tasks: it has no rows of its own


def test_it_prints_on_paper(browser: Any, page: Path) -> None:
    show(browser, page, "desktop", "dark")
    browser.execute_script("document.body.append(document.createElement('details'))")
    is_open = "return document.querySelector('body > details').open"
    browser.execute_script(f"addEventListener('beforeprint', () => {{ window.onPaper = (() => {{ {is_open} }})() }})")
    paper = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(paper["data"]).startswith(b"%PDF")
    assert browser.execute_script("return window.onPaper")
    assert not browser.execute_script(is_open)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert np.median(screenshot(browser)) > 250
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
