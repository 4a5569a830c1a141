"""The gallery: its pages print what they say they print, and have their figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gallery

#: How far a printed number may be from the page's on another processor: one in its last place, and a fiftieth of it.
LAST_PLACES, SHARE = 1.01, 0.02
NUMBER = r"-?\d+(?:\.\d+)?"


def pages() -> list[Path]:
    return [gallery.FOLDER / f"{name}.md" for name in gallery.NEEDS]


def same(printed: str, stated: str) -> bool:
    """Equal words and as good as equal numbers."""
    if re.sub(NUMBER, "#", printed).split() != re.sub(NUMBER, "#", stated).split():
        return False
    pairs = zip(re.findall(NUMBER, printed), re.findall(NUMBER, stated), strict=True)
    return all(abs(float(a) - float(b)) <= LAST_PLACES * _last_place(b) + SHARE * abs(float(b)) for a, b in pairs)


def _last_place(number: str) -> float:
    return 10.0 ** -len(number.partition(".")[2])


def test_every_page_is_run_and_stands_in_the_index() -> None:
    named = {page.stem for page in gallery.FOLDER.glob("*.md")} - {"index"}
    assert named == set(gallery.NEEDS)
    index = (gallery.FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(f"({name}.md)" in index for name in named)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_piece_has_been_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    pieces = list(gallery.PIECE.finditer(text))
    assert len(pieces) == text.count("```python")
    assert all(piece["printed"].strip() for piece in pieces)
    assert "savefig" in text


@pytest.mark.figures
@pytest.mark.slow
@pytest.mark.system
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_pages_print_what_they_say(page: Path, tmp_path: Path) -> None:
    if missing := gallery.absent(page.stem):
        pytest.skip(missing)
    for piece, printed in gallery.run(page, tmp_path):
        assert same(printed, piece["printed"]), (
            f"{printed}\nRun `python docs/gallery.py {page.stem}` and read the page."
        )
    assert (tmp_path / f"{page.stem}.png").is_file()


@pytest.mark.parametrize(
    ("printed", "equal"),
    [("vmtl 0.96 12", True), ("vmtl 0.97 12", True), ("vmtl 0.92 12", False), ("stl 0.96 12", False), ("vmtl", False)],
)
def test_numbers_may_differ_in_the_last_place(printed: str, equal: bool) -> None:
    assert same(printed, "vmtl 0.96 12") is equal


def test_a_page_without_its_data_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VMTL_DATA", raising=False)
    assert gallery.absent("schools") == "schools: set VMTL_DATA to a folder with data/school.npz."
