"""Sections on the model itself."""

from __future__ import annotations

from helpers.report_models import Case
from vmtl.report.sections.model import learning_section, settings_section


def test_training_is_told_from_its_first_to_its_last_step(class_case: Case) -> None:
    section = learning_section(class_case.model)
    history = class_case.model.history_
    assert f"In {history['step'].max()} steps" in section.words[0]
    assert section.pictures


def test_settings_and_origin_are_tables(class_case: Case) -> None:
    section = settings_section(class_case.model, {"seed": 7})
    facts, settings = section.sheets
    assert [cell.text for cell in facts.rows[0]] == ["seed", "7"]
    assert {row[0].text for row in settings.rows} == set(class_case.model.settings_.to_json())
