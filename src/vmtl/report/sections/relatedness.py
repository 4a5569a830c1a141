"""The section on who learns from whom: what the map says, where the tasks lie, and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.messages import counted
from vmtl.estimators.base import BaseMultiTask
from vmtl.report.arrows import Control, arrows
from vmtl.report.finding import Finding, groups_sentence, read_map, read_model, strengths
from vmtl.report.many_tasks import MOST_MAPPED, read_crowd
from vmtl.report.plots import relatedness as related
from vmtl.report.plots.svg import Picture, draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import arrow_sheet, crowd_sheet, worth_sheet
from vmtl.report.style import name_height

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.report.arrows import MapInterval

#: Arrows that stand as lines above the pictures.
MOST_LINES = 6
#: Differences in nats per row that are too small to mention.
LITTLE = 0.005


def relatedness_section(
    model: BaseMultiTask, control: Control | None, worth: Mapping[str, float] | None = None
) -> Section | None:
    """Who learns from whom, how sure that is, and what it looks like where there is nothing to learn."""
    if len(model.tasks_) > MOST_MAPPED:
        return _crowd_section(model, worth)
    finding = read_model(model, control)
    if finding is None:
        return None
    tells = finding.answer != "flat"
    shown = finding.preferred if finding.arrows[0].interval is None else finding.arrows
    lines = tuple(str(arrow) for arrow in shown[:MOST_LINES]) if tells else ()
    words = [finding.sentence(), *_group_words(model), *_likeness_words(model), *_explanation(finding)]
    if worth is not None:
        words.append(_worth_words(worth))
    if finding.n_tasks > 2:
        words.append(_control_words(max(arrow.weight for arrow in finding.arrows), control))
    alpha, *beta = _maps(model)
    pictures = [
        *([_arrow_picture(model, lines)] if tells else []),
        alpha,
        *beta,
        *_structure_pictures(model),
        *([_control_picture(model.alpha_, control)] if control is not None else []),
    ]
    sheets = (arrow_sheet(finding, strengths(model), control), *([worth_sheet(worth)] if worth is not None else []))
    fold = "" if tells else "All weights" + (" and the control" if control is not None else "")
    return Section("relatedness", "Who learns from whom?", tuple(words), tuple(pictures), sheets, lines, fold)


def _crowd_section(model: BaseMultiTask, worth: Mapping[str, float] | None) -> Section | None:
    """The same of hundreds of tasks, without a map: where they lie, and the first teacher of some."""
    crowd = read_crowd(model)
    if crowd is None:
        return None
    words = [
        crowd.sentence(),
        *_group_words(model),
        "The table has some of the tasks; model.teachers(task) has each of them.",
    ]
    if worth is not None:
        words.append(_worth_words(worth))
    sheets = (crowd_sheet(crowd, strengths(model)), *([worth_sheet(worth)] if worth is not None else []))
    pictures = tuple(_structure_pictures(model))
    return Section("relatedness", "Who learns from whom?", tuple(words), pictures, sheets)


def _group_words(model: BaseMultiTask) -> list[str]:
    """Who follows which rule, where there are several."""
    sentence = groups_sentence(model)
    return [] if sentence is None else [sentence]


def _likeness_words(model: BaseMultiTask) -> list[str]:
    """Whose representations are alike, where that is clear and beta has an answer of its own."""
    likeness = read_map(model.beta_, getattr(model, "beta_interval_", None))
    if likeness is None or likeness.answer != "clear" or np.array_equal(model.alpha_, model.beta_):
        return []
    nearest = likeness.arrows[0]
    return [
        "By their representations some tasks are clearly more alike than others (map beta): "
        f"{nearest.learner} is most like {nearest.teacher}, {nearest.share()}."
    ]


def _explanation(finding: Finding) -> list[str]:
    words = [
        "Each task's prior is a mixture of the other tasks; these are its weights. Each row sums to 1. "
        f"A task that prefers no other gives each of them {finding.even:.2f}."
    ]
    if finding.arrows[0].interval is not None:
        words.append(
            "Between the ends lie 90 % of what the training rows leave possible; an end is moved where that is needed "
            "to include the weight itself. How much a task follows its mixture is the strength r: where all r are "
            "near 1, tasks are so alike that it matters little from whom they learn."
        )
    return words


def _worth_words(worth: Mapping[str, float]) -> str:
    """What the structure is worth, in one sentence."""
    gain = worth["even"] - worth["inferred"]
    verdict = (
        f"knowing who learns from whom changes less than {LITTLE} nats per row"
        if abs(gain) < LITTLE
        else f"knowing who learns from whom is worth {gain:.3f} nats per row"
        if gain > 0
        else f"even weights would predict better by {-gain:.3f} nats per row"
    )
    return (
        f"Predicting each training row without it costs {worth['inferred']:.3f} nats with this structure, "
        f"{worth['even']:.3f} with even weights, {worth['alone']:.3f} alone and {worth['pooled']:.3f} pooled: "
        f"{verdict}."
    )


def _structure_pictures(model: BaseMultiTask) -> list[Picture]:
    """Where the tasks lie, and r beside it; nothing for a fit that inferred no positions."""
    positions, interval = getattr(model, "positions_", None), getattr(model, "sharing_interval_", None)
    if positions is None:
        return []
    of_tasks = strengths(model)
    return [
        *([_position_picture(positions)] if positions.shape[1] else []),
        draw(
            "sharing",
            lambda ax: related.plot_sharing(model.sharing_, interval, ax),
            height=0.9 + 0.26 * min(len(of_tasks), related.MOST_STRENGTHS),
            title="How strongly each task follows the others",
            caption=_sharing_caption(positions, len(of_tasks), interval is not None),
            alt="Strengths r: " + "; ".join(f"{task} {value}" for task, value in [*of_tasks.items()][:12]) + ".",
        ),
    ]


def _sharing_caption(positions: pd.DataFrame, n_tasks: int, has_ends: bool) -> str:
    nowhere = "" if positions.shape[1] else " By their representations no task stands out from the others."
    cut = f" The {related.MOST_STRENGTHS} weakest are shown." if n_tasks > related.MOST_STRENGTHS else ""
    ends = ", its line the 90 % interval" if has_ends else ""
    return f"A dot is the strength r of a task{ends}.{cut}{nowhere}"


def _position_picture(positions: pd.DataFrame) -> Picture:
    axes = positions.shape[1]
    flat = f" The two longest of {axes} axes are drawn." if axes > 2 else ""
    line = " One axis is enough for what rises above the noise." if axes == 1 else ""
    named = [
        f"{name} at {', '.join(f'{x:.2f}' for x in row[:2])}"
        for name, row in zip(positions.index, positions.to_numpy(), strict=True)
    ]
    return draw(
        "positions",
        lambda ax: related.plot_positions(positions, ax),
        height=2.0 if axes == 1 else 3.3,
        title="Where the tasks lie",
        caption="Tasks whose rows of a class look alike are near each other; the noise of few rows is taken out."
        + flat
        + line,
        alt="Positions: " + "; ".join(named[:24]) + ".",
    )


def _arrow_picture(model: BaseMultiTask, lines: Sequence[str]) -> Picture:
    return draw(
        "arrows",
        lambda ax: related.plot_arrows(model.alpha_, ax, sharing=model.sharing_),
        height=3.6,
        title="Who learns from whom",
        caption="An arrow runs from the task that teaches to the task that learns; wide and dark is strong: "
        "the weight times r, how much the learner follows its teachers at all.",
        alt="Strongest arrows: " + "; ".join(lines) + ".",
    )


def _control_picture(weights: pd.DataFrame, control: Control) -> Picture:
    every_arrow = arrows(weights)
    sampled = " Of many, the largest and a sample are drawn." if len(every_arrow) > 2 * related.MOST_DOTS else ""
    return draw(
        "control",
        lambda ax: related.plot_control(weights, control, ax),
        height=2.4,
        title="Is it more than chance?",
        caption=f"Each dot is one weight. Dots right of all shuffled ones are more than chance.{sampled}",
        alt=_control_words(every_arrow[0].weight, control),
    )


def _maps(model: BaseMultiTask) -> list[Picture]:
    """One map where alpha and beta are the same, else one of each that the method has."""
    alpha, beta = model.alpha_, model.beta_
    ends = [getattr(model, f"{name}_interval_", None) for name in ("alpha", "beta")]
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


def _control_words(strongest: float, control: Control | None) -> str:
    if control is None:
        return f"The strongest weight is {strongest:.2f}. With --train a control shows how large weights are by chance."
    return (
        f"As a control the model was fitted again ({counted(len(control.shuffled), 'refit')}) with rows dealt to the "
        f"tasks at random, so that no task is nearer than another: weights reach {control.noise:.2f}. With targets "
        f"shuffled inside each task, so that tasks are unrelated, they reach {control.unrelated.max():.2f}. "
        f"The strongest weight of this model is {strongest:.2f}."
    )
