"""The progress bar of everything that takes more than two seconds: on standard error, removed at the end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text


#: Characters of the bar, so that text and times fit beside it in a terminal of 80 columns.
BAR_WIDTH = 12


class ShowProgress(Protocol):
    """Called after each piece of work; ``completed`` pieces are done, or one more than before. ``label`` renames it."""

    def __call__(
        self, text: str = "", completed: int | None = None, total: int | None = None, label: str | None = None
    ) -> None: ...


@contextmanager
def progress_bar(
    label: str, total: int | None = None, *, visible: bool = True, unit: str | None = None
) -> Iterator[ShowProgress]:
    """A bar with what is done, a text, the time so far and the time left; with ``unit`` also the number per second.

    What is done is counted where the ``total`` is known.
    Yields the function that moves it; without ``visible`` that function does nothing.
    """
    if visible and find_spec("rich") is None:
        warnings.warn('The progress bar needs rich; run pip install "vmtl[cli]".', stacklevel=3)
        visible = False
    if not visible:
        yield _show_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn(BAR_WIDTH), _counter_column()]
    columns += [] if unit is None else [_rate_column(unit)]
    columns += [TextColumn("{task.fields[text]}"), TimeElapsedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, text="")

        def show(
            text: str = "", completed: int | None = None, total: int | None = None, label: str | None = None
        ) -> None:
            advance = 1 if completed is None else None
            bar.update(task, advance=advance, completed=completed, total=total, description=label, text=text)

        yield show


def _show_nothing(
    text: str = "", completed: int | None = None, total: int | None = None, label: str | None = None
) -> None:
    """What an invisible bar does."""


def _counter_column() -> ProgressColumn:
    from rich.progress import MofNCompleteColumn
    from rich.text import Text

    class Counter(MofNCompleteColumn):
        def render(self, task: Task) -> Text:
            return Text("") if task.total is None else super().render(task)

    return Counter()


def _rate_column(unit: str) -> ProgressColumn:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f} {unit}/s", style="progress.data.speed")

    return Rate()
