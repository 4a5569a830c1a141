"""One order for the same rows, however they are given: what is drawn or dealt by number then does not depend on it."""

from __future__ import annotations

import numpy as np
import torch

from vmtl._utils.types import Array
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows

#: Rows whose keys are computed together.
PART_ROWS = 65_536


def in_canonical_order(rows: Rows) -> Rows:
    """The distinct rows by task, and inside a task by a fixed direction of their standardised columns."""
    rows = merge_duplicates(rows)
    order = np.lexsort((rows.y.cpu().numpy(), _key(rows.x.cpu().numpy()), rows.task.cpu().numpy()))
    return rows.take(torch.from_numpy(order).to(rows.task.device))


def _key(x: Array) -> Array:
    """(n,) a number for each row, nearly the same in whatever order they come."""
    centre, spread = x.mean(0), x.std(0)
    direction = np.random.default_rng(0).normal(size=x.shape[1]) / np.where(spread > 0, spread, 1.0)
    parts = [(x[start : start + PART_ROWS] - centre) @ direction for start in range(0, len(x), PART_ROWS)]
    return np.concatenate(parts) if parts else np.zeros(0)
