"""The version is written once, and the changelog, the model files and the figures follow it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.version import Version

from helpers.names import resolve
from vmtl import __version__

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
#: Versions with a heading, newest first.
RELEASES = [Version(name) for name in re.findall(r"^## \[(\d[^\]]*)\]", CHANGELOG, re.MULTILINE)]


def test_only_the_package_says_its_version() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in content["project"]
    assert content["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "vmtl.__version__"}
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)


def test_a_development_version_comes_after_the_newest_release() -> None:
    """Between releases the version ends in ``.dev0``; a release is the first heading with a number."""
    current = Version(__version__)
    assert current > RELEASES[0] if current.is_devrelease else current == RELEASES[0]


def test_releases_are_in_order_and_unreleased_changes_are_first() -> None:
    assert sorted(RELEASES, reverse=True) == RELEASES
    assert CHANGELOG.index("## [Unreleased]") < CHANGELOG.index(f"## [{RELEASES[0]}]")


def test_names_of_the_unreleased_changes_exist() -> None:
    """What was added, and the right column of what moved."""
    section = CHANGELOG.split("## [Unreleased]")[1].split("\n## [")[0]
    added = re.findall(r"^- `(vmtl\.[\w.]+)`", section, re.MULTILINE)
    moved = re.findall(r"^\| .* \| `(vmtl[\w.]*)` \|$", section, re.MULTILINE)
    for name in (*added, *moved):
        resolve(name)


def test_every_release_left_its_figures_and_every_published_one_its_model_files() -> None:
    """0.1.0 was never published: its model files are not read any more."""
    for release in RELEASES:
        assert (ROOT / "benchmarks" / "history" / f"{release}.json").is_file()
        if release > Version("0.1.0"):
            models = (ROOT / "tests" / "reliability" / f"models-{release}").glob("*.vmtl")
            assert {file.stem for file in models} == {"classifier", "regressor", "table"}
