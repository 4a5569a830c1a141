"""The section on decisions: curves over all thresholds, and what the threshold of stated costs does."""

from __future__ import annotations

import math

from vmtl.estimators.metrics.class_metrics import auc
from vmtl.evaluation.decisions import Costs, Decision, decide, event_of
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.plots.decisions import is_binary, plot_precision_recall, plot_roc, thin_curves
from vmtl.report.plots.svg import Picture, draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import decision_sheet


def decision_section(evidence: Evidence, costs: Costs | None) -> Section | None:
    """How well classes are told apart, and where to draw the line between two; None in regression."""
    if evidence.p is None or not math.isfinite(area := auc(evidence.y, evidence.p)):
        return None
    if not is_binary(evidence):
        told = f"The area under the ROC curve, averaged over classes, is {area:.3f}; guessing has 0.5."
        return Section("decisions", "How well does it tell classes apart?", (told,), (_roc(evidence, None, area),))
    assert evidence.classes is not None
    name, asked = evidence.classes[evidence.positive], costs or Costs()
    rules = rules_of(evidence, asked)
    words = [
        f"Of a row with {name!r} and a row without, it gives the one with it the higher probability in "
        f"{100 * area:.0f} % of all pairs (area under the ROC curve {area:.3f}; guessing has 0.5).",
        _threshold_words(name, rules["this threshold"], asked, costs is not None),
        "The threshold follows from the costs and is not fitted to these rows; it is as good as the probabilities are "
        "calibrated.",
    ]
    pictures = (_roc(evidence, asked, area), _precision_recall(evidence, asked))
    return Section("decisions", "Where to draw the line?", tuple(words), pictures, (decision_sheet(rules, name),))


def rules_of(evidence: Evidence, costs: Costs) -> dict[str, Decision]:
    """What the threshold of the costs does, beside other rules."""
    return {
        "this threshold": decide(evidence, costs),
        "the more probable class": decide(evidence, costs, 0.5),
        "always announce": decide(evidence, costs, 0.0),
        "never announce": decide(evidence, costs, math.inf),
    }


def _threshold_words(name: str, chosen: Decision, costs: Costs, stated: bool) -> str:
    given = (
        f"If a missed {name!r} costs {costs.missed:g} and a false alarm {costs.false_alarm:g}"
        if stated
        else "If both errors cost the same (say otherwise with --cost-false-negative and --cost-false-positive)"
    )
    return (
        f"{given}, announce {name!r} from a probability of {100 * chosen.threshold:.0f} % on: of these rows that finds "
        f"{_percent(chosen.sensitivity)} of those with it, alarms falsely on {_percent(1 - chosen.specificity)} of the "
        f"others, and {_percent(chosen.precision)} of its announcements are right."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if math.isfinite(share) else "none"


def _roc(evidence: Evidence, costs: Costs | None, area: float) -> Picture:
    thin = "tasks" if is_binary(evidence) else "classes, each against all others"
    lines = f" Thin lines are {thin}." if thin_curves(evidence) else ""
    dot = " The dot is the threshold of the costs." if costs is not None else ""
    return draw(
        "roc",
        lambda ax: plot_roc(evidence, costs, ax),
        height=3.7,
        title="ROC curve",
        caption=f"Every point is a threshold; guessing is the dashed line.{lines}{dot}",
        alt=f"Area under the ROC curve: {area:.3f}.",
    )


def _precision_recall(evidence: Evidence, costs: Costs) -> Picture:
    event, _ = event_of(evidence)
    chosen = decide(evidence, costs)
    return draw(
        "precision-recall",
        lambda ax: plot_precision_recall(evidence, costs, ax),
        height=3.7,
        title="Precision and recall",
        caption="Every point is a threshold; announcing at random is the dashed line, the share of rows with it.",
        alt=f"{event.mean():.1%} of the rows have it; at the threshold of the costs recall is "
        f"{_percent(chosen.sensitivity)}, precision {_percent(chosen.precision)}.",
    )
