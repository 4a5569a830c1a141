"""Where a peer is better than the default: which, on which sets, and by how much."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchmarks.peers.summary import FLOOR, US, means
from benchmarks.peers.tables import CLASSES, REALS, markdown
from benchmarks.peers.tools import PEERS

#: A loss of less than this many per cent is not told from chance by a set of this size.
EVEN = 1.0


def misses(table: pd.DataFrame) -> str:
    """How often each peer is ahead; for both kinds, one line per set that the default does not win."""
    values = {
        word: means(table, metric, kinds)
        for kinds, metric, word in ((CLASSES, "nll", "likelihood"), (REALS, "rmse", "RMSE"))
    }
    values = {word: of.dropna(subset=US) for word, of in values.items() if US in of and of[US].notna().any()}
    if not values:
        return "Nothing has been measured yet.\n"
    return "\n".join([_who(values), *(_where(of, word) for word, of in values.items())])


def _who(values: Mapping[str, pd.DataFrame]) -> str:
    """Peers by the share of sets on which they are ahead, of both kinds together."""
    ahead = {word: of.drop(columns=[US, FLOOR], errors="ignore").lt(of[US], axis=0) for word, of in values.items()}
    wins = pd.DataFrame({word: of.sum() for word, of in ahead.items()}).fillna(0).astype(int)
    sets = pd.DataFrame({word: values[word][list(of)].count() for word, of in ahead.items()}).fillna(0).astype(int)
    order = (wins.sum(axis=1) / sets.sum(axis=1)).sort_values(ascending=False, kind="stable").index
    rows = [
        [PEERS[str(peer)].title, *(f"{wins.loc[peer, word]} of {sets.loc[peer, word]}" for word in values)]
        for peer in order
    ]
    told = "Sets on which a tool is better than the default, of those that both have:\n"
    return told + "\n" + markdown(["tool", *(f"better {word}" for word in values)], rows)


def _where(values: pd.DataFrame, word: str) -> str:
    """Sets that another tool wins, the largest loss first."""
    others = values.drop(columns=[US, FLOOR], errors="ignore")
    best = others.min(axis=1)
    lost = (100 * (values[US] / best - 1)).sort_values(ascending=False)
    lost = lost[lost > 0]
    rows = [
        [
            str(name),
            f"{values.loc[name, US]:.3g}",
            PEERS[others.loc[name].idxmin()].title,
            f"{best[name]:.3g}",
            f"{loss:.1f} %",
            f"{int((others.loc[name] < values.loc[name, US]).sum())} of {int(others.loc[name].notna().sum())}",
        ]
        for name, loss in lost.items()
    ]
    worse = int((lost > EVEN).sum())
    told = f"By {word} the default is first on {len(values) - len(lost)} of {len(values)} sets"
    told += f", within {EVEN:.0f} % of the best tool on {len(lost) - worse} more, and further behind on {worse}.\n"
    return told + "\n" + markdown(["set", "VMTL default", "best tool", "its score", "behind by", "tools ahead"], rows)
