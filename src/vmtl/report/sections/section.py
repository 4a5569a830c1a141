"""A section of the page."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl.report.plots.svg import Picture
from vmtl.report.sheets import Sheet


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, paragraphs, pictures, tables, and a list of short lines."""

    name: str
    title: str
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    lines: tuple[str, ...] = ()
