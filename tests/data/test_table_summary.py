"""What is known of columns adds up: parts give the encoding of the whole."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

from vmtl.data import table_summary
from vmtl.data.preprocessing import TablePreprocessor
from vmtl.data.table_summary import TableSummary


def mixed(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "dose": np.where(np.arange(n) < 5, np.nan, 1e6 + rng.normal(size=n)),
            "constant": 3.0,
            "nothing": np.nan,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
            "sex": np.where(np.arange(n) < 20, None, rng.choice(["f", "m", "x"], n)),
            "ward": [f"w{i % 7}" for i in range(n)],
        }
    )


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_give_the_encoding_of_the_whole(parts: int) -> None:
    table = mixed()
    several = [TableSummary.of(table.iloc[rows]) for rows in np.array_split(np.arange(len(table)), parts)]
    found = TablePreprocessor(max_levels=5).fit_summary(reduce(add, several))
    expected = TablePreprocessor(max_levels=5).fit(table)
    assert found.feature_names_out_ == expected.feature_names_out_
    np.testing.assert_allclose(found.transform(table), expected.transform(table), rtol=1e-6, atol=1e-6)


def test_gaps_may_be_refused() -> None:
    with pytest.raises(ValueError, match="Values are missing in 'dose'"):
        TablePreprocessor(missing="error").fit_summary(TableSummary.of(mixed()))


def test_a_column_of_two_kinds_is_refused() -> None:
    dates, words = pd.DataFrame({"when": ["2024-01-01"]}), pd.DataFrame({"when": ["soon"]})
    with pytest.raises(ValueError, match="'when' holds date in one part and text in another"):
        TableSummary.of(dates) + TableSummary.of(words)


def test_too_many_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_summary, "MOST_TEXTS", 5)
    one, two = (pd.DataFrame({"name": [f"{part}{i}" for i in range(4)]}) for part in "ab")
    with pytest.raises(ValueError, match="more than 5 different texts; drop it"):
        TableSummary.of(one) + TableSummary.of(two)
