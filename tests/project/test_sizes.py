"""Files and functions stay short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "benchmarks", "docs", "examples", "tests")
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 300, 40


def files() -> list[Path]:
    return [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_is_longer_than_300_lines() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files()}
    assert len(lengths) > 300
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    """Its docstring included."""
    lengths = {
        f"{file.relative_to(ROOT)}: {function.name}": function.end_lineno - function.lineno + 1
        for file in files()
        for function in functions(file)
        if function.end_lineno is not None
    }
    assert len(lengths) > 1000
    assert {name: length for name, length in lengths.items() if length > MOST_LINES_OF_A_FUNCTION} == {}
