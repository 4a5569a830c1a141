"""A progress bar for training, shown only to people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vmtl.inference.variational.training import Progress


@contextmanager
def progress_bar(visible: bool, label: str = "Training") -> Iterator[Callable[[Progress], None]]:
    """A callback that draws loss, KL terms and time left on standard error."""
    if not visible:
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[terms]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(label, total=None, terms="")

        def show(progress: Progress) -> None:
            text = f"loss {progress.loss:.3f}  kl_z {progress.kl_z:.3g}  kl_w {progress.kl_w:.3g}"
            bar.update(job, total=progress.total, completed=progress.step, terms=text)

        yield show
