"""README's picture of a report: two parts of the page on the example's hospitals, as a browser shows them.

    python docs/report_image.py                  # writes docs/images/report.png; two minutes
    python docs/report_image.py --page PAGE.html --out OUT.png

Needs Chromium and its driver (Debian: apt-get install chromium chromium-driver) and the package's test tools.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
#: Size of one half of the picture in pixels of the page, and how far both are reduced.
WIDTH, HEIGHT, REDUCED = 1000, 1400, 0.8


def make_page(folder: Path) -> Path:
    """The page that README's commands write, with the training rows given."""
    vmtl = [sys.executable, "-m", "vmtl"]
    commands = [
        [sys.executable, str(ROOT / "examples" / "hospitals.py"), "--csv", "."],
        [*vmtl, "fit", "train.csv", "--task", "hospital", "--target", "treatment", "--out", "model.vmtl"],
        [*vmtl, "report", "model.vmtl", "--data", "labelled.csv", "--train", "train.csv", "--out", "report.html"],
    ]
    for command in commands:
        subprocess.run(command, cwd=folder, check=True)
    return folder / "report.html"


def open_page(page: Path, width: int = WIDTH, height: int = HEIGHT) -> Any:
    """A headless browser that shows the page in light colours."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("Chromium and its driver are needed; on Debian: apt-get install chromium chromium-driver.")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.resolve().as_uri())
    return browser


def photograph(browser: Any, place: str) -> Image.Image:
    """What is seen from the first element that matches ``place`` on."""
    script = (
        "document.documentElement.style.scrollBehavior = 'auto'; document.querySelector(arguments[0]).scrollIntoView()"
    )
    browser.execute_script(script, place)
    return Image.open(io.BytesIO(base64.b64decode(browser.get_screenshot_as_base64()))).convert("RGB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page that is there already")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "report.png")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        browser = open_page(arguments.page or make_page(Path(folder)))
        halves = [photograph(browser, place) for place in ("body", "#differences")]
        browser.quit()
    picture = Image.new("RGB", (2 * WIDTH, HEIGHT))
    for number, half in enumerate(halves):
        picture.paste(half, (number * WIDTH, 0))
    picture = picture.resize((round(2 * WIDTH * REDUCED), round(HEIGHT * REDUCED)), Image.Resampling.LANCZOS)
    picture.quantize(192).save(arguments.out, optimize=True)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
