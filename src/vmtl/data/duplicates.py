"""Rows that are equal: recognised by a digest, kept together or merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.data.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

#: Rows hashed at a time, so that a memory-mapped X is never read whole.
_BLOCK = 4096


def row_digests(*columns: Array) -> Iterator[bytes]:
    """One digest per row of arrays side by side: rows that are equal share it; 0.0 and -0.0 are equal."""
    for start in range(0, len(columns[0]), _BLOCK):
        blocks = [_block(column[start : start + _BLOCK]) for column in columns]
        for cells in zip(*blocks, strict=True):
            yield blake2b(b"".join(map(_bytes, cells)), digest_size=16).digest()


def _block(values: Array) -> Array:
    return np.ascontiguousarray(values + 0.0 if values.dtype.kind == "f" else values)


def _bytes(cells: Array) -> bytes:
    return repr(cells.tolist()).encode() if cells.dtype == object else cells.tobytes()


def duplicate_groups(X: Array | pd.DataFrame) -> Array:
    """(n,) one number per distinct row of X; rows that are equal share it."""
    if hasattr(X, "iloc"):
        from pandas.util import hash_pandas_object

        return np.unique(hash_pandas_object(X, index=False).to_numpy(), return_inverse=True)[1]
    return _numbered(row_digests(X))


def merge_duplicates(rows: Rows) -> Rows:
    """Rows that are alike in x, y and task become one with their weights summed; rows of weight 0 go.

    A row twice is then the same as a row of weight 2, and no row helps to predict its own copy when left out.
    """
    if bool((rows.weight <= 0).any()):
        rows = rows.take((rows.weight > 0).nonzero().flatten())
    columns = (column.cpu().numpy() for column in (rows.x, rows.y, rows.task))
    group = _numbered(row_digests(*columns))
    if group.max(initial=-1) + 1 == len(group):  # all are different
        return rows
    first = torch.from_numpy(np.unique(group, return_index=True)[1]).to(rows.task.device)
    weight = torch.from_numpy(np.bincount(group, weights=rows.weight.cpu().numpy())).to(rows.weight)
    return replace(rows.take(first), weight=weight)


def _numbered(digests: Iterator[bytes]) -> Array:
    """(n,) the number of each digest, in the order in which they first appear."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(digest, len(numbers)) for digest in digests], dtype=np.intp)
