"""One self-contained HTML page: no network, no further file, readable on a phone and on paper."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from importlib.resources import files

import numpy as np

from vmtl._utils.messages import counted, first_few, quoted
from vmtl._utils.missing_extra import require
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.evaluation.decisions import Costs
from vmtl.evaluation.importance import Importance
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.arrows import Control
from vmtl.report.certainty import weak_tasks
from vmtl.report.plots.decisions import is_binary
from vmtl.report.sections.decisions import decision_section
from vmtl.report.sections.importance import importance_section
from vmtl.report.sections.model import learning_section, settings_section
from vmtl.report.sections.relatedness import difference_section, difference_words, find_links, relatedness_section
from vmtl.report.sections.scores import error_section, gain_section, most_frequent, score_section, trust_section
from vmtl.report.sections.summary import answers
from vmtl.report.sheets import model_name
from vmtl.report.style import three_digits

#: Label, number and remark.
Card = tuple[str, str, str]


def render(
    model: BaseTaskEstimator,
    evidence: Evidence,
    others: Mapping[str, Evidence] | None = None,
    control: Control | None = None,
    facts: Mapping[str, object] | None = None,
    title: str = "Multi-task report",
    warnings: Sequence[str] = (),
    costs: Costs | None = None,
    importance: Importance | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    evidence, others, control : Evidence, mapping of str to Evidence, Control
        Its predictions on labelled rows, those of other methods for the same rows, refits whose tasks mean nothing.
    facts, title, warnings : mapping, str, sequence of str
        Where the model comes from (files, versions, seed), the heading, and sentences that stand before all else.
    costs, importance : Costs, Importance
        What the two kinds of errors of two classes cost; what every column is worth, by ``column_importance``.
    """
    require("report", "The report", "matplotlib", "jinja2", "markupsafe")
    others = others or {}
    finding = find_links(model, control, evidence, others)
    decisions = decision_section(evidence, costs)
    sections = [
        score_section(model, evidence, others),
        error_section(evidence),
        importance_section(importance),
        difference_section(model, finding, evidence, others),
        gain_section(evidence, others),
        trust_section(evidence),
        decisions if is_binary(evidence) else None,
    ]
    appendix = [
        None if is_binary(evidence) else decisions,
        relatedness_section(model, finding, control),
        learning_section(model),
        settings_section(model, facts or {}),
    ]
    return _fill_template(
        title=title,
        subtitle=_subtitle(model, evidence),
        warnings=warnings,
        cards=_cards(evidence),
        answers=answers(evidence, others, importance, difference_words(model, finding, evidence, others)),
        sections=[section for section in sections if section],
        appendix=[section for section in appendix if section],
    )


def _fill_template(**parts: object) -> str:
    """``page.html`` with its style and script inside."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("page.html")).render(
        style=Markup(_resource("page.css")),
        script=Markup(_resource("page.js")),
        raw=Markup,
        today=datetime.date.today().isoformat(),
        **parts,
    )


def _resource(name: str) -> str:
    return files("vmtl.report").joinpath(name).read_text(encoding="utf-8")


def _subtitle(model: BaseTaskEstimator, evidence: Evidence) -> str:
    kind = "classification" if evidence.p is not None else "regression"
    tasks, rows = counted(len(model.tasks_), "task"), counted(len(evidence.y), "labelled row")
    new = evidence.tasks[len(model.tasks_) :]
    way = "by the tasks they resemble" if model.unknown_task == "similar" else "as the average task"
    strange = f"; not in training, so predicted {way}: {quoted(new)}" if new else ""
    return f"{model_name(model).capitalize()}, {kind} of {tasks}, scored on {rows}{strange}"


def _cards(evidence: Evidence) -> list[Card]:
    """The page in a few numbers."""
    rows = np.arange(len(evidence.y))
    overall, scores = evidence.score(rows), evidence.scores(rows)
    ends = f"95 %: {overall.low:.3f} to {overall.high:.3f}"
    if evidence.p is None:
        assert evidence.mean is not None
        half = float(np.median(np.abs(evidence.mean - evidence.y)))
        cards = [
            ("typical error", three_digits(half), "half of the rows are nearer"),
            ("RMSE", f"{overall.value:.3f}", ends),
            ("R²", f"{scores['r2']:.3f}", "1 is perfect, 0 the mean"),
        ]
    else:
        guess = f"{100 * most_frequent(evidence):.1f} % by the most frequent answer"
        cards = [("right answers", f"{100 * overall.value:.1f} %", guess), ("accuracy", f"{overall.value:.3f}", ends)]
        if np.isfinite(scores["auc"]):
            cards.append(("AUC", f"{scores['auc']:.3f}", "1 is perfect, 0.5 guessing"))
    if len(evidence.present) > 1:
        weak = [evidence.tasks[t] for t in weak_tasks(evidence)]
        remark = first_few(weak) if weak else "no task stands out for certain"
        cards.append(("weak tasks", f"{len(weak)} of {len(evidence.present):,}", remark))
    return cards
