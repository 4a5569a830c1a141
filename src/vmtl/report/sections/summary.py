"""The first screen: five questions, each with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vmtl._utils.messages import first_few
from vmtl.evaluation.comparison import POOLED, alone_of, lead
from vmtl.evaluation.importance import Importance
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.certainty import gain_verdicts, weak_tasks
from vmtl.report.plots.scores import confusion
from vmtl.report.sections.scores import score_words, sureness, trust_words, weak_words
from vmtl.report.sheets import full_name
from vmtl.report.style import three_digits

#: Columns that are named.
MOST_NAMED = 3
#: A question and what is said to it.
Answer = tuple[str, str]


def answers(
    evidence: Evidence,
    others: Mapping[str, Evidence],
    importance: Importance | None,
    differences: Sequence[str],
) -> list[Answer]:
    """What a reader of one minute should know."""
    found = [
        ("How good is it?", f"{score_words(evidence)} {trust_words(evidence)}"),
        ("Where does it fail?", f"{weak_words(evidence)} {_worst(evidence)}".strip()),
        ("What drives it?", _drivers(importance)),
        ("How do tasks differ?", " ".join(differences)),
        ("What next?", " ".join(next_steps(evidence, others))),
    ]
    return [(question, answer) for question, answer in found if answer]


def _worst(evidence: Evidence) -> str:
    """The most frequent confusion, or how large the large errors are."""
    if evidence.p is None:
        assert evidence.mean is not None
        most = float(np.quantile(np.abs(evidence.mean - evidence.y), 0.95))
        return f"One row in 20 is off by more than {three_digits(most)}."
    assert evidence.classes is not None
    counts = confusion(evidence)
    np.fill_diagonal(counts, 0)
    if not counts.any():
        return "No row is confused."
    true, said = np.unravel_index(counts.argmax(), counts.shape)
    return (
        f"The most frequent error: {evidence.classes[true]} taken for {evidence.classes[said]}, {counts.max()} of "
        f"{int(evidence.wrong.sum())} wrong rows."
    )


def _drivers(importance: Importance | None) -> str:
    """The columns that matter beyond doubt."""
    if importance is None or not importance.columns:
        return ""
    sure = [name for name, worth in zip(importance.columns, importance.overall, strict=True) if worth.low > 0]
    if not sure:
        return "No column matters more than by chance."
    return f"Most of all {first_few(sure, MOST_NAMED)}. A column that drives predictions need not be a cause."


def next_steps(evidence: Evidence, others: Mapping[str, Evidence]) -> list[str]:
    """What the figures ask for, the most important first."""
    simpler = [name for name in (*others,) if lead(others[name], evidence).low > 0]
    steps = []
    if simpler:
        best = max(simpler, key=lambda name: lead(others[name], evidence).value)
        steps.append(f"{full_name(best).capitalize()} is clearly better on these rows: use that.")
    weak = [evidence.tasks[t] for t in weak_tasks(evidence)] if len(evidence.present) > 1 else []
    if weak:
        steps.append(f"Look at rows of {first_few(weak)} first; vmtl suggest says which further rows to label.")
    hurt = _hurt(evidence, others)
    if hurt:
        steps.append(f"Fit {first_few(hurt)} apart: the other tasks hurt there.")
    if sureness(evidence):
        remedy = {
            "too sure": "Do not take its stated confidence at face value",
            "too unsure": "It is better than it says",
        }
        steps.append(f"{remedy[sureness(evidence)]}; vmtl predict --coverage 0.9 gives ranges that hold.")
    if not others:
        steps.append("Add the training rows with --train to see what sharing is worth.")
    elif not simpler and POOLED in others and not lead(evidence, others[POOLED]).low > 0:
        steps.append("All rows as one task do not predict clearly worse: the simpler model may do.")
    return steps or ["Nothing here asks for a change; look again when there are newer rows."]


def _hurt(evidence: Evidence, others: Mapping[str, Evidence]) -> list[str]:
    alone = alone_of(others)
    verdicts = {} if alone is None else gain_verdicts(evidence, alone)
    return [evidence.tasks[t] for t, verdict in verdicts.items() if verdict == "hurt"]
