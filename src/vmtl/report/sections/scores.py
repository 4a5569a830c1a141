"""Sections on predictions: how good they are, whom the others helped, whether to trust them, where they err."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from vmtl._utils.messages import counted, first_few
from vmtl.estimators.base import BaseMultiTask
from vmtl.estimators.metrics.real_metrics import COVERAGE
from vmtl.evaluation.comparison import alone_of, gains, lead
from vmtl.evaluation.intervals import LEVEL, of_share
from vmtl.evaluation.scored_predictions import Evidence
from vmtl.report.plots import scores as scored
from vmtl.report.plots.svg import Picture, draw, draw_grid
from vmtl.report.sections.section import Section
from vmtl.report.sheets import full_name, gain_sheet, method_sheet, score_sheet
from vmtl.report.style import WIDTH, name_height

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Reliability diagrams side by side at most.
MOST_DIAGRAMS = 12


def score_section(model: BaseMultiTask, evidence: Evidence, others: Mapping[str, Evidence]) -> Section:
    """How good the model is on every task, beside the other methods."""
    overall = evidence.score(np.arange(len(evidence.y)))
    per_task = ", ".join(f"{evidence.tasks[t]} {evidence.score(evidence.rows(t)).value:.3f}" for t in evidence.present)
    picture = draw(
        "scores",
        lambda ax: scored.plot_scores(evidence, others, ax),
        height=(1.4 if others else 1.1) + 0.46 * min(len(evidence.present), scored.MOST_IN_FIGURE),
        title=f"{evidence.measure[0].upper()}{evidence.measure[1:]} of every task",
        caption="The bar is the 95 % interval over rows."
        + (" Points without a bar are further methods; the table has them all." if others else "")
        + (f" The first {scored.MOST_IN_FIGURE} tasks." if len(evidence.present) > scored.MOST_IN_FIGURE else ""),
        alt=f"{evidence.measure} of every task: {per_task}.",
    )
    sheets = [score_sheet(evidence)]
    words = [f"Over {counted(len(evidence.y), 'row')}: {evidence.measure} {overall.value:.3f}."]
    if others:
        words.append(_ranking(evidence, others))
        sheets.append(method_sheet(model.method_.name, evidence, others))
        words.append("All methods were fitted to the same training rows and scored on the same rows as this model.")
    else:
        words.append("Give the training table with --train to see the same rows learned alone, pooled and otherwise.")
    return Section("scores", "How good is it?", tuple(words), (picture,), tuple(sheets))


def _ranking(evidence: Evidence, others: Mapping[str, Evidence]) -> str:
    """Which method has the best mean over tasks, this model's place, and whether that is more than chance."""
    sign = 1 if evidence.p is not None else -1
    score, means = evidence.mean_score(), {name: other.mean_score() for name, other in others.items()}
    place = 1 + sum(sign * (mean - score) > 0 for mean in means.values())
    rival = max(means, key=lambda name: sign * means[name])
    name, of = full_name(rival), len(means) + 1
    gap = lead(evidence, others[rival]) if place == 1 else lead(others[rival], evidence)
    if place == 1:
        ranking = f"Best mean over tasks: this model {score:.3f}, of {of} methods; next {name} {means[rival]:.3f}."
    else:
        ranking = f"Best mean over tasks: {name} {means[rival]:.3f}; this model {score:.3f}, place {place} of {of}."
    if not np.isfinite(gap.low):  # a task has one row
        return ranking
    chance = "more than chance" if gap.low > 0 else "within chance"
    return f"{ranking} The difference is {chance} (95 %: {gap.low:.3f} to {gap.high:.3f})."


