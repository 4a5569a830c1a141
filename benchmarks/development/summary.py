"""Per set and group: 100 log(NLL / the best peer's NLL), in regression 100 log(RMSE / the best peer's RMSE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.development.jobs import Job
from benchmarks.development.sets import GROUPS
from benchmarks.development.tools import PEERS

#: Below this a likelihood is as good as this: logarithms of ratios of nearly perfect predictions say nothing.
LEAST_NLL = 0.01


def frame(jobs: Sequence[Job], records: dict[str, Any]) -> pd.DataFrame:
    """One row per record."""
    found = [records[job.id] for job in jobs if job.id in records]
    return pd.DataFrame([{**record, **record["scores"]} for record in found]).drop(columns="scores", errors="ignore")


def lost(table: pd.DataFrame) -> pd.DataFrame:
    """One row per set and tool that is not a peer: means over the splits that the tool and all peers have.

    ``score`` is the mean over splits of NLL, or of RMSE over the standard deviation of test rows; ``lost`` is 100 times
    the logarithm of its ratio to the best peer's, picked in hindsight on each set.
    """
    table = table.assign(score=_score(table))
    peers = table[table["tool"].isin(PEERS)]
    rows = []
    for (name, tool), ours in table[~table["tool"].isin(PEERS)].groupby(["set", "tool"], sort=False):
        beside = peers[(peers["set"] == name)].pivot_table(index="split", columns="tool", values=["score", "nll"])
        beside = beside.dropna()
        common = ours[ours["split"].isin(beside.index)]
        told = common if len(common) else ours
        row = {"set": name, "group": told["group"].iloc[0], "tool": tool, "splits": len(told)}
        row["score"], row["nll"], row["seconds"] = (told[key].mean() for key in ("score", "nll", "cpu_seconds"))
        row |= {key: told[key].mean() for key in ("accuracy", "auc", "coverage", "recall", "seen") if key in told}
        if len(common):
            means = beside.loc[common["split"]].mean()
            row["best"] = means["score"].idxmin()
            row["best score"], row["best nll"] = means["score"].min(), means["nll"].min()
            row["lost"] = 100 * np.log(row["score"] / row["best score"])
            row["nll difference"] = row["nll"] - row["best nll"]
        rows.append(row)
    return pd.DataFrame(rows)


def _score(table: pd.DataFrame) -> pd.Series:
    nll = table["nll"].clip(lower=LEAST_NLL)
    if "rmse" not in table:
        return nll
    return nll.where(table["kind"] != "regression", table["rmse"] / table["spread"])


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [list(columns), *[list(row) for row in rows]]
    width = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, width, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
    return "\n".join(lines) + "\n"


def per_set(found: pd.DataFrame, tool: str) -> str:
    """One line per set of one variant."""
    own = found[found["tool"] == tool]
    rows = []
    for group in GROUPS:
        for _, row in own[own["group"] == group].iterrows():
            extra = "coverage" if group == "tables-r" else "auc" if _number(row.get("auc")) != "–" else "accuracy"
            rows.append(
                [
                    group,
                    row["set"],
                    str(row["splits"]),
                    _number(row["score"]),
                    f"{row.get('best', '–')} {_number(row.get('best score'))}",
                    _number(row.get("lost"), "{:+.1f}"),
                    _number(row.get("nll difference"), "{:+.3f}"),
                    f"{extra} {_number(100 * row.get(extra, np.nan), '{:.1f}')}",
                    _number(row["seconds"], "{:.1f}"),
                ]
            )
    head = ("group", "set", "splits", tool, "best peer", "100 log ratio", "NLL difference", "", "seconds")
    return markdown(head, rows)


def groups(found: pd.DataFrame) -> list[dict[str, Any]]:
    """One row per group and variant: mean and worst of what is lost, over sets that have peers."""
    rows = []
    if "lost" not in found:
        return rows
    known = found.dropna(subset=["lost"])
    for tool in dict.fromkeys(known["tool"]):
        own = known[known["tool"] == tool]
        for group in (*GROUPS, "all"):
            part = own if group == "all" else own[own["group"] == group]
            if len(part):
                worst = part.loc[part["lost"].idxmax()]
                rows.append(
                    {
                        "tool": tool,
                        "group": group,
                        "sets": len(part),
                        "mean": part["lost"].mean(),
                        "median": part["lost"].median(),
                        "worst": worst["lost"],
                        "worst set": worst["set"],
                        "NLL difference": part["nll difference"].mean(),
                        "seconds": part["seconds"].sum(),
                    }
                )
    return rows


def group_table(rows: list[dict[str, Any]]) -> str:
    forms = {
        "mean": "{:+.2f}",
        "median": "{:+.2f}",
        "worst": "{:+.1f}",
        "NLL difference": "{:+.3f}",
        "seconds": "{:.0f}",
    }
    head = ("tool", "group", "sets", "mean", "median", "worst", "worst set", "NLL difference", "seconds")
    return markdown(head, [[forms.get(key, "{}").format(row[key]) for key in head] for row in rows])


def special_table(found: pd.DataFrame, table: pd.DataFrame) -> str:
    """Classes that a task lacks, for all tools; and what one flipped task does to the others."""
    parts = []
    if "recall" in table and table["recall"].notna().any():
        lacks = table.dropna(subset=["recall"])
        lacks = lacks.assign(what=lacks["set"].str.replace(r"( [a-d])?$", "", n=1, regex=True))
        mean = lacks.groupby(["tool", "what"])[["recall", "seen"]].mean()
        mean["harmonic"] = 2 * mean["recall"] * mean["seen"] / (mean["recall"] + mean["seen"]).clip(lower=1e-9)
        told = mean.apply(lambda row: " / ".join(f"{value:.2f}" for value in row), axis=1).unstack(
            "what", fill_value="–"
        )
        rows = [[tool, *row] for tool, row in zip(told.index, told.to_numpy(), strict=True)]
        head = [name.removeprefix("missing class ") for name in told]
        parts.append(markdown(("a class is missing: recall / others / harmonic mean", *head), rows))
    flips = table[table["set"].str.match(r"(un)?flipped ")]
    if len(flips):
        name, state = (
            flips["set"].str.slice(stop=-2).str.replace(r"^\w+ ", "", regex=True),
            flips["set"].str.split().str[0],
        )
        nll = flips.assign(name=name, state=state).pivot_table(index=["name", "tool"], columns="state", values="nll")
        ratio = 100 * np.log(nll["flipped"] / nll["unflipped"]).unstack("name").dropna()
        rows = [[tool, *(f"{value:+.1f}" for value in row)] for tool, row in ratio.iterrows()]
        parts.append(markdown(("one task flipped: other tasks' NLL, 100 log ratio", *ratio), rows))
    return "\n".join(parts)


def comparison(found: pd.DataFrame, one: str, two: str) -> str:
    """Two variants side by side on the sets that both have."""
    a, b = (found[found["tool"] == tool].set_index("set") for tool in (one, two))
    rows, by_group = [], {}
    for group in GROUPS:
        for name in [name for name in a.index if name in b.index and a.loc[name, "group"] == group]:
            x, y = a.loc[name], b.loc[name]
            change = 100 * np.log(y["score"] / x["score"])
            by_group.setdefault(group, []).append((change, y["nll"] - x["nll"], x["seconds"], y["seconds"]))
            cells = [_number(x["score"]), _number(y["score"]), f"{change:+.1f}", f"{y['nll'] - x['nll']:+.3f}"]
            peers = [_number(row.get("lost"), "{:+.1f}") for row in (x, y)]
            rows.append([group, name, *cells, *peers, f"{x['seconds']:.1f}", f"{y['seconds']:.1f}"])
    head = ("group", "set", one, two, "100 log ratio", "NLL difference", f"{one} / peer", f"{two} / peer", "s", "s ")
    lines = []
    for group, values in by_group.items():
        change, nll, x, y = np.array(values).T
        cells = [f"{v:+.2f}" for v in (change.mean(), np.median(change), change.min(), change.max())]
        lines.append([group, str(len(change)), *cells, f"{nll.mean():+.4f}", f"{x.sum():.0f}", f"{y.sum():.0f}"])
    short = ("group", "sets", "mean", "median", "least", "most", "NLL difference", f"s {one}", f"s {two}")
    return markdown(head, rows) + "\n" + markdown(short, lines)


def _number(value: Any, form: str = "{:.4g}") -> str:
    return "–" if value is None or pd.isna(value) else form.format(value)
