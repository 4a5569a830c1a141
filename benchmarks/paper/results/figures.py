"""Figures of suites as SVG: curves with intervals, loss curves, heat maps. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.paper.results.table_rows import TableRow, collect_rows
from benchmarks.paper.run.records import Record
from benchmarks.paper.run.suite import Suite
from benchmarks.text_table import PERCENT
from vmtl._utils.json_values import Document

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def suite_figures(suite: Suite, records: Mapping[str, Record]) -> list[str]:
    """SVG documents for a suite whose layout is a figure; none for plain tables."""
    draw = DRAWINGS.get(suite.layout)
    rows = [row for row in collect_rows(suite, records) if row.runs]
    return draw(suite, rows) if draw is not None and rows else []


def _svg(*draws: Callable[[Axes], None], columns: int = 2, size: tuple[float, float] = (7.0, 4.0)) -> str:
    """Draw each on axes of its own, of ``size`` inches, in rows of ``columns``, and return the SVG element."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "vmtl", "font.size": 9}):
        from matplotlib.figure import Figure

        across = min(columns, len(draws))
        down = -(-len(draws) // across)
        figure = Figure(figsize=(across * size[0], down * size[1]), layout="constrained")
        for place, draw in enumerate(draws, start=1):
            draw(figure.add_subplot(down, across, place))
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _curves(suite: Suite, rows: Sequence[TableRow]) -> list[str]:
    """The score against the fraction, one figure per data set that has more than one fraction."""
    figures = []
    unit = 100 if suite.metric in PERCENT else 1
    for data in dict.fromkeys(row.key.data for row in rows):
        of_data = [row for row in rows if row.key.data == data]
        if len({row.key.fraction for row in of_data}) < 2:
            continue

        def draw(axes: Axes, of_data: Sequence[TableRow] = of_data, data: str = data) -> None:
            for label in dict.fromkeys(row.key.label_and_preset for row in of_data):
                line = [row for row in of_data if row.key.label_and_preset == label]
                intervals = [row.interval(suite.metric) for row in line]
                axes.errorbar(
                    [row.key.fraction for row in line],
                    [unit * interval.value for interval in intervals],
                    yerr=[unit * float(np.nan_to_num(interval.half)) for interval in intervals],
                    label=label,
                    capsize=2,
                )
            axes.set(title=f"{suite.title}: {data}", xlabel="training data, %", ylabel=suite.metric)
            axes.legend(fontsize=7)

        figures.append(_svg(draw))
    return figures


def _losses(suite: Suite, rows: Sequence[TableRow]) -> list[str]:
    """Training loss and KL_w against the step, per data set; the first seed of every row."""
    figures = []
    for data in dict.fromkeys(row.key.data for row in rows):
        curves = {
            f"{row.key.label} {row.key.fraction:g} %": history
            for row in rows
            if row.key.data == data
            for history in row.extras("history")[:1]
        }

        def draw(axes: Axes, term: str, label: str, curves: dict[str, Document] = curves, data: str = data) -> None:
            for name, curve in curves.items():
                axes.plot(curve["step"], curve[term], label=name)
            axes.set(title=f"{suite.title}: {data}", xlabel="step", ylabel=label, yscale="log")
            axes.legend(fontsize=7)

        terms = (("loss", "NLL + KL_z + KL_w, as weighted"), ("kl_w", "KL_w, nats"))
        figures.append(_svg(*(partial(draw, term=term, label=label) for term, label in terms), size=(5.0, 4.0)))
    return figures


def _attacks(suite: Suite, rows: Sequence[TableRow]) -> list[str]:
    """Mean accuracy over tasks against the noise level."""

    def draw(axes: Axes) -> None:
        for row in rows:
            if attacks := row.extras("attack"):
                mean = np.mean([list(attack["accuracy"].values()) for attack in attacks], axis=(0, 1))
                axes.plot(attacks[0]["levels"], 100 * mean, marker="o", label=row.key.label_and_preset)
        axes.set(title=suite.title, xlabel="noise level, standard deviations", ylabel="accuracy, %")
        axes.legend(fontsize=7)

    return [_svg(draw)]


def _heat_maps(suite: Suite, rows: Sequence[TableRow]) -> list[str]:
    """alpha and beta of every row side by side, mean over seeds."""

    def draw(axes: Axes, name: str, row: TableRow, mixings: list[Document]) -> None:
        image = axes.imshow(np.mean([mixing[name] for mixing in mixings], axis=0), vmin=0, vmax=1, cmap="viridis")
        tasks = [str(task) for task in mixings[0]["tasks"]]
        axes.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right")
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_title(f"{name}: {row.key.label_and_preset}\n{row.key.data} {row.key.fraction:g} %", fontsize=8)
        axes.figure.colorbar(image)

    maps = [
        partial(draw, name=name, row=row, mixings=mixings)
        for row in rows
        if (mixings := row.extras("mixing")) and "alpha" in mixings[0]
        for name in ("alpha", "beta")
    ]
    return [_svg(*maps, columns=4, size=(3.2, 2.8))] if maps else []


DRAWINGS: dict[str, Callable[[Suite, Sequence[TableRow]], list[str]]] = {
    "variants": _curves,
    "history": _losses,
    "attack": _attacks,
    "mixing": _heat_maps,
}
