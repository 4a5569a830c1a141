"""A Parquet file as `vmtl fit` reads it, and as one of a folder whose rows come block by block.

An input whose first byte is even is a file; of any other, the bytes choose the types and values of a table, which is
written as a file that is valid and unusual.
"""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable
from typing import Any

import pyarrow
from pyarrow import parquet

from oracle import FOLDER, as_file, refused_in_a_sentence
from targets.csv_table import check_problem
from vmtl.data.stored.parquet_folder import ParquetFolder
from vmtl.datasets.table_files import read_table

#: Types of columns, each with values that are easy to get wrong.
TYPES: tuple[tuple[Callable[[], pyarrow.DataType], tuple[Any, ...]], ...] = (
    (pyarrow.int8, (0, 1, -128)),
    (pyarrow.uint64, (0, 1, 2**64 - 1)),
    (pyarrow.int64, (0, 1, -(2**63))),
    (pyarrow.float32, (0.5, float("nan"), float("-inf"))),
    (pyarrow.float64, (1.0, 1e308, 5e-324)),
    (pyarrow.bool_, (True, False, True)),
    (pyarrow.string, ("a", "", "ü\x00")),
    (pyarrow.large_string, ("1", "2.5", "nan")),
    (pyarrow.binary, (b"a", b"", b"\xff")),
    (pyarrow.null, (None, None, None)),
    (pyarrow.date32, (datetime.date(2020, 1, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31))),
    (lambda: pyarrow.timestamp("us"), (0, 1, 2**62)),
    (lambda: pyarrow.timestamp("ns", tz="Asia/Kolkata"), (0, 1, 2**62)),
    (lambda: pyarrow.duration("us"), (0, 1, 2**50)),
    (lambda: pyarrow.time64("us"), (0, 1, 2**30)),
    (lambda: pyarrow.decimal128(20, 2), (decimal.Decimal("1.25"), decimal.Decimal(0), decimal.Decimal(-1))),
    (lambda: pyarrow.list_(pyarrow.int64()), ([1], [], [1, 2])),
    (lambda: pyarrow.struct([("a", pyarrow.int64())]), ({"a": 1}, {"a": None}, {"a": 2})),
    (lambda: pyarrow.map_(pyarrow.string(), pyarrow.int64()), ([("a", 1)], [], [("b", 2)])),
    (lambda: pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), ("a", "b", "")),
)
NAMES = ("t", "y", "x", "age", "", "t", "__index_level_0__", "ü.b", "'")


def file_of(table: pyarrow.Table) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def unusual_table(choices: bytes) -> pyarrow.Table:
    """Columns and values by the bytes: the number of rows, then per column a name, a type and the values."""
    stream = iter(choices)
    n_rows = next(stream, 3) % 9
    names, arrays = [], []
    for name in stream:
        kind, values = TYPES[next(stream, 0) % len(TYPES)]
        picked = [next(stream, 0) % 4 for _ in range(n_rows)]
        names.append(NAMES[name % len(NAMES)])
        arrays.append(pyarrow.array([(*values, None)[place] for place in picked], type=kind()))
    return (
        pyarrow.Table.from_arrays(arrays, names=names) if arrays else pyarrow.table({"t": pyarrow.array([], "int64")})
    )


PLAIN = {"t": ["a", "a", "b", "b"], "y": [0, 1, 0, 1], "x": [0.5, None, 1.5, 2.0], "place": ["n", "s", None, "n"]}
SEEDS = (
    b"\0" + file_of(pyarrow.table(PLAIN)),
    *(bytes([1, 6, *(0, 6, 0, 0, 1, 1, 0, 1), *(1, 0, 0, 1, 0, 1, 0, 1), 2, k, *range(6)]) for k in range(len(TYPES))),
)


def one_input(data: bytes) -> None:
    content = data[1:]
    if data[:1] and data[0] % 2:
        try:
            content = file_of(unusual_table(content))
        except (pyarrow.ArrowException, OverflowError):
            return  # no such file can be written
    file = as_file(content, "table.parquet")
    with refused_in_a_sentence(ValueError):
        check_problem(read_table(file, task="t", target="y"))
    folder = FOLDER / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "part.parquet").write_bytes(content)
    with refused_in_a_sentence(ValueError):
        opened = ParquetFolder.open(folder)
        n_rows = sum(len(frame) for part in opened.parts for _, frame in part.frames(list(opened.columns)))
        assert n_rows == sum(part.n_rows for part in opened.parts)
