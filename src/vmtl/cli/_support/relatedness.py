"""Who learns from whom: a sentence, and a line per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.cli._support.console import say, show_table

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator

#: Letters of a task's name, so that the table fits a terminal of 80 columns.
NAME = 16


def show_structure(title: str, model: MultiTaskEstimator, most: int) -> None:
    """What the map of a model's tasks says, and how strongly each follows the others; nothing of tasks without one."""
    from vmtl.report import read_model
    from vmtl.report.finding import isolated_sentence, strengths
    from vmtl.report.many_tasks import MOST_MAPPED, read_crowd

    if len(model.tasks_) < 2:
        return
    finding = read_model(model) if len(model.tasks_) <= MOST_MAPPED else read_crowd(model)
    if finding is None:
        return
    say(f"{title}: {' '.join(filter(None, (finding.sentence(), isolated_sentence(model))))}")
    clear = {arrow.learner: arrow for arrow in reversed(getattr(finding, "clear", []))}
    lines = [
        (cut_name(name), r, f"{cut_name(clear[name].teacher)} {clear[name].share()}" if name in clear else "")
        for name, r in strengths(model).items()
    ]
    lines.sort(key=lambda line: not line[2])  # those with a clear link first
    columns = ("task", "r", "learns most from") if clear else ("task", "r")
    cut = f"{most} of {len(lines):,} tasks; " if len(lines) > most else ""
    ends = "; in brackets 90 % intervals" if "[" in lines[0][1] else ""
    show_table(
        f"{cut}r: how much a task follows the others, 0 to 1{ends}",
        columns,
        [line[: len(columns)] for line in lines[:most]],
    )


def cut_name(name: str, most: int = NAME) -> str:
    """The name of a task, cut where it is longer than that."""
    text = " ".join(name.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
