"""README's table of peers: the default, whoever is ahead of it, and the next best, in one table of both kinds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peer_suite.tables import brief
from peer_suite.tools import PEERS

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


def test_the_best_six_are_shown_and_the_floor_is_not() -> None:
    names = [name for name in PEERS if name not in ("vmtl", "constant")][:8]
    shown = cells(brief(records({"vmtl": 0.1, "constant": 0.05, **{name: 1 + k for k, name in enumerate(names)}})))
    assert [line[0] for line in shown[1:]] == [PEERS[name].title for name in names[:5]]


def test_nobody_who_is_ahead_is_left_out() -> None:
    names = [name for name in PEERS if name not in ("vmtl", "constant")][:8]
    table = records({"vmtl": 10.0, **{name: 1 + k for k, name in enumerate(names)}})
    assert [line[0] for line in cells(brief(table))] == [*(PEERS[name].title for name in names), "**VMTL default**"]
    only_classes = table.assign(rmse=np.where(table["peer"] == names[-1], np.nan, table["rmse"]))
    assert PEERS[names[-1]].title in [line[0] for line in cells(brief(only_classes))]


@pytest.mark.parametrize("kept", [("binary",), ("regression",)])
def test_one_kind_alone_has_dashes_for_the_other(kept: tuple[str, ...]) -> None:
    table = records({"vmtl": 0.4, "catboost": 0.5})
    (first, _) = cells(brief(table[table["kind"].isin(kept)]))
    assert "–" in first
