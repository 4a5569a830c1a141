"""README's table of peers: the default, what most people would try and whoever is ahead; and lines per set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers.tables import USUAL, brief, per_set
from benchmarks.peers.tools import PEERS

#: Sets, with their kind.
KINDS = {"credit": "binary", "chile": "binary", "taxi": "regression", "gapminder": "regression"}


def records(losses: dict[str, float]) -> pd.DataFrame:
    """One split of every set; the loss of a peer is the same on all."""
    rows = [
        {"set": name, "kind": kind, "split": 0, "peer": peer, "cpu_seconds": 2.0, "date": "2026-01-01", "spread": 2.0}
        | ({"rmse": loss} if kind == "regression" else {"nll": loss})
        for name, kind in KINDS.items()
        for peer, loss in losses.items()
    ]
    return pd.DataFrame(rows)


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_means_and_ranks_of_both_kinds_stand_in_one_line() -> None:
    first, second = cells(brief(records({"vmtl": 0.4, "catboost": 0.5, "constant": 0.9})))
    assert first == [f"**{PEERS['vmtl'].title}**", "1.0", "2", "0.400", "1.0", "2", "0.200", "2.0 / 2.0"]
    assert second == [PEERS["catboost"].title, "2.0", "0", "0.500", "2.0", "0", "0.250", "2.0 / 2.0"]


def test_what_most_people_would_try_is_shown_and_the_floor_is_not() -> None:
    names = [name for name in PEERS if name not in ("vmtl", "constant")]
    shown = cells(brief(records({"vmtl": 0.1, "constant": 0.05, **{name: 1 + k for k, name in enumerate(names)}})))
    assert [line[0] for line in shown[1:]] == [PEERS[name].title for name in names if name in USUAL]


def test_nobody_who_is_ahead_is_left_out() -> None:
    names = [name for name in PEERS if name not in ("vmtl", "constant")][:8]
    table = records({"vmtl": 10.0, **{name: 1 + k for k, name in enumerate(names)}})
    assert [line[0] for line in cells(brief(table))] == [*(PEERS[name].title for name in names), "**VMTL default**"]
    only_classes = table.assign(rmse=np.where(table["peer"] == names[-1], np.nan, table["rmse"]))
    assert PEERS[names[-1]].title in [line[0] for line in cells(brief(only_classes))]


def test_a_line_per_set_names_the_best_of_those_without_a_column() -> None:
    table = records({"vmtl": 0.4, "catboost": 0.5, "xrfm": 0.3, "gpboost": 0.6, "constant": 0.1})
    usual = per_set(table, "nll", ("binary",), usual=True)
    assert usual.splitlines()[0] == "| set | tasks x rows | VMTL | CatBoost | best other |"
    assert [line[2:] for line in cells(usual)] == [["0.4", "0.5", "xRFM **0.3**"]] * 2
    whole = cells(per_set(table, "nll", ("binary",)))
    assert [line[2:] for line in whole] == [["0.4", "0.5", "0.6", "**0.3**", "0.1"]] * 2


def test_what_is_highest_may_be_best() -> None:
    table = records({"vmtl": 0.4, "xrfm": 0.3, "gpboost": 0.6})
    assert cells(per_set(table, "nll", ("binary",), "highest", usual=True))[0][2:] == ["0.4", "GPBoost **0.6**"]


@pytest.mark.parametrize("kept", [("binary",), ("regression",)])
def test_one_kind_alone_has_dashes_for_the_other(kept: tuple[str, ...]) -> None:
    table = records({"vmtl": 0.4, "catboost": 0.5})
    (first, _) = cells(brief(table[table["kind"].isin(kept)]))
    assert "–" in first
