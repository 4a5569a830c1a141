"""Who learns from whom, as a short table, or as one sentence where nobody is preferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmtl.cli._support.console import printable, show_table

if TYPE_CHECKING:
    import pandas as pd


def show_weights(title: str, weights: pd.DataFrame, most: int) -> None:
    """The strongest 'learns from' weights of a (T, T) DataFrame, if the method has any."""
    import typer

    from vmtl.report import arrows, clear_arrows, even_weight

    strongest_first, even = arrows(weights), even_weight(len(weights))
    if strongest_first and not clear_arrows(weights):
        typer.echo(printable(f"{title}: no task is preferred, each learns equally from all others."))
    elif strongest_first:
        cut = f"the {most} strongest of {len(strongest_first)}; " if len(strongest_first) > most else ""
        show_table(
            f"{title} ({cut}an indifferent learner has {even:.3f})",
            ("task", "learns from", "weight"),
            [(arrow.learner, arrow.teacher, float(arrow.weight)) for arrow in strongest_first[:most]],
        )
