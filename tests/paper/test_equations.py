"""A reader who knows the paper finds every equation: the package names the file of each, and the file names it."""

from __future__ import annotations

import importlib
import re

import pytest

import vmtl.paper

LINES = re.findall(r"^Eq\. ([\d and]+), .+?: (.+)$", vmtl.paper.__doc__ or "", re.MULTILINE)
PLACES = [
    (int(number), f"vmtl.paper.{module}")
    for numbers, modules in LINES
    for number in re.findall(r"\d+", numbers)
    for module in re.findall(r"``([\w.]+)``", modules)
]


def test_every_equation_has_a_place() -> None:
    assert sorted({number for number, _ in PLACES}) == list(range(2, 13))


@pytest.mark.parametrize(("number", "module"), PLACES)
def test_the_module_names_its_equation(number: int, module: str) -> None:
    text = importlib.import_module(module).__doc__ or ""
    named = {
        int(n) for group in re.findall(r"Eq\. (\d+(?:(?:, | and | to )\d+)*)", text) for n in re.findall(r"\d+", group)
    }
    assert number in named, f"{module} does not name Eq. {number}"
