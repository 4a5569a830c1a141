"""A section: what the page makes of its parts."""

from __future__ import annotations

import pytest

from vmtl.report.page import _fill_template
from vmtl.report.plots.svg import Picture
from vmtl.report.sections.section import Section
from vmtl.report.sheets import Sheet

PARTS = {
    "words": ("First a sentence.",),
    "pictures": (Picture("<svg></svg>", "A figure", "what it shows", "it rises"),),
    "sheets": (Sheet("numbers", "All numbers", ("column",), ()),),
    "lines": ("a short line",),
}


def page(section: Section) -> str:
    """The section as it stands between the head of the page and its script."""
    head = {"title": "Title", "subtitle": "Subtitle", "warnings": (), "cards": (), "answers": ()}
    text = _fill_template(**head, sections=[section], appendix=[])
    return text[text.index("<main>") : text.index("</main>")]


def test_all_that_a_section_holds_is_on_the_page() -> None:
    text = page(Section("scores", "How good is it?", **PARTS))
    places = [
        text.index(part)
        for part in ('id="scores"', "How good is it?", "First a sentence.", "a short line", "<svg>", "table-numbers")
    ]
    assert places == sorted(places)
    assert text.index("<summary>All numbers</summary>") < text.index("table-numbers")  # tables are folded


@pytest.mark.parametrize("part", PARTS)
def test_what_a_section_does_not_have_leaves_no_mark(part: str) -> None:
    marks = {"words": "<p>", "pictures": "<figure", "sheets": "<table", "lines": "<ul"}
    whole, without = Section("scores", "?", **PARTS), Section("scores", "?", **{**PARTS, part: ()})
    assert marks[part] in page(whole)
    assert marks[part] not in page(without)
