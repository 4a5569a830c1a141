"""Files in any common encoding, and sheets of Excel files."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vmtl.datasets import read_table
from vmtl.datasets.frame_files import REMARK, find_encoding, read_frame

ROWS = pd.DataFrame({"größe": ["1,5", "2,5"], "name": ["Zoë", "Jürgen"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    ROWS.to_csv(path, index=False, sep=";", encoding=encoding)
    assert find_encoding(path) == encoding
    table = read_frame(path)
    assert table.columns.tolist() == ["größe", "name"]
    assert table["größe"].tolist() == [1.5, 2.5]
    assert table["name"].tolist() == ["Zoë", "Jürgen"]
    assert (REMARK in table.attrs) == (encoding == "cp1252")


def test_bytes_that_cp1252_lacks_are_latin_1(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n\x81\n")
    assert find_encoding(tmp_path / "t.csv") == "latin-1"


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name\nЮрий\n", encoding="cp1251")
    assert read_frame(path, encoding="cp1251")["name"].tolist() == ["Юрий"]
    assert REMARK not in read_frame(path, encoding="cp1251").attrs
    with pytest.raises(ValueError, match=r"it is no utf-8 text; name its encoding with --encoding"):
        read_frame(path, encoding="utf-8")
    with pytest.raises(ValueError, match="'cp12' is no known encoding"):
        read_frame(path, encoding="cp12")


def test_excel_sheets_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    days = pd.to_datetime(["2023-12-18", "2024-01-02"])
    first = pd.DataFrame({"site": ["a", "b"], "day": days, "x": [0.45, 1.0], "y": ["u", "v"]})
    with pd.ExcelWriter(path) as book:
        first.to_excel(book, sheet_name="rows", index=False)
        first.assign(x=[7, 8]).to_excel(book, sheet_name="others", index=False)
    problem = read_table(path, task="site", target="y")
    pd.testing.assert_frame_equal(problem.X, first[["day", "x"]], check_dtype=False)
    assert problem.X.attrs[REMARK] == "Of the sheets in t.xlsx, 'rows' was read; --sheet chooses another ('others')."
    assert read_table(path, task="site", target="y", sheet="others").X["x"].tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"no sheet 'other' \(did you mean 'others'\?\)"):
        read_frame(path, sheet="other")
    with pytest.raises(ValueError, match="is no text file, so it has no encoding"):
        read_frame(path, encoding="utf-8")


def test_empty_rows_and_nameless_columns_of_excel_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    pd.DataFrame([["x", None, "y"], [1, None, 2], [None, None, None], [3, None, 4]]).to_excel(
        path, index=False, header=False
    )
    assert read_frame(path).to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    pd.DataFrame().to_excel(path, index=False)
    with pytest.raises(ValueError, match="is empty"):
        read_frame(path)


def test_excel_without_its_reader_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    ROWS.to_excel(path, index=False)
    ordinary = builtins.__import__

    def without(name: str, *further: Any) -> Any:
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return ordinary(name, *further)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'Excel files needs openpyxl; run pip install "vmtl\[excel\]"'):
        read_frame(path)


def test_formatted_targets_are_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame({"domain": "a", "x": range(4), "label": ["$1,200", "$900", "$1,500.50", "$3"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").y.tolist() == [1200, 900, 1500.5, 3]
