"""Who learns from whom: what the map says in one sentence, and its strongest weights as a short table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.cli._support.console import printable, show_table

if TYPE_CHECKING:
    from vmtl.estimators import MultiTaskEstimator

#: Letters of a task's name, so that the table fits a terminal of 80 columns.
NAME = 16


def show_weights(title: str, model: MultiTaskEstimator, most: int) -> None:
    """The finding of a model's map; where it is not flat, the strongest weights beside the strength of the learner."""
    import typer

    from vmtl.report import read_model
    from vmtl.report.finding import strengths
    from vmtl.report.many_tasks import MOST_MAPPED

    if len(model.tasks_) > MOST_MAPPED:
        show_crowd(title, model, most)
        return
    finding = read_model(model)
    if finding is None:
        return
    typer.echo(printable(f"{title}: {finding.sentence()}"))
    if finding.answer == "flat":
        return
    of_tasks = strengths(model)
    shown = finding.arrows[:most]
    cut = f"the {most} strongest of {len(finding.arrows)}; " if len(finding.arrows) > most else ""
    ends = "" if shown[0].interval is None else "; in brackets 90 % intervals"
    show_table(
        f"{cut}an even weight is {finding.even:.2f}{ends}",
        ("task", "learns from", "weight", "strength r"),
        [(cut_name(a.learner), cut_name(a.teacher), a.share(), of_tasks[a.learner]) for a in shown],
    )


def show_crowd(title: str, model: MultiTaskEstimator, most: int) -> None:
    """The same of hundreds of tasks: from how many each learns, and the first teacher of some."""
    import typer

    from vmtl.report.arrows import even_weight
    from vmtl.report.finding import strengths
    from vmtl.report.many_tasks import read_crowd

    crowd = read_crowd(model)
    if crowd is None:
        return
    typer.echo(printable(f"{title}: {crowd.sentence()}"))
    if crowd.is_flat:
        return
    of_tasks, shown = strengths(model), crowd.arrows[:most]
    show_table(
        f"Some of them; an even weight is {even_weight(crowd.n_tasks):.4f}",
        ("task", "learns most from", "weight", "strength r"),
        [(cut_name(a.learner), cut_name(a.teacher), f"{a.weight:.4f}", of_tasks[a.learner]) for a in shown],
    )


def cut_name(name: str) -> str:
    from vmtl.report.style import short

    return short(name, NAME)
