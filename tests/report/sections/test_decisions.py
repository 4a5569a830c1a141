"""The section on decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers.report_models import Case, event_evidence
from vmtl.evaluation import Costs
from vmtl.report.sections.decisions import decision_section


def test_costs_and_what_they_do_are_said_in_words() -> None:
    section = decision_section(event_evidence(), Costs(missed=4))
    assert section is not None
    assert (
        "If a missed 'relapse' costs 4 and a false alarm 1, announce 'relapse' from a probability of 20 % on"
        in (section.words[1])
    )
    rules = {row[0].text: row for row in section.sheets[0].rows}
    assert rules["never announce"][3].text == "0.000"
    assert rules["always announce"][3].text == "1.000"
    assert rules["this threshold"][1].text == "0.20"
    plain = decision_section(event_evidence(), None)
    assert plain is not None
    assert "--cost-false-negative" in plain.words[1]


def test_many_classes_have_curves_but_no_threshold(class_case: Case, real_case: Case) -> None:
    section = decision_section(class_case.evidence, None)
    assert section is not None
    assert section.sheets == ()
    assert [picture.title for picture in section.pictures] == ["ROC curve"]
    assert decision_section(real_case.evidence, None) is None
    one = event_evidence()
    assert decision_section(replace(one, y=np.zeros_like(one.y)), None) is None
