"""The sections on how tasks differ: what is clear, where they lie, and in the appendix every weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import counted
from vmtl.estimators.base import BaseTaskEstimator
from vmtl.evaluation.comparison import POOLED, alone_of, lead
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.arrows import Control, arrows
from vmtl.report.finding import Finding, isolated_sentence, read_model, strengths
from vmtl.report.many_tasks import MOST_MAPPED, read_crowd
from vmtl.report.plots import relatedness as related
from vmtl.report.plots.svg import Picture, draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import arrow_sheet, crowd_sheet
from vmtl.report.style import name_height

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.report.arrows import MapInterval

#: Links that stand as lines above the pictures.
MOST_LINES = 6


def find_links(
    model: BaseTaskEstimator, control: Control | None, evidence: Evidence, others: Mapping[str, Evidence]
) -> Finding | None:
    """What the page says about links: one answer, for the card, the section and the appendix."""
    if not 1 < len(model.tasks_) <= MOST_MAPPED:
        return None
    even_is_better = "even" in others and lead(others["even"], evidence).low > 0
    return read_model(model, control, even_is_better)


def difference_words(
    model: BaseTaskEstimator, finding: Finding | None, evidence: Evidence, others: Mapping[str, Evidence]
) -> list[str]:
    """How tasks differ, and whether knowing it helps."""
    words = [_sharing_words(evidence, others), isolated_sentence(model)]
    if finding is not None:
        words.append(finding.sentence())
    elif len(model.tasks_) > MOST_MAPPED:
        crowd = read_crowd(model)
        words.append(None if crowd is None else crowd.sentence())
    return [sentence for sentence in words if sentence]


def _sharing_words(evidence: Evidence, others: Mapping[str, Evidence]) -> str | None:
    """What sharing is worth against every task alone, and against all rows as one task."""
    rivals = {"learning every task alone": alone_of(others), "taking all rows as one task": others.get(POOLED)}
    factor, unit = (100, "accuracy points") if evidence.p is not None else (1, "RMSE")
    parts = []
    for name, rival in rivals.items():
        if rival is None:
            continue
        ahead = lead(evidence, rival)
        if not np.isfinite(ahead.low):
            continue
        size = f"{factor * abs(ahead.value):.3g} {unit}; 95 %: {factor * ahead.low:.3g} to {factor * ahead.high:.3g}"
        verdict = "better than" if ahead.low > 0 else "worse than" if ahead.high < 0 else "not clearly other than"
        parts.append(f"{verdict} {name} ({size})")
    return f"On these rows sharing is {' and '.join(parts)}." if parts else None


def difference_section(
    model: BaseTaskEstimator, finding: Finding | None, evidence: Evidence, others: Mapping[str, Evidence]
) -> Section | None:
    """How tasks differ: what is clear, and where they lie."""
    if len(model.tasks_) < 2:
        return None
    lines = () if finding is None else tuple(str(arrow) for arrow in finding.clear[:MOST_LINES])
    pictures = [] if finding is None or not lines else [_arrow_picture(model, lines)]
    positions = getattr(model, "positions_", None)
    if positions is not None and positions.shape[1]:
        pictures.append(_position_picture(positions, evidence.p is not None))
    words = difference_words(model, finding, evidence, others)
    return Section("differences", "How do tasks differ?", tuple(words), tuple(pictures), (), lines) if words else None


def relatedness_section(model: BaseTaskEstimator, finding: Finding | None, control: Control | None) -> Section | None:
    """For the appendix: every weight, how strongly tasks share, and what weights look like by chance."""
    if len(model.tasks_) > MOST_MAPPED:
        crowd = read_crowd(model)
        if crowd is None:
            return None
        sheets = (crowd_sheet(crowd, strengths(model)),)
        pictures = tuple(_sharing_pictures(model))
        told = "The table has some of the tasks; model.teachers(task) has each of them."
        return Section("relatedness", "Who learns from whom", (told,), pictures, sheets)
    if finding is None:
        return None
    words = _explanation(finding)
    if control is not None and finding.n_tasks > 2:
        words.append(_control_words(finding.arrows[0].weight, control))
    pictures = (*_maps(model), *_sharing_pictures(model), *_control_pictures(model.alpha_, control))
    sheets = (arrow_sheet(finding, strengths(model), control),)
    return Section("relatedness", "Who learns from whom", tuple(words), pictures, sheets)


def _explanation(finding: Finding) -> list[str]:
    words = [
        "Each task's prior is a mixture of the other tasks; these are its weights alpha. Each row sums to 1. "
        f"A task that prefers no other gives each of them {finding.even:.2f}."
    ]
    if finding.arrows[0].interval is not None:
        words.append(
            "Between the ends lie 90 % of what the training rows leave possible; an end is moved where that is needed "
            "to include the weight itself. How much a task follows its mixture is the strength r: where all r are "
            "near 1, tasks are so alike that it matters little from whom they learn."
        )
    return words


def _sharing_pictures(model: BaseTaskEstimator) -> list[Picture]:
    """r of every task; nothing for a fit that inferred no positions."""
    positions, interval = getattr(model, "positions_", None), getattr(model, "sharing_interval_", None)
    if positions is None:
        return []
    of_tasks = strengths(model)
    return [
        draw(
            "sharing",
            lambda ax: related.plot_sharing(model.sharing_, interval, ax),
            height=0.9 + 0.26 * min(len(of_tasks), related.MOST_STRENGTHS),
            title="How strongly each task follows the others",
            caption=_sharing_caption(positions, len(of_tasks), interval is not None),
            alt="Strengths r: " + "; ".join(f"{task} {value}" for task, value in [*of_tasks.items()][:12]) + ".",
        )
    ]


def _sharing_caption(positions: pd.DataFrame, n_tasks: int, has_ends: bool) -> str:
    nowhere = "" if positions.shape[1] else " By their representations no task stands out from the others."
    cut = f" The {related.MOST_STRENGTHS} weakest are shown." if n_tasks > related.MOST_STRENGTHS else ""
    ends = ", its line the 90 % interval" if has_ends else ""
    return f"A dot is the strength r of a task{ends}.{cut}{nowhere}"


def _position_picture(positions: pd.DataFrame, is_class: bool) -> Picture:
    axes = positions.shape[1]
    unit = f"deviations of rows{' within classes' if is_class else ''}"
    flat = f" The two longest of {axes} axes are drawn." if axes > 2 else ""
    line = " One axis is enough for what rises above the noise." if axes == 1 else ""
    named = [
        f"{name} at {', '.join(f'{x:.2f}' for x in row[:2])}"
        for name, row in zip(positions.index, positions.to_numpy(), strict=True)
    ]
    return draw(
        "positions",
        lambda ax: related.plot_positions(positions, ax, unit),
        height=2.0 if axes == 1 else 3.3,
        title="Where the tasks lie",
        caption=f"Tasks whose rows {'of a class look' if is_class else 'and targets go together'} alike are near each "
        "other; the noise of few rows is taken out." + flat + line,
        alt="Positions: " + "; ".join(named[:24]) + ".",
    )


def _arrow_picture(model: BaseTaskEstimator, lines: Sequence[str]) -> Picture:
    return draw(
        "arrows",
        lambda ax: related.plot_arrows(model.alpha_, ax, sharing=model.sharing_),
        height=3.6,
        title="Who learns from whom",
        caption="An arrow runs from the task that teaches to the task that learns; wide and dark is strong: "
        "the weight times r, how much the learner follows its teachers at all.",
        alt="Strongest arrows: " + "; ".join(lines) + ".",
    )


def _control_pictures(weights: pd.DataFrame, control: Control | None) -> list[Picture]:
    if control is None:
        return []
    every_arrow = arrows(weights)
    sampled = " Of many, the largest and a sample are drawn." if len(every_arrow) > 2 * related.MOST_DOTS else ""
    picture = draw(
        "control",
        lambda ax: related.plot_control(weights, control, ax),
        height=2.4,
        title="Is it more than chance?",
        caption=f"Each dot is one weight. Dots right of all of both controls are more than chance.{sampled}",
        alt=_control_words(every_arrow[0].weight, control),
    )
    return [picture]


def _maps(model: BaseTaskEstimator) -> list[Picture]:
    """One map where alpha and beta are the same, else one of each that the method has."""
    alpha, beta = model.alpha_, getattr(model, "beta_", None)
    ends = [getattr(model, f"{name}_interval_", None) for name in ("alpha", "beta")]
    if beta is None:
        return [_map_picture("alpha", "from whom the weights learn", alpha, ends[0])]
    if np.array_equal(alpha, beta):
        return [_map_picture("alpha", "for w and z alike: beta is tied to alpha", alpha, ends[0])]
    pairs = (
        ("alpha", "from whom the weights w learn", alpha, ends[0], "learns from"),
        ("beta", "whose representations z are alike", beta, ends[1], "is like"),
    )
    return [_map_picture(*of_map) for of_map in pairs if np.asarray(of_map[2]).any()]


def _map_picture(
    name: str, meaning: str, weights: pd.DataFrame, interval: MapInterval | None, verb: str = "learns from"
) -> Picture:
    room = interval is not None and len(weights) <= related.MOST_WITH_ENDS
    ends = " Below each number stands its 90 % interval." if room else ""
    return draw(
        f"map-{name}",
        lambda ax: related.plot_relatedness(weights, ax, interval if room else None).set_xlabel(verb),
        height=0.8 + min(0.5 * len(weights), 3.0) + name_height(weights.index),
        title=f"Map {name}: {meaning}",
        caption=f"A row is a task; its columns say how much it {verb} each other task.{ends}",
        alt=f"Map {name}: "
        + "; ".join(f"{a.learner} {verb} {a.teacher} {a.share()}" for a in arrows(weights, interval)[:12])
        + ".",
    )


def _control_words(strongest: float, control: Control) -> str:
    return (
        f"As a control the model was fitted again ({counted(len(control.shuffled), 'refit')} of each kind) with rows "
        f"dealt to the tasks at random, so that no task is nearer than another: weights reach "
        f"{control.shuffled.max():.2f}. With targets shuffled inside each task, so that tasks are unrelated, they "
        f"reach {control.unrelated.max():.2f}. The weight of this model's strongest link is {strongest:.2f}."
    )
