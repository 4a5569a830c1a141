"""Where a peer is better than the default: which, on which sets, and by how much."""

from __future__ import annotations

import pandas as pd

from peer_suite.summary import FLOOR, US, means
from peer_suite.tables import CLASSES, REALS, markdown
from peer_suite.tools import PEERS

#: A loss of less than this many per cent is not told from chance by a set of this size.
EVEN = 1.0


def misses(table: pd.DataFrame) -> str:
    """Both kinds: a sentence on who is ahead how often, and one line per set that the default does not win."""
    parts = []
    for kinds, metric, word in ((CLASSES, "nll", "likelihood"), (REALS, "rmse", "RMSE")):
        values = means(table, metric, kinds)
        if US in values and values[US].notna().any():
            parts += [_who(values, word), _where(values.dropna(subset=US), word)]
    return "\n".join(parts) or "Nothing has been measured yet.\n"


def _who(values: pd.DataFrame, word: str) -> str:
    """Peers by the share of sets on which they are ahead."""
    counts = {}
    for peer in values.columns.drop([US, FLOOR], errors="ignore"):
        both = values[[US, peer]].dropna()
        if len(both):
            counts[peer] = (int((both[peer] < both[US]).sum()), len(both))
    order = sorted(counts, key=lambda peer: counts[peer][0] / counts[peer][1], reverse=True)
    told = ", ".join(f"{PEERS[peer].title} {counts[peer][0]} of {counts[peer][1]}" for peer in order)
    return f"Sets on which a tool has a better {word} than the default: {told}.\n"


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
