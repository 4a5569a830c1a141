"""The package can be imported where Unix's own modules do not exist."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src" / "vmtl"
ONLY_UNIX = {"crypt", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "resource", "spwd", "termios", "tty"}


def imported_at_once(file: Path) -> set[str]:
    """What the file imports when it is imported itself, not when one of its functions is called."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module.split(".")[0])
    return names


def test_no_module_needs_unix_to_be_imported() -> None:
    found = {str(file.relative_to(SOURCES)): imported_at_once(file) for file in SOURCES.rglob("*.py")}
    assert any("filelock" in names for names in found.values())  # it sees imports
    assert {name: names & ONLY_UNIX for name, names in found.items() if names & ONLY_UNIX} == {}
