"""Rows that are equal: found by their bytes, kept together or merged."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.data.rows import Rows

#: Rows hashed at a time, so that a memory-mapped X is never read whole.
_BLOCK = 4096


def duplicate_groups(X: Any) -> Array:
    """(n,) one number per distinct row of X, by its bytes; rows that are equal share it."""
    if hasattr(X, "iloc"):
        from pandas.util import hash_pandas_object

        return np.unique(hash_pandas_object(X, index=False).to_numpy(), return_inverse=True)[1]
    numbers: dict[bytes, int] = {}
    groups = np.empty(len(X), dtype=np.intp)
    for start in range(0, len(X), _BLOCK):
        block = np.ascontiguousarray(X[start : start + _BLOCK])
        for row, value in enumerate(block.astype(str) if block.dtype == object else block, start=start):
            groups[row] = numbers.setdefault(blake2b(value.tobytes()).digest(), len(numbers))
    return groups


def merge_duplicates(rows: Rows) -> Rows:
    """Rows that are alike in x, y and task become one with their weights summed; rows of weight 0 go.

    A row twice is then the same as a row of weight 2, and no row helps to predict its own copy when left out.
    """
    if bool((rows.weight <= 0).any()):
        rows = rows.take((rows.weight > 0).nonzero().flatten())
    place: dict[bytes, int] = {}
    same = np.empty(len(rows.y), dtype=np.int64)  # the number of each row's first copy
    for start in range(0, len(same), _BLOCK):
        columns = (rows.x, rows.y, rows.task)
        x, y, task = ((column[start : start + _BLOCK] + 0).cpu().numpy() for column in columns)  # + 0: -0.0 is 0.0
        for n in range(len(y)):
            key = blake2b(x[n].tobytes() + y[n].tobytes() + task[n].tobytes(), digest_size=16).digest()
            same[start + n] = place.setdefault(key, len(place))
    first = torch.from_numpy(np.unique(same, return_index=True)[1]).to(rows.task.device)
    weight = torch.from_numpy(np.bincount(same, weights=rows.weight.cpu().numpy())).to(rows.weight)
    return replace(rows.take(first), weight=weight)
