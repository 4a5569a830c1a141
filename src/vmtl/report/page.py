"""One self-contained HTML page: no network, no further file, readable on a phone and on paper."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from importlib.resources import files

import numpy as np

from vmtl._utils.messages import counted, first_few, quoted
from vmtl._utils.missing_extra import require
from vmtl.estimators.base import BaseMultiTask
from vmtl.evaluation.decisions import Costs
from vmtl.evaluation.importance import Importance
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.arrows import Control
from vmtl.report.finding import Finding, read_model
from vmtl.report.many_tasks import MOST_MAPPED
from vmtl.report.sections.decisions import decision_section
from vmtl.report.sections.importance import importance_section
from vmtl.report.sections.model import learning_section, settings_section
from vmtl.report.sections.relatedness import relatedness_section
from vmtl.report.sections.scores import error_section, gain_section, score_section, trust_section
from vmtl.report.sections.section import Section

#: Label, number and remark.
Card = tuple[str, str, str]


def render(
    model: BaseMultiTask,
    evidence: Evidence,
    others: Mapping[str, Evidence] | None = None,
    control: Control | None = None,
    facts: Mapping[str, object] | None = None,
    title: str = "Multi-task report",
    warnings: Sequence[str] = (),
    worth: Mapping[str, float] | None = None,
    costs: Costs | None = None,
    importance: Importance | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator.
    evidence, others, control : Evidence, mapping of str to Evidence, Control
        Its predictions on labelled rows, those of other methods for the same rows, refits whose tasks mean nothing.
    facts, title, warnings : mapping, str, sequence of str
        Where the model comes from (files, versions, seed), the heading, and sentences that stand before all else.
    worth, costs, importance : mapping of str to float, Costs, Importance
        Losses of left-out training rows under four structures (``structure_worth_of``), the costs of the two kinds of
        errors of two classes, and what every column is worth (``column_importance``).
    """
    require("report", "The report", "matplotlib", "jinja2", "markupsafe")
    sections = [
        score_section(model, evidence, others or {}),
        gain_section(evidence, others or {}),
        decision_section(evidence, costs),
        relatedness_section(model, control, worth),
        importance_section(importance),
        trust_section(evidence),
        error_section(evidence),
        learning_section(model),
        settings_section(model, facts or {}),
    ]
    cards = _cards(model, evidence, sections[1], control)
    return _fill_template(title, _subtitle(model, evidence), warnings, cards, sections)


def _fill_template(
    title: str, subtitle: str, warnings: Sequence[str], cards: Sequence[Card], sections: Sequence[Section | None]
) -> str:
    """``page.html`` with its style and script inside."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("page.html")).render(
        title=title,
        subtitle=subtitle,
        warnings=warnings,
        cards=cards,
        sections=[section for section in sections if section],
        style=Markup(_resource("page.css")),
        script=Markup(_resource("page.js")),
        raw=Markup,
        today=datetime.date.today().isoformat(),
    )


def _resource(name: str) -> str:
    return files("vmtl.report").joinpath(name).read_text(encoding="utf-8")


def _subtitle(model: BaseMultiTask, evidence: Evidence) -> str:
    kind = "classification" if evidence.p is not None else "regression"
    tasks, rows = counted(len(model.tasks_), "task"), counted(len(evidence.y), "labelled row")
    new = evidence.tasks[len(model.tasks_) :]
    way = "by the tasks they resemble" if model.unknown_task == "similar" else "as the average task"
    strange = f"; not in training, so predicted {way}: {quoted(new)}" if new else ""
    return f"{model.method_.name}, {kind} of {tasks}, scored on {rows}{strange}"


def _cards(model: BaseMultiTask, evidence: Evidence, helped: Section | None, control: Control | None) -> list[Card]:
    """The page in a few numbers."""
    overall = evidence.score(np.arange(len(evidence.y)))
    cards = [(evidence.measure, f"{overall.value:.3f}", f"95 %: {overall.low:.3f} to {overall.high:.3f}")]
    values = {t: evidence.score(evidence.rows(t)).value for t in evidence.present}
    if len(values) > 1:
        worst = (min if evidence.p is not None else max)(values.values())
        weakest = [evidence.tasks[t] for t, value in values.items() if value == worst]
        cards.append(("weakest task" if len(weakest) == 1 else "weakest tasks", f"{worst:.3f}", first_few(weakest)))
    scores = evidence.scores(np.arange(len(evidence.y)))
    if evidence.p is None:
        cards.append(("R²", f"{scores['r2']:.3f}", f"mean absolute error {scores['mae']:.3f}"))
    else:
        if np.isfinite(scores["auc"]):
            cards.append(("AUC", f"{scores['auc']:.3f}", f"balanced accuracy {scores['balanced_accuracy']:.3f}"))
        cards.append(("calibration error", f"{scores['ece']:.3f}", f"a perfect model: {scores['ece_perfect']:.3f}"))
    finding = read_model(model, control) if len(model.tasks_) <= MOST_MAPPED else None
    if finding is not None:
        cards.append(_link_card(finding))
    if helped is not None:
        verdicts = [row[-1].text for row in helped.sheets[0].rows]
        cards.append(
            ("tasks helped", str(verdicts.count("helped")), f"{verdicts.count('hurt')} hurt, of {len(verdicts)}")
        )
    return cards


def _link_card(finding: Finding) -> Card:
    """The strongest link that is clear, if there is one."""
    if finding.answer == "flat":
        return ("strongest link", "none", "no task preferred")
    is_clear = finding.answer == "clear" and bool(finding.preferred)
    strongest = finding.preferred[0] if is_clear else finding.arrows[0]
    ends = "" if strongest.interval is None else f"; 90 %: {strongest.interval[0]:.2f} to {strongest.interval[1]:.2f}"
    if not is_clear:
        return ("strongest link", "none is clear", f"the strongest has a weight of {strongest.weight:.2f}{ends}")
    return ("strongest link", f"{strongest.weight:.2f}", f"{strongest.learner} learns from {strongest.teacher}{ends}")
