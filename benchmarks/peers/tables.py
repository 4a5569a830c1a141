"""Tables in Markdown: ranks and means, one line per peer; and one line per set."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from benchmarks.peers.sets import find_set
from benchmarks.peers.summary import FLOOR, RIGHT_COVERAGE, US, Goal, means, ranks
from benchmarks.peers.tools import PEERS

CLASSES, REALS = ("binary", "multi-class"), ("regression",)
#: What most people would try: shown wherever there is no room for all.
USUAL = ("pooled", "dummies", "lme4", "forest", "lightgbm", "catboost", "svm_task", "gp", "realmlp", "tabpfn")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def classification(table: pd.DataFrame) -> str:
    """Peers in the order of their mean rank by likelihood."""
    nll, auc, accuracy = (
        means(table, "nll", CLASSES),
        means(table, "auc", ("binary",)),
        means(table, "accuracy", CLASSES),
    )
    columns = {
        "mean rank (NLL)": (ranks(nll).mean(), "{:.2f}"),
        "first": ((ranks(nll) == 1).sum(), "{:.0f}"),
        "sets": (nll.notna().sum(), "{:.0f}"),
        "NLL": (_common(nll).mean(), "{:.3f}"),
        "mean rank (AUC)": (ranks(auc, higher_is_better=True).mean(), "{:.2f}"),
        "AUC": (100 * _common(auc).mean(), "{:.1f}"),
        "accuracy": (100 * _common(accuracy).mean(), "{:.1f}"),
        "seconds": (_complete(means(table, "cpu_seconds", CLASSES), nll).median(), "{:.1f}"),
    }
    return _peers(columns, nll)


def regression(table: pd.DataFrame) -> str:
    """Peers in the order of their mean rank by RMSE; errors in units of the target's standard deviation."""
    rmse, spread = means(table, "rmse", REALS), means(table, "spread", REALS)
    nll, coverage = means(table, "nll", REALS), means(table, "coverage", REALS)
    columns = {
        "mean rank (RMSE)": (ranks(rmse).mean(), "{:.2f}"),
        "first": ((ranks(rmse) == 1).sum(), "{:.0f}"),
        "sets": (rmse.notna().sum(), "{:.0f}"),
        "RMSE / std": (_common(rmse / spread).mean(), "{:.3f}"),
        "mean rank (NLL)": (
            ranks(nll).mean() if len(_complete(nll, rmse).T) == len(rmse.T) else rmse[[]].mean(),
            "{:.2f}",
        ),
        "coverage": (100 * _common(coverage).mean(), "{:.1f}"),
        "sets at 87 to 94 %": (_share_right(coverage), "{:.0f} %"),
        "seconds": (_complete(means(table, "cpu_seconds", REALS), rmse).median(), "{:.1f}"),
    }
    return _peers(columns, rmse)


def brief(table: pd.DataFrame) -> str:
    """Both kinds in one table, in the order of the mean of both ranks: the default, what most people would try, and
    whoever else is ahead of the default in either kind. The seconds are those of classification and of regression."""
    nll, rmse = means(table, "nll", CLASSES), means(table, "rmse", REALS)
    of_classes, of_reals = ranks(nll).mean(), ranks(rmse).mean()
    seconds = [
        _complete(means(table, "cpu_seconds", kinds), like).median() for kinds, like in ((CLASSES, nll), (REALS, rmse))
    ]
    columns = (
        ("rank, classification", of_classes, "{:.1f}"),
        ("won", (ranks(nll) == 1).sum(), "{:.0f}"),
        ("NLL", _common(nll).mean(), "{:.3f}"),
        ("rank, regression", of_reals, "{:.1f}"),
        ("won", (ranks(rmse) == 1).sum(), "{:.0f}"),
        ("RMSE / std", _common(rmse / means(table, "spread", REALS)).mean(), "{:.3f}"),
    )
    order = pd.concat([of_classes, of_reals], axis=1).mean(axis=1).sort_values().index
    ahead = [peer for peer in order if any(_is_ahead(of, peer) for of in (of_classes, of_reals))]
    rows = []
    for peer in (peer for peer in order if peer in (US, *USUAL, *ahead)):
        cells = [_cell(series.get(peer), form) for _, series, form in columns]
        rows.append([_title(peer), *cells, " / ".join(_cell(of.get(peer), "{:.1f}") for of in seconds)])
    return markdown(["", *(name for name, *_ in columns), "seconds"], rows)


def _is_ahead(of_kind: pd.Series, peer: str) -> bool:
    """Whether a peer has a better rank than the default."""
    return bool(of_kind.get(peer, np.inf) < of_kind.get(US, -np.inf))


