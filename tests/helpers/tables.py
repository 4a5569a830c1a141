"""What the tests of the command line share: how a command is run, and a small table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from typer.testing import Result

Run = Callable[..., Result]
FEW = ("--seed", "3")


def make_table(n: int, seed: int) -> pd.DataFrame:
    """Rows of three sites with numbers, text, gaps, a class and a real target."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "bmi"])
    table["ward"] = rng.choice(["A", "B"], n)
    table["site"] = rng.choice(["north", "south", "west"], n)
    score = 2 * table["age"] - table["dose"] + (table["ward"] == "A")
    table["outcome"] = np.where(score > 1, "severe", np.where(score > -1, "mild", "none"))
    table["days"] = score + rng.normal(scale=0.1, size=n)
    table.loc[::9, "bmi"] = np.nan
    return table
