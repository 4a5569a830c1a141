"""Tables of the page: what a cell shows and by what it sorts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.report_models import Case
from vmtl.evaluation import Interval, gains
from vmtl.report import read_map, sheets


def test_a_cell_sorts_by_its_value_not_by_its_text() -> None:
    assert sheets.number_cell(12.3456).text == "12.346"
    assert sheets.number_cell(12.3456).value == 12.3456
    assert (sheets.number_cell(math.nan).text, sheets.number_cell(math.nan).value) == ("–", math.inf)


def test_ends_that_are_not_known_are_left_out() -> None:
    assert (
        sheets.interval_cell(Interval(0.5, 0.4, 0.6)).text.replace("\N{NO-BREAK SPACE}", " ")
        == "0.500 (0.400 to 0.600)"
    )
    assert sheets.interval_cell(Interval(0.5, math.nan, math.nan)).text == "0.500"


def test_every_task_and_all_rows_have_a_line(class_case: Case) -> None:
    sheet = sheets.score_sheet(class_case.evidence)
    assert [row[0].text for row in sheet.rows] == ["north", "south", "west", "all rows", "mean of tasks"]
    assert sum(int(row[1].text) for row in sheet.rows[:3]) == int(sheet.rows[3][1].text)
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)


def test_an_error_above_the_mean_predictor_is_marked(real_case: Case) -> None:
    worse = replace(real_case.evidence, mean=-5 * real_case.evidence.y)
    column = sheets.score_sheet(worse).columns.index("NMSE")
    assert all(row[column].text.endswith("†") for row in sheets.score_sheet(worse).rows)


def test_the_best_method_of_a_task_is_marked_and_the_best_mean_first(class_case: Case) -> None:
    evidence = class_case.evidence
    worse = replace(evidence, p=evidence.p[:, ::-1])
    sheet = sheets.method_sheet("VMTL", evidence, {"stl": worse})
    assert sheet.rows[0][0].text == "VMTL (this model)"
    assert all("best" in cell.look for cell in sheet.rows[0][2:])
    assert not any("best" in cell.look for cell in sheet.rows[1][2:])


def test_gains_are_in_points(class_case: Case) -> None:
    evidence = class_case.evidence
    sheet = sheets.gain_sheet(gains(evidence, evidence), evidence, evidence)
    assert {row[3].value for row in sheet.rows} == {0.0}
    assert {row[4].text for row in sheet.rows} == {"no clear difference"}


def test_tables_of_many_tasks_name_the_largest(class_case: Case) -> None:
    evidence = class_case.evidence
    tasks = tuple(f"t{k}" for k in range(141))
    task = np.minimum(np.arange(150), 140)  # the last has ten rows
    many = replace(evidence, tasks=tasks, task=task)
    for sheet in (
        sheets.score_sheet(many),
        sheets.method_sheet("this", many, {"none": many}),
        sheets.gain_sheet(gains(many, many), many, many),
    ):
        assert len(sheet.rows) <= sheets.MOST_LISTED + 2
        assert "100 tasks with the most rows, of 141" in sheet.note
    assert sheets.score_sheet(many).rows[0][0].text == "t140"


def test_links_are_clear_or_open() -> None:
    weights = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.6, 0.4, 0]], index=list("abc"), columns=list("abc"))
    finding = read_map(weights, (weights * 0.9, weights.clip(lower=0.1) + 0.1))
    assert finding is not None
    sheet = sheets.arrow_sheet(finding, dict.fromkeys("abc", "0.90"), None)
    assert len(sheet.columns) == len(sheet.rows[0]) == 5
    assert [cell.text for cell in sheet.rows[0]] == ["a", "b", "0.90 [0.81, 1.00]", "clear", "0.90"]
    assert [row[3].text for row in sheet.rows] == ["clear", "clear", "open", "open", "open", "open"]