def per_set(
    table: pd.DataFrame, metric: str, kinds: Sequence[str], best: str | None = "lowest", usual: bool = False
) -> str:
    """One line per set, the best in bold: the lowest, the highest or none.

    With ``usual``, only the default and what most people would try have a column, and the last one names the best of
    the others.
    """
    values = means(table, metric, kinds)
    place = ranks(values, best == "highest") if best else pd.DataFrame(index=values.index)
    shown = [peer for peer in values if not usual or peer in (US, *USUAL)]
    others = values.columns.drop([*shown, FLOOR], errors="ignore") if usual and best else []
    rows = []
    for name, row in values.iterrows():
        one = find_set(str(name))
        cells = {peer: _number(row[peer], place.loc[name].get(peer) == 1) for peer in values}
        rest = sorted(row[others].dropna().items(), key=lambda pair: pair[1], reverse=best == "highest")
        last = [f"{_short(rest[0][0])} {cells[rest[0][0]]}" if rest else "–"] if len(others) else []
        rows.append([str(name), f"{one.tasks} x {one.rows}", *(cells[peer] for peer in shown), *last])
    return markdown(["set", "tasks x rows", *map(_short, shown), *(["best other"] if len(others) else [])], rows)


def digits(table: pd.DataFrame) -> str:
    """One line per peer: mean and standard deviation over the splits it has, accuracy in % or RMSE, for both sets."""
    kinds = table.groupby("set")["kind"].first()
    metrics = {name: "accuracy, %" if kind in CLASSES else "RMSE" for name, kind in kinds.items()}
    found = table.assign(value=(100 * table["accuracy"]).fillna(table["rmse"])).groupby(["peer", "set"])["value"]
    rows = []
    for peer in (peer for peer in PEERS if peer in set(table["peer"])):
        cells = []
        for name in metrics:
            values = found.get_group((peer, name)) if (peer, name) in found.groups else pd.Series(dtype=float)
            spread = f" ± {values.std():.2f}" if len(values) > 1 else ""
            cells += [_cell(values.mean(), "{:.2f}") + spread, str(len(values))]
        rows.append([_title(peer), *cells])
    return markdown(["", *(head for name, metric in metrics.items() for head in (f"{name}: {metric}", "splits"))], rows)


def goal_table(goals: Sequence[Goal]) -> str:
    words = {True: "yes", False: "no", None: "not measured"}
    rows = [(g.name, g.goal, "–" if g.value is None else f"{g.value:.3g}", words[g.passed]) for g in goals]
    return markdown(["what", "goal", "measured", "met"], rows)


def _peers(columns: dict[str, tuple[pd.Series, str]], values: pd.DataFrame) -> str:
    """A line per peer, in the order of the first column; the floor last."""
    if values.empty:
        return "Nothing has been measured yet.\n"
    first: Callable[[str], float] = columns[next(iter(columns))][0].get  # type: ignore[assignment]
    order = sorted((peer for peer in values if peer != FLOOR), key=lambda peer: first(peer))
    rows = []
    for peer in [*order, *([FLOOR] if FLOOR in values else [])]:
        cells = [_cell(series.get(peer), form) for series, form in columns.values()]
        rows.append([_title(peer), *cells])
    return markdown(["", *columns], rows)


def _title(peer: str) -> str:
    """A peer's name; ours in bold."""
    title = PEERS[peer].title
    return f"**{title}**" if peer == US else title


def _short(peer: str) -> str:
    """The head of a peer's column."""
    return PEERS[peer].short or PEERS[peer].title


def _number(value: float, is_best: bool) -> str:
    """Three digits; the best in bold."""
    return "–" if np.isnan(value) else f"**{value:.3g}**" if is_best else f"{value:.3g}"


def _cell(value: float | None, form: str) -> str:
    return "–" if value is None or np.isnan(value) else form.format(value)


def _common(values: pd.DataFrame) -> pd.DataFrame:
    """Only peers with a value on every set: means over different sets cannot be compared."""
    return values.dropna(axis=1)


def _complete(values: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Only peers with a value wherever ``like`` has one: a record may lack what an earlier page did not keep."""
    same = values.notna() == like.reindex_like(values).notna()
    return values.loc[:, same.all()]


def _share_right(coverage: pd.DataFrame) -> pd.Series:
    """% of the peer's sets with the right coverage."""
    right = (coverage >= RIGHT_COVERAGE[0]) & (coverage <= RIGHT_COVERAGE[1])
    return 100 * right.sum() / coverage.notna().sum()
