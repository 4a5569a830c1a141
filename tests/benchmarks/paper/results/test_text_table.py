"""Tables as Markdown and HTML."""

from __future__ import annotations

import pytest

from benchmarks.text_table import Table, to_html, to_markdown


def test_text_is_escaped_and_rows_must_fit() -> None:
    table = Table("a < b", ("x|y",), (("<script>",),))
    assert "<script>" not in to_html("t", [table])
    assert "x\\|y" in to_markdown([table])
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table("t", ("x",), (("1", "2"),))
