"""The raw frame with the task as a further category, for tools that take categories and gaps."""

from __future__ import annotations

import pandas as pd

from benchmarks.peers.sets import Rows

TASK = "task of the row"


def with_task(rows: Rows) -> pd.DataFrame:
    """Numbers as they are, text columns and the task as text."""
    return rows.frame.assign(**{TASK: rows.task.astype(str)})


def text_columns(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]


class Categories:
    """Text columns as pandas categories with the levels of the training rows; another level is a gap."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._levels = {name: sorted(frame[name].unique()) for name in text_columns(frame)}

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        typed = {
            name: pd.Categorical(frame[name].where(frame[name].isin(levels)), categories=levels)
            for name, levels in self._levels.items()
        }
        return frame.assign(**typed)
