"""The section on columns: which of them drive predictions."""

from __future__ import annotations

from vmtl._utils.messages import counted
from vmtl.evaluation.importance import Importance
from vmtl.report.plots.importance import MOST_SHOWN, plot_importance
from vmtl.report.plots.svg import draw
from vmtl.report.sections.section import Section
from vmtl.report.sheets import importance_sheet

#: Lines that stand above the picture.
MOST_LINES = 3


def importance_section(importance: Importance | None) -> Section | None:
    """What is lost when a column is shuffled among the rows of a task; None where nobody looked."""
    if importance is None or not importance.columns:
        return None
    shown = list(zip(importance.columns, importance.overall, strict=True))[:MOST_SHOWN]
    sure = [(name, worth) for name, worth in shown if worth.low > 0]
    lines = tuple(
        name if worth is sure[0][1] else f"{name}, {100 * worth.value / sure[0][1].value:.0f} % of the first"
        for name, worth in sure[:MOST_LINES]
    )
    many = importance.n_columns > len(importance.columns)
    words = (
        "Each column is shuffled among the rows of a task; what the predictions lose by that is what it is worth to "
        f"them. {counted(importance.n_rows, 'row')} of the labelled ones were used"
        + (f", and the {len(importance.columns)} most promising of {importance.n_columns} columns." if many else "."),
        "Columns that say the same share their worth. A column that drives the predictions need not be a cause."
        if sure
        else "No column is worth more than chance here: the rows are too few, or the columns say the same.",
    )
    picture = draw(
        "importance",
        lambda ax: plot_importance(importance, ax),
        height=1.0 + 0.32 * len(shown),
        title="Worth of every column",
        caption="The bar is the 95 % interval over rows; small dots are tasks. Left of the line: nothing is lost."
        + (f" The first {MOST_SHOWN} columns." if len(importance.columns) > MOST_SHOWN else ""),
        alt="Worth of the columns: " + "; ".join(f"{name} {worth.value:.3f}" for name, worth in shown) + ".",
    )
    return Section("importance", "What drives it?", words, (picture,), (importance_sheet(importance),), lines)
