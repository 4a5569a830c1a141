"""Tables of the page: what a cell shows and by what it sorts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.report_models import Case
from vmtl.evaluation import Interval, gains
from vmtl.report import Control, read_map, sheets


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


def test_arrows_stand_against_even_and_against_the_control() -> None:
    weights = pd.DataFrame([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.6, 0.4, 0]], index=list("abc"), columns=list("abc"))
    strengths = dict.fromkeys("abc", "0.90")
    plain = read_map(weights)
    assert plain is not None
    assert sheets.arrow_sheet(plain, strengths, None).columns == (
        "task",
        "learns from",
        "weight",
        "strength r of the task",
    )
    low = weights * np.array([[1, 0.9, 0], [0.5, 1, 0.5], [0.84, 0.5, 1]])
    finding = read_map(weights, (low, weights.clip(lower=0.1) + 0.1))
    assert finding is not None
    control = Control(np.full((1, 3, 3), 0.5), np.full((1, 3, 3), 0.5))
    sheet = sheets.arrow_sheet(finding, strengths, control)
    assert sheet.columns[3:] == ("against even", "strength r of the task", "above chance")
    rows = sheet.rows
    assert [cell.text for cell in rows[0]] == ["a", "b", "0.90 [0.81, 1.00]", "clearly more", "0.90", "yes"]
    assert [cell.text for cell in rows[1]] == [
        "c",
        "a",
        "0.60 [0.50, 0.70]",
        "leans to more",
        "0.90",
        "yes",
    ]
    assert [row[-1].text for row in rows[2:]] == ["no"] * 4
    assert [row[3].text for row in rows[2:]] == ["open", "open", "open", "clearly less"]


def test_the_worth_of_a_structure_is_told_against_the_inferred_one() -> None:
    rows = sheets.worth_sheet({"inferred": 0.5, "even": 0.75, "alone": 1.0, "pooled": 0.4}).rows
    assert [row[2].text for row in rows] == ["+0.000", "+0.250", "+0.500", "-0.100"]
