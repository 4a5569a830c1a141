"""Who is like whom and who learns from whom: in a sentence, as a small map, and a line per task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vmtl.cli._support.console import say, show_table

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators import MultiTaskEstimator
    from vmtl.report import Arrow

#: Letters of a task's name, so that the table of two maps fits a terminal of 80 columns.
NAME = 9
#: Tasks whose whole map fits one.
MOST_IN_MAP = 5
#: Characters of the bar of a weight of 1.
BAR = 10


def show_structure(title: str, model: MultiTaskEstimator, most: int) -> bool:
    """What a model's map alpha says; unless both maps are flat, one as a picture and both in a line per task.

    Returns whether these lines, which have r, were shown.
    """
    from vmtl.report import read_map, read_model
    from vmtl.report.many_tasks import MOST_MAPPED

    if len(model.tasks_) > MOST_MAPPED:
        return show_crowd(title, model, most)
    finding = read_model(model)
    if finding is None:
        return False
    say(f"{title}: {finding.sentence()}")
    say_groups(model)
    likeness = read_map(model.beta_, getattr(model, "beta_interval_", None))
    if len(model.tasks_) <= MOST_IN_MAP:
        if finding.answer == "clear":
            show_table("Map alpha: from whom a task (row) learns", *map_cells(model.alpha_))
        elif likeness is not None and likeness.answer != "flat":
            show_table("Map beta: whose representations resemble those of a task (row)", *map_cells(model.beta_))
    if finding.answer == "flat" and (likeness is None or likeness.answer == "flat"):
        return False
    maps = {"learns most from (alpha)": finding.arrows}
    if likeness is not None:
        maps = {"is most like (beta)": likeness.arrows, **maps}
    cut = f"{most} of {len(model.tasks_)} tasks; " if len(model.tasks_) > most else ""
    ends = "" if finding.arrows[0].interval is None else "; in brackets 90 % intervals"
    show_table(
        f"{cut}an even weight is {finding.even:.2f}{ends}; r: how much a task follows the others",
        ("task", *maps, "r"),
        lines_of_tasks(model, maps.values(), most),
    )
    return True


def show_strengths(model: MultiTaskEstimator, most: int) -> None:
    """How much every task follows the others, with an interval where there is one; nothing without mixing weights."""
    from vmtl.report.finding import strengths

    if len(model.tasks_) < 2 or not model.method_.mixes_w:
        return
    lines = [(cut_name(name), r) for name, r in strengths(model).items()][:most]
    cut = f", {most} of {len(model.tasks_)} tasks" if len(model.tasks_) > most else ""
    ends = "; in brackets 90 % intervals" if "[" in lines[0][1] else ""
    show_table(f"How much each task follows the others{cut}{ends}", ("task", "r"), lines)


def say_groups(model: MultiTaskEstimator) -> None:
    """Who follows which rule, where there are several."""
    from vmtl.report.finding import groups_sentence

    sentence = groups_sentence(model)
    if sentence is not None:
        say(sentence)


def show_crowd(title: str, model: MultiTaskEstimator, most: int) -> bool:
    """The same of hundreds of tasks: from how many each learns, and the first teacher of some."""
    from vmtl.report.arrows import even_weight
    from vmtl.report.finding import strengths
    from vmtl.report.many_tasks import read_crowd

    crowd = read_crowd(model)
    if crowd is None:
        return False
    say(f"{title}: {crowd.sentence()}")
    say_groups(model)
    if crowd.is_flat:
        return False
    of_tasks, shown = strengths(model), crowd.arrows[:most]
    show_table(
        f"Some of them; an even weight is {even_weight(crowd.n_tasks):.4f}",
        ("task", "learns most from", "weight", "strength r"),
        [(cut_name(a.learner), cut_name(a.teacher), f"{a.weight:.4f}", of_tasks[a.learner]) for a in shown],
    )
    return True


def lines_of_tasks(model: MultiTaskEstimator, maps: Iterable[list[Arrow]], most: int) -> list[tuple[str, ...]]:
    """A task, its strongest arrow in every map, and its strength; tasks with the strongest arrows if there are many."""
    from vmtl.report.finding import strengths

    strongest = [{arrow.learner: arrow for arrow in reversed(arrows)} for arrows in maps]
    names = [str(task) for task in model.tasks_]
    kept = sorted(names, key=lambda name: -strongest[-1][name].weight)[:most]
    r = strengths(model)
    return [
        (cut_name(name), *(f"{cut_name(of[name].teacher)} {of[name].share()}" for of in strongest), r[name])
        for name in names
        if name in kept
    ]


def map_cells(weights: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Column names and rows of a (T, T) map, with a bar before each weight."""
    names = [cut_name(str(name)) for name in weights.index]

    def cell(value: float) -> str:
        bar = "█" * round(BAR * value)
        return f"{bar:>{BAR // 2 + 1}} {value:.2f}"

    rows = [
        [name, *("" if i == t else cell(value) for i, value in enumerate(row))]
        for t, (name, row) in enumerate(zip(names, weights.to_numpy(), strict=True))
    ]
    return ["", *names], rows


def cut_name(name: str, most: int = NAME) -> str:
    """The name of a task, cut where it is longer than that."""
    text = " ".join(name.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
