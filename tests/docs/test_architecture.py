"""The page of the architecture: pictures and lists are those of the package, walks those of real calls."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import architecture
from architecture import PAGE, PICTURES, ROOT
from vmtl import MultiTaskClassifier
from walks import ENTER, EXACT, LEAVE, POINT, PREDICT, TABLE, VARIATIONAL, Walk

TEXT = PAGE.read_text(encoding="utf-8")
AGAIN = "run `python docs/architecture.py`, and look at the pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == PICTURES[name](), AGAIN


def test_lists_are_up_to_date() -> None:
    assert architecture.write_lists(TEXT) == TEXT, AGAIN


def test_every_room_is_on_the_page_and_has_a_sentence() -> None:
    folders = {folder.parent.name for folder in (ROOT / "src" / "vmtl").glob("*/__init__.py")}
    rooms = architecture.read_rooms()
    assert {room.name for room in rooms} == folders
    assert all(room.sentence.endswith(".") and room.entries for room in rooms)


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


# -- walks -----------------------------------------------------------------------------------------------


@contextmanager
def traced() -> Iterator[list[str]]:
    """The functions of ``vmtl`` that are called in between, each once, in the order of their first calls."""
    calls: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("vmtl."):
            calls.setdefault(f"{module.removeprefix('vmtl.')}.{frame.f_code.co_qualname}")

    names: list[str] = []
    sys.setprofile(note)
    try:
        yield names
    finally:
        sys.setprofile(None)
        names += calls


def assert_walked(calls: list[str], *walks: Walk) -> None:
    steps = [step.where for walk in walks for step in walk.steps]
    absent = [step for step in steps if step not in calls]
    assert not absent, f"{absent} are named on the page, but were not called"
    assert sorted(steps, key=calls.index) == steps


def rows(kind: Callable[..., Any] = np.asarray) -> dict[str, Any]:
    """Thirty rows of three tasks, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return {"X": kind(X), "y": (X[:, 0] > 0).astype(int), "tasks": np.arange(30) % 3}


#: What other methods than VMTL do: they have no forest.
WITHOUT_FOREST = Walk(EXACT.title, tuple(step for step in EXACT.steps if "forest" not in step.where))


@pytest.mark.parametrize(
    ("method", "preset", "recipe"),
    [
        ("vmtl", "default", EXACT),
        ("bakker", "default", WITHOUT_FOREST),
        ("bmtl", "default", POINT),
        ("vmtl", "paper", VARIATIONAL),
    ],
)
def test_a_fit_walks_as_the_page_says(method: str, preset: str, recipe: Walk) -> None:
    model = MultiTaskClassifier(method, preset, max_steps=2, random_state=0)
    with traced() as calls:
        model.fit(**rows())
    assert_walked(calls, ENTER, recipe, LEAVE)


def test_a_prediction_walks_as_the_page_says() -> None:
    given = rows()
    model = MultiTaskClassifier(max_steps=2, random_state=0).fit(**given)
    with traced() as calls:
        model.predict_proba(given["X"], tasks=given["tasks"])
    assert_walked(calls, PREDICT)


def test_a_table_walks_as_the_page_says(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from vmtl.cli import app

    table = tmp_path / "train.csv"
    lines = [f"{n % 3},{'ab'[n % 2]},{n * 0.5},{'xyz'[n % 3]}" for n in range(30)]
    table.write_text("\n".join(["site,outcome,dose,ward", *lines]), encoding="utf-8")
    options = ["--task", "site", "--target", "outcome", "--method", "bmtl", "--out", str(tmp_path / "m.vmtl")]
    with traced() as calls:
        done = CliRunner().invoke(app, ["fit", str(table), *options])
    assert done.exit_code == 0, done.output
    assert_walked(calls, TABLE)