def gain_section(evidence: Evidence, others: Mapping[str, Evidence]) -> Section | None:
    """Which tasks the others helped or hurt."""
    alone = alone_of(others)
    if alone is None:
        return None
    of_tasks = gains(evidence, alone)
    counts = {v: sum(gain.verdict == v for gain in of_tasks) for v in ("helped", "hurt", "no clear difference")}
    unit = "accuracy points" if evidence.p is not None else "% of the squared error"
    picture = draw(
        "gains",
        lambda ax: scored.plot_gains(of_tasks, ax).set_xlabel(f"gain over alone, {unit}"),
        height=1.0 + 0.38 * min(len(of_tasks), scored.MOST_IN_FIGURE),
        title="Gain over being learned alone",
        caption="Right of the line the other tasks helped. Bars are 95 % intervals of paired differences.",
        alt="; ".join(f"{g.task}: {g.verdict}, {100 * g.gain.value:+.1f} {unit}" for g in of_tasks) + ".",
    )
    words = (
        f"{counts['helped']} helped, {counts['hurt']} hurt, {counts['no clear difference']} without a clear difference "
        "when every task is compared with being learned alone, row by row.",
        f"Each verdict errs once in 20 times: among {counted(len(of_tasks), 'task')}, {0.05 * len(of_tasks):g} on "
        "average would be called helped or hurt although nothing changed.",
    )
    sheet = gain_sheet(of_tasks, evidence, alone)
    return Section("gains", "Who was helped, who was hurt?", words, (picture,), (sheet,))


def trust_section(evidence: Evidence) -> Section:
    """Whether stated probabilities and uncertainties hold."""
    is_class = evidence.p is not None
    wrong, right = evidence.total[evidence.wrong], evidence.total[~evidence.wrong]
    names = ("wrong ones", "right predictions") if is_class else ("the larger half", "the smaller half of errors")
    means = [f"{np.mean(v):.3f}" if len(v) else "none" for v in (wrong, right)]
    uncertainty = draw(
        "uncertainty",
        lambda ax: scored.plot_uncertainty(evidence, ax),
        height=2.8,
        title=f"Uncertainty of {'right and wrong predictions' if is_class else 'small and large errors'}",
        caption="A model that knows what it does not know is less certain where it errs.",
        alt=f"Mean total uncertainty of {names[0]}: {means[0]}; of {names[1]}: {means[1]}.",
    )
    words = [_trust_words(evidence), f"Mean uncertainty of {names[1]}: {means[1]}; of {names[0]}: {means[0]}."]
    if evidence.covered is not None:
        words.append(_guarantee_words(evidence))
    return Section(
        "trust", "Can its confidence be trusted?", tuple(words), (_reliability_picture(evidence), uncertainty)
    )


