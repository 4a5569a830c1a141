"""Sections on the model itself."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.report_models import Case
from vmtl import VMTLClassifier
from vmtl.report.sections.model import learning_section, settings_section


def test_training_is_told_from_its_first_to_its_last_step(class_case: Case) -> None:
    rows = class_case.train
    model = VMTLClassifier(max_steps=3, random_state=0).fit(rows.X, rows.y, tasks=rows.tasks)
    section = learning_section(model)
    assert section is not None
    assert "In 3 steps" in section.words[0]
    assert section.pictures


@pytest.mark.parametrize("kind", ["no history", "no step"])
def test_a_fit_without_steps_has_no_learning_curve(class_case: Case, kind: str) -> None:
    """A chart of no steps is blank: from 0.0518 to 0.0518 in 0 steps."""
    history = pd.DataFrame({"step": [0, 0], "task": ["a", "b"], "nll": [0.05, 0.05]})
    assert learning_section(class_case.model if kind == "no history" else SimpleNamespace(history_=history)) is None


def test_parameters_origin_and_what_was_inferred_are_tables(class_case: Case) -> None:
    facts, parameters, inferred = settings_section(class_case.model, {"seed": 7}).sheets
    assert [cell.text for cell in facts.rows[0]] == ["seed", "7"]
    assert {row[0].text for row in parameters.rows} == set(class_case.model.get_params())
    assert {"kernel_shares", "strength"} < {row[0].text for row in inferred.rows}
