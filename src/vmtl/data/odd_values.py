"""Numbers that stand far from all others, such as a slip of the decimal point or a code for a missing value."""

from __future__ import annotations

import numpy as np

from vmtl._utils.types import Array

#: Rows from which on a few can stand out, and the largest share of rows that does.
LEAST_ROWS, LARGEST_SHARE = 20, 0.03
#: How many times as far from the median as all other values, and as far as nine in ten of them, an odd value lies.
TIMES_AS_FAR = 8
#: Codes for a missing value; they count where the range of all other values ends well before them.
CODES = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
#: The distance of a code from the nearest other value, as a share of the range of the others.
CODE_GAP = 0.5


def odd_values(values: Array, task: Array | None = None) -> Array:
    """Places of the few values that lie far from all others, in order of their rows.

    A whole task of such values is a task with a scale of its own, not a slip.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers; NaN is a gap.
    task : array of shape (n,), default=None
        The number of the task of each row.
    """
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < LEAST_ROWS:
        return np.zeros(0, dtype=np.int64)
    x = values[known]
    odd = known[_far_away(x) | _code(x)]
    if task is not None and len(odd):
        share = np.bincount(task[odd], minlength=int(task.max()) + 1) / np.maximum(1, np.bincount(task[known]))
        odd = odd[share[task[odd]] <= 0.5]
    return odd


def _far_away(x: Array) -> Array:
    """Values behind a wide gap: the largest distances from the median, if they are few."""
    distance = np.abs(x - np.median(x))
    ordered = np.sort(distance)
    first = min(int(np.ceil((1 - LARGEST_SHARE) * len(x))) - 1, len(x) - 2)
    near, far = ordered[first:-1], ordered[first + 1 :]
    wide = (near > 0) & (far >= TIMES_AS_FAR * np.maximum(near, np.quantile(distance, 0.9)))
    return distance >= far[wide.argmax()] if wide.any() else np.zeros(len(x), dtype=bool)


def _code(x: Array) -> Array:
    """Cells with a code that lies beyond the range of all other values; at least two, and not too many."""
    for code in CODES:
        cells = x == code
        others = x[~cells]
        if not 2 <= cells.sum() <= len(x) / 2 or not np.ptp(others):
            continue
        gap = others.min() - code if code < others.min() else code - others.max()
        if gap >= CODE_GAP * np.ptp(others):
            return np.asarray(cells)
    return np.zeros(len(x), dtype=bool)
