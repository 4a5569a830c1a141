"""A progress bar over fits, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def fits_progress(total: int, visible: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of every finished fit; without ``visible`` it does nothing."""
    if not visible:
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task("fits", total=total)

        def done(name: str) -> None:
            bar.update(job, advance=1, description=f"{name:<24}")

        yield done
