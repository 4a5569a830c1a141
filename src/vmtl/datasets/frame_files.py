"""Tables as files: CSV in any common encoding, TSV, Excel, Parquet and Feather."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from vmtl._utils.messages import did_you_mean, quoted
from vmtl.data.column_types import DECIMAL

if TYPE_CHECKING:
    import pandas as pd

TEXTS, EXCEL = (".csv", ".tsv", ".txt"), (".xlsx", ".xlsm")
FORMATS = (".csv", ".tsv", ".xlsx", ".parquet", ".feather", ".npz")
#: The entry of ``DataFrame.attrs`` with what should be said about how a file was read.
REMARK = "vmtl_remark"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_frame(path: str | Path, *, encoding: str | None = None, sheet: str | None = None) -> pd.DataFrame:
    """The rows of a CSV, TSV, Excel, Parquet or Feather file as a DataFrame, as they are.

    A CSV may also be separated by semicolons or tabs, with decimal points or commas. ``attrs`` of the DataFrame has
    what should be said about the reading.

    Parameters
    ----------
    path : path
        The file.
    encoding : str, default=None
        The encoding of a text file; if None, UTF-8 (or UTF-16 with its mark), else cp1252 or latin-1.
    sheet : str, default=None
        The sheet of an Excel file; the first if None.
    """
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}; check the path.")
    suffix = file.suffix.lower()
    _check_options(file, suffix, encoding, sheet)
    try:
        if suffix in TEXTS:
            return _read_text(file, encoding)
        if suffix in EXCEL:
            return _read_excel(file, sheet)
        return pd.read_parquet(file) if suffix == ".parquet" else pd.read_feather(file)
    except ImportError as error:
        what, package, extra = ("Excel files", "openpyxl", "excel") if suffix in EXCEL else _ARROW
        raise ImportError(f'Reading {what} needs {package}; run pip install "vmtl[{extra}]".') from error
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} is empty; give a table with a line of column names.") from None
    except UnicodeError:
        remedy = "name its encoding with --encoding (encoding= in Python), or save it as UTF-8"
        raise ValueError(f"{file} cannot be read: it is no {encoding or 'UTF-16'} text; {remedy}.") from None
    except Exception as error:  # a damaged file fails in many ways
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise ValueError(f"{file} cannot be read as a {suffix} table ({reason}); save it again.") from error


_ARROW = ("Parquet and Feather", "pyarrow", "tables")


def _check_options(file: Path, suffix: str, encoding: str | None, sheet: str | None) -> None:
    """Refuse other kinds of files, what a file of this kind has no use for, and encodings that nobody knows."""
    if suffix not in (*TEXTS, *EXCEL, ".parquet", ".feather"):
        raise ValueError(f"{file} is of no known kind; export it as CSV, or give one of {', '.join(FORMATS)}.")
    if encoding is not None:
        if suffix not in TEXTS:
            raise ValueError(f"{file} is no text file, so it has no encoding; leave out --encoding (encoding=).")
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ValueError(f"{encoding!r} is no known encoding; try utf-8, cp1252 or latin-1.") from None
    if sheet is not None and suffix not in EXCEL:
        raise ValueError(f"{file} is no Excel file, so it has no sheets; leave out --sheet (sheet=).")


def find_encoding(file: Path) -> str:
    """The encoding of a text file: by its mark, else UTF-8 if all of it is, else cp1252 or latin-1."""
    with file.open("rb") as stream:
        start = stream.read(4)
        for mark, name in _MARKS:
            if start.startswith(mark):
                return name
        stream.seek(0)
        candidates = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
        while candidates and (block := stream.read(2**20)):
            if b"\0" in block:
                raise ValueError("it holds zero bytes, as text does not")
            for name, decoder in list(candidates.items()):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    del candidates[name]
    return next(iter(candidates), "latin-1")


def _read_text(file: Path, encoding: str | None) -> pd.DataFrame:
    """A text table; a comma can be the decimal sign where it separates nothing: the reading with more numbers."""
    import pandas as pd

    found = encoding or find_encoding(file)
    separator = _separator(file, found)
    decimals = "." if separator == "," else ".,"
    readings = {sign: pd.read_csv(file, sep=separator, decimal=sign, encoding=found) for sign in decimals}
    decimal = max(readings, key=lambda sign: readings[sign].select_dtypes("number").shape[1])
    table = readings[decimal]
    table.attrs[DECIMAL] = decimal
    if encoding is None and not found.startswith("utf"):
        table.attrs[REMARK] = f"{file.name} is not UTF-8; it was read as {found} (--encoding names another)."
    return table


def _separator(file: Path, encoding: str) -> str:
    """A tab for ``.tsv``, else the comma, semicolon or tab that the line of column names has most of."""
    if file.suffix.lower() == ".tsv":
        return "\t"
    with file.open(encoding=encoding, errors="replace") as stream:
        header = stream.readline()
    return max(",;\t", key=header.count)


def _read_excel(file: Path, sheet: str | None) -> pd.DataFrame:
    """A sheet of an Excel file, without its empty rows and nameless empty columns."""
    import pandas as pd
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = pd.ExcelFile(file, engine="openpyxl")
    except (BadZipFile, InvalidFileException, TypeError) as error:
        raise ValueError(f"it is no Excel file: {error}") from None
    with book:
        names = list(map(str, book.sheet_names))
        if sheet is not None and sheet not in names:
            raise ValueError(f"there is no sheet {sheet!r}{did_you_mean(sheet, names)}, only {quoted(names)}")
        table = pd.read_excel(book, sheet_name=sheet or names[0])
    nameless = [name for name in table.columns if str(name).startswith("Unnamed: ") and table[name].isna().all()]
    table = table.drop(columns=nameless).dropna(how="all").reset_index(drop=True)
    if not len(table.columns):
        raise pd.errors.EmptyDataError
    if sheet is None and len(names) > 1:
        others = quoted(names[1:])
        table.attrs[REMARK] = (
            f"Of the sheets in {file.name}, {names[0]!r} was read; --sheet chooses another ({others})."
        )
    return table
