"""The page of the architecture: pictures and lists are those of the package, calls those of a real fit."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

import architecture
from architecture import PAGE, PICTURES, ROOT
from walks import PASSED, TABLE, WALKS, fit_table, record, steps

TEXT = PAGE.read_text(encoding="utf-8")
AGAIN = "run `python docs/architecture.py`, and look at the pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == PICTURES[name](), AGAIN


def test_lists_are_up_to_date() -> None:
    assert architecture.write_lists(TEXT) == TEXT, AGAIN


def test_every_package_is_on_the_page_and_has_a_sentence() -> None:
    folders = {folder.parent.name for folder in (ROOT / "src" / "vmtl").glob("*/__init__.py")}
    packages = architecture.read_packages()
    assert {package.name for package in packages} == folders
    assert all(package.sentence.endswith(".") and package.entries for package in packages)


def test_paths_on_the_page_exist() -> None:
    """Folders and files in code font; dotted names are tested with those of all pages."""
    paths = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.]*|\w+\.(?:md|toml))`", TEXT)
    assert paths
    for path in paths:
        assert (ROOT / path).exists(), f"{path} does not exist"


def test_every_equation_has_its_place() -> None:
    """2 to 12 are in the table, and a module named there says the number, so that a search finds it."""
    lines = re.findall(r"^\| ([\d, ]+) \| (.*) \|$", TEXT, re.MULTILINE)
    assert [int(number) for numbers, _ in lines for number in numbers.split(", ")] == list(range(2, 13))
    for numbers, line in lines:
        said = "\n".join(source_of(name) for name in re.findall(r"`vmtl\.([\w.]+)`", line))
        number = numbers.replace(", ", "|")
        assert re.search(rf"Eq\. (?:\d+(?:, | and | to ))*(?:{number})\b", said), (
            f"no module of {line} says Eq. {numbers}"
        )


def source_of(name: str) -> str:
    """The text of the module, or of the package's first lines, in which a dotted name lives."""
    path = ROOT / "src" / "vmtl" / Path(*name.split("."))
    for place in (path, *path.parents):
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return file.read_text(encoding="utf-8")
    raise AssertionError(f"{name} does not exist")


# -- calls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WALKS)
def test_a_call_does_not_return_to_a_package_that_it_left(name: str) -> None:
    """But for the estimator, at the end of a fit."""
    passed = [package for package, _ in groupby(step.package for step in steps(name))]
    assert passed == PASSED[name]


def test_the_default_and_the_paper_do_not_call_each_other() -> None:
    assert not any(step.package == "paper" for name in ("fit", "predict") for step in steps(name))
    assert not any(step.package == "gp" for step in steps("paper"))


def test_a_table_is_read_in_the_order_that_the_page_says() -> None:
    calls = [called for _, called in record(fit_table())]
    assert [where for where in TABLE if where not in calls] == []
    assert sorted(TABLE, key=calls.index) == list(TABLE)
