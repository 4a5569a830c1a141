"""How a table gets into a page."""

from __future__ import annotations

from pathlib import Path


def write_block(page: Path, name: str, text: str, append: bool = False) -> None:
    """Replace what stands between ``<!-- name:start -->`` and ``<!-- name:end -->``, or append it to a page without."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    old = page.read_text(encoding="utf-8")
    if append and start not in old:
        old = f"{old.rstrip()}\n\n{start}\n{end}\n"
    before, opened, rest = old.partition(start)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{page} has no block between {start} and {end}; add both lines where the table belongs.")
    page.write_text(f"{before}{start}\n{text.strip()}\n{end}{after}", encoding="utf-8")
