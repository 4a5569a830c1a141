"""Print the changelog's section of a version; refuse a tag that is not the version of the source.

``python docs/release_notes.py v0.2.0``; the workflow of a release makes its notes of it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def source_version() -> str:
    """``__version__`` of the source, without importing it."""
    text = (ROOT / "src" / "vmtl" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def notes(tag: str, version: str, changelog: str) -> str:
    """The text below ``## [X.Y.Z] - date``, up to the next version."""
    if tag != f"v{version}":
        raise ValueError(f"The tag {tag} is not v{version}, the version in src/vmtl/__init__.py; correct one of them.")
    section = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if section is None or not section[1].strip():
        raise ValueError(f"CHANGELOG.md has no section '## [{version}] - date' with text; write it.")
    return section[1].strip()


def main() -> None:
    try:
        (tag,) = sys.argv[1:]
        print(notes(tag, source_version(), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    except ValueError as error:
        raise SystemExit(f"Error: {error}") from None


if __name__ == "__main__":
    main()
