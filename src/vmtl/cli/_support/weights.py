"""Who learns from whom, as a short table, or as one sentence where nobody is preferred."""

from __future__ import annotations

from typing import Any

from vmtl.cli._support.console import printable, show_table


def show_weights(title: str, weights: Any, most: int) -> None:
    """The strongest 'learns from' weights of a (T, T) DataFrame, if the method has any."""
    import typer

    from vmtl.report import arrows, clear_arrows, even_weight

    found, even = arrows(weights), even_weight(len(weights))
    if found and not clear_arrows(weights):
        typer.echo(printable(f"{title}: no task is preferred, each learns equally from all others."))
    elif found:
        cut = f"the {most} strongest of {len(found)}; " if len(found) > most else ""
        show_table(
            f"{title} ({cut}an indifferent learner has {even:.3f})",
            ("task", "learns from", "weight"),
            [(arrow.learner, arrow.teacher, float(arrow.weight)) for arrow in found[:most]],
        )
