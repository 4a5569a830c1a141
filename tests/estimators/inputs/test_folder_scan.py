"""The first look at a folder: blocks add up to what one look at all rows says, and pandas agrees."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import pytest

from helpers.folders import labelled
from vmtl.estimators.inputs.folder_scan import Scan, ScanOfBlock, as_sum


def scanned(table: pd.DataFrame, look: ScanOfBlock, block: int) -> Scan:
    """Block by block, as owners do: sums of one."""
    scans = [as_sum(look(table.iloc[first : first + block], first)) for first in range(0, len(table), block)]
    return reduce(lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)), scans)[0]


@pytest.mark.parametrize("block", [7, 90])
def test_tasks_and_classes_are_counted_over_all_blocks(block: int) -> None:
    table = labelled(90, 3).assign(y=lambda rows: np.array(["low", "mid", "top"])[rows["y"]])
    scan = scanned(table, ScanOfBlock("site", "y", (), True), block)
    assert dict(scan.tasks) == table["site"].value_counts().to_dict()
    assert dict(scan.classes) == table["y"].value_counts().to_dict()
    assert scan.labels.tolist() == ["low", "mid", "top"]
    assert scan.labels.dtype == object
    assert scan.values.count == 0
    assert scan.table.columns == ()


@pytest.mark.parametrize("block", [7, 90])
def test_targets_and_columns_have_the_moments_that_pandas_gives(block: int) -> None:
    table = labelled(90, 0).assign(colour=lambda rows: np.where(rows["a"] > 0, "red", "blue"))
    table.loc[3:9, "c"] = np.nan
    scan = scanned(table, ScanOfBlock("site", "y", ("c", "colour"), False), block)
    assert not scan.classes
    assert scan.values.mean == pytest.approx(table["y"].mean())
    assert scan.values.scale == pytest.approx(table["y"].std(ddof=0))
    numbers, texts = scan.table.columns
    assert (numbers.gaps, numbers.count) == (7, 83)
    assert numbers.mean == pytest.approx(table["c"].mean())
    assert numbers.scale == pytest.approx(table["c"].std(ddof=0))
    assert dict(texts.levels) == table["colour"].value_counts().to_dict()


def test_classes_that_are_numbers_stay_numbers() -> None:
    scan = scanned(labelled(90, 3), ScanOfBlock("site", "y", (), True), 20)
    assert scan.labels.tolist() == [0, 1, 2]
    assert scan.labels.dtype.kind == "i"


@pytest.mark.parametrize("column", ["site", "y"])
def test_a_row_without_its_task_or_target_is_one_sentence(column: str) -> None:
    table = labelled(30, 0)
    table.loc[12, column] = None
    with pytest.raises(ValueError, match=f"^Column '{column}' of the folder is empty in some rows; fill or remove"):
        scanned(table, ScanOfBlock("site", "y", (), False), 10)
