"""What pyproject.toml allows is what was tested: the oldest pins, the newest pins and the page agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Extras of users; those that are tested in one version only have no oldest pin.
TESTED_ONCE = {"onnx", "ray", "images", "excel"}
EXTRAS = {
    name: listed
    for name, listed in PROJECT["optional-dependencies"].items()
    if name not in ("all", "docs", "test", "release", "fuzz")
}


def pins(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {key(line): Version(line.split("==")[1]) for line in lines if "==" in line}


def key(line: str) -> str:
    """The name in a requirement, as packages are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=>]", line)[0]).lower()


def bounds(listed: list[str]) -> dict[str, Version]:
    return {key(line): Version(line.split(">=")[1]) for line in listed}


def test_every_bound_is_the_oldest_that_was_tested() -> None:
    oldest, newest = pins("constraints-lowest.txt"), pins("constraints.txt")
    wide = bounds([*PROJECT["dependencies"], *(b for e, all_ in EXTRAS.items() if e not in TESTED_ONCE for b in all_)])
    assert set(oldest) == set(wide)
    for name, bound in wide.items():
        assert oldest[name].release[: len(bound.release)] == bound.release, name
        assert oldest[name] <= newest[name], name
    assert set(bounds([line for extra in TESTED_ONCE for line in EXTRAS[extra]])) <= set(newest)


def test_the_page_has_both_versions_of_every_package() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").partition("## Tested versions")[2]
    rows = re.findall(r"^\| ([\w-]+) \| ([\d.]+) \| ([\d.]+) \|$", text.partition("\n## ")[0], re.MULTILINE)
    oldest, newest = pins("constraints-lowest.txt"), pins("constraints.txt")
    assert {name: (Version(low), Version(high)) for name, low, high in rows} == {
        name: (pin, newest[name]) for name, pin in oldest.items()
    }
