"""Tables find their block in a page, and a page without one is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pages import write_block


def test_a_block_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- goals:start -->\nold\n<!-- goals:end -->\nafter\n")
    write_block(page, "goals", "| new |\n")
    assert page.read_text() == "before\n<!-- goals:start -->\n| new |\n<!-- goals:end -->\nafter\n"


def test_a_page_without_the_block_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing here\n")
    with pytest.raises(ValueError, match="add both lines"):
        write_block(page, "goals", "text")


def test_a_block_may_be_appended_once(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("results\n")
    for text in ("old", "new"):
        write_block(page, "peers", text, append=True)
    assert page.read_text() == "results\n\n<!-- peers:start -->\nnew\n<!-- peers:end -->\n"