def _reliability_picture(evidence: Evidence) -> Picture:
    """A reliability diagram of all rows and of every task, as many as fit."""
    shown: list[int | None] = [None, *evidence.present[: MOST_DIAGRAMS - 1]]
    columns = 3
    lines = -(-len(shown) // columns)

    def diagrams(figure: Figure) -> None:
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, task in zip(grid, shown, strict=False):
            scored.plot_reliability(evidence, task, ax)
        for ax in grid[len(shown) :]:
            ax.set_visible(False)

    is_class = evidence.p is not None
    promise = "probability of the predicted class" if is_class else "level of the interval"
    truth = "share of right predictions" if is_class else "share of targets inside"
    return draw_grid(
        "reliability",
        diagrams,
        WIDTH,
        (2.2 if is_class else 2.0) * lines,
        "Reliability of every task",
        f"Across: {promise}. Up: {truth}. On the dashed line promises hold"
        + ("; larger dots have more rows." if is_class else "; the gap is the mean distance from it."),
        _reliability_words(evidence),
    )


def _trust_words(evidence: Evidence) -> str:
    """Whether promises hold over all rows."""
    everything = np.arange(len(evidence.y))
    if evidence.p is not None:
        right, promised = evidence.score(everything), float(evidence.p.max(axis=1).mean())
        verdict = "too sure" if promised > right.high else "too unsure" if promised < right.low else "the two agree"
        scores = evidence.scores(everything)
        return (
            f"On average it gives its prediction {100 * promised:.0f} % and is right in {100 * right.value:.0f} % of "
            f"the rows: {verdict}. Its calibration error is {scores['ece']:.3f}; a perfectly calibrated model would "
            f"score {scores['ece_perfect']:.3f} on as many rows."
        )
    inside = of_share(scored.deviations(evidence, everything) <= norm.ppf((1 + LEVEL) / 2))
    verdict = "too narrow" if inside.high < LEVEL else "too wide" if inside.low > LEVEL else "as promised"
    rows = counted(len(everything), "row")
    return f"{100 * LEVEL:.0f} % intervals contain {100 * inside.value:.1f} % of {rows}: {verdict}."


def _guarantee_words(evidence: Evidence) -> str:
    """Whether the 90 % intervals or sets hold what they promise, over all rows and task by task."""
    assert evidence.covered is not None
    assert evidence.extent is not None
    inside = {t: of_share(evidence.covered[evidence.rows(t)]) for t in evidence.present}
    below = [evidence.tasks[t] for t, share in inside.items() if share.high < COVERAGE]
    what = "sets of classes" if evidence.p is not None else "intervals"
    size = (
        f"{evidence.extent.mean():.2f} classes"
        if evidence.p is not None
        else f"a width of {evidence.extent.mean():.3g}"
    )
    verdict = f"clearly less in {first_few(below)}" if below else "in no task clearly less"
    return (
        f"{100 * COVERAGE:.0f} % {what} made from left-out training rows hold the target in "
        f"{100 * evidence.covered.mean():.1f} % of these rows, {verdict}; they have {size} on average."
    )


def _reliability_words(evidence: Evidence) -> str:
    if evidence.p is not None:
        scores = {evidence.tasks[t]: evidence.scores(evidence.rows(t)) for t in evidence.present}
        errors = [f"{name} {s['ece']:.3f} ({s['ece_perfect']:.3f})" for name, s in scores.items()]
        return "Expected calibration error, and if perfectly calibrated: " + ", ".join(errors) + "."
    levels, inside = scored.coverage(evidence, np.arange(len(evidence.y)))
    return f"The 50 % interval holds {inside[9]:.0%} and the {levels[-1]:.0%} interval {inside[-1]:.0%} of the targets."


def error_section(evidence: Evidence) -> Section:
    """Where predictions go wrong."""
    if evidence.p is None:
        picture = draw(
            "predictions",
            lambda ax: scored.plot_predictions(evidence, ax),
            height=3.6,
            title="Predicted against true",
            caption="On the dashed line they agree. At most 2,000 rows are drawn.",
            alt=f"Correlation of predicted and true values: {_correlation(evidence):.3f}.",
        )
        error = evidence.mean - evidence.y
        half, most = np.quantile(np.abs(error), [0.5, 0.95])
        words = (
            f"Half of the predictions are off by at most {half:.3g}, 5 % by more than {most:.3g}; on average they are "
            f"{abs(error.mean()):.3g} too {'high' if error.mean() > 0 else 'low'}."
        )
        return Section("errors", "Where does it err?", (words,), (picture,))
    counts, names = scored.confusion(evidence), evidence.classes or ()
    off = [(int(counts[a, b]), a, b) for a, b in np.ndindex(counts.shape) if a != b and counts[a, b]]
    worst = [f"{names[a]} taken for {names[b]} {counted(n, 'time')}" for n, a, b in sorted(off, reverse=True)[:6]]
    picture = draw(
        "confusion",
        lambda ax: scored.plot_confusion(evidence, None, ax),
        height=1.3 + min(0.5 * len(names), 4.2) + name_height(names),
        title="Confusion matrix, all tasks",
        caption="Rows are true classes and sum to 1; the diagonal is right.",
        alt=("Most frequent confusions: " + "; ".join(worst) if worst else "No row is confused") + ".",
    )
    words = f"{int(evidence.wrong.sum())} of {counted(len(evidence.y), 'row')} are predicted wrong."
    return Section("errors", "Where does it err?", (words,), (picture,), (), tuple(worst))


def _correlation(evidence: Evidence) -> float:
    assert evidence.mean is not None
    if min(np.std(evidence.mean), np.std(evidence.y)) == 0:
        return float("nan")
    return float(np.corrcoef(evidence.y, evidence.mean)[0, 1])
