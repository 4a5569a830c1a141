"""One self-contained HTML page: no network, no further file, readable on a phone and on paper."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from vmtl.report.evidence import Evidence
from vmtl.report.relatedness import Control, arrows
from vmtl.report.sections import Section
from vmtl.report.sections_model import learning_section, relatedness_section, settings_section
from vmtl.report.sections_scores import error_section, gain_section, score_section, trust_section


def render(
    model: Any,
    evidence: Evidence,
    others: Mapping[str, Evidence] | None = None,
    control: Control | None = None,
    facts: Mapping[str, Any] | None = None,
    title: str = "Multi-task report",
) -> str:
    """The page as text.

    model : a fitted estimator; evidence : its predictions on labelled rows.
    others : predictions of other methods on the same rows; control : refits whose tasks mean nothing.
    facts : what to say about origin: files, versions, seed, command.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    others = others or {}
    sections = [
        score_section(model, evidence, others),
        gain_section(evidence, others),
        relatedness_section(model, control),
        trust_section(evidence),
        error_section(evidence),
        learning_section(model),
        settings_section(model, facts or {}),
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("page.html")).render(
        title=title,
        subtitle=_subtitle(model, evidence),
        cards=_cards(model, evidence, sections[1]),
        sections=[section for section in sections if section is not None],
        style=Markup(_resource("page.css")),
        script=Markup(_resource("page.js")),
        raw=Markup,
        today=datetime.date.today().isoformat(),
    )


def _resource(name: str) -> str:
    return files("vmtl.report").joinpath(name).read_text(encoding="utf-8")


def _subtitle(model: Any, evidence: Evidence) -> str:
    kind = "classification" if evidence.p is not None else "regression"
    return f"{model.method_.name}, {kind} of {len(evidence.tasks)} tasks, scored on {len(evidence.y)} labelled rows"


def _cards(model: Any, evidence: Evidence, helped: Section | None) -> list[tuple[str, str, str]]:
    """The page in a few numbers: label, number, remark."""
    overall = evidence.score(np.arange(len(evidence.y)))
    cards = [(evidence.measure, f"{overall.value:.3f}", f"95 %: {overall.low:.3f} to {overall.high:.3f}")]
    values = {t: evidence.score(evidence.rows(t)).value for t in evidence.present}
    pick = min if evidence.p is not None else max
    weakest = pick(values, key=lambda t: values[t])
    cards.append(("weakest task", f"{values[weakest]:.3f}", evidence.tasks[weakest]))
    if evidence.p is not None:
        cards.append(("calibration error", f"{evidence.scores(np.arange(len(evidence.y)))['ece']:.3f}", "0 is perfect"))
    found = arrows(model.alpha_)
    if found:
        cards.append(("strongest link", f"{found[0].weight:.2f}", f"{found[0].learner} learns from {found[0].teacher}"))
    if helped is not None:
        verdicts = [row[-1].text for row in helped.sheets[0].rows]
        cards.append(
            ("tasks helped", str(verdicts.count("helped")), f"{verdicts.count('hurt')} hurt, of {len(verdicts)}")
        )
    return cards
