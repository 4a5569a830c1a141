"""Raw columns to what tools take: numbers with one-hot categories, or a frame with gaps and text categories."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

#: A category beyond the most frequent ones of the training rows counts as "other".
MOST_LEVELS = 30
GAP = "missing"


class Encoder:
    """The same ordinary treatment for every tool; scaling is left to each.

    As numbers: gaps filled with the mean of the training rows beside a column that marks them, categories one-hot
    with gaps as a level, columns without variance in training left out. As a frame: numbers with gaps as they are,
    categories as text.
    """

    def fit(self, frame: pd.DataFrame) -> Self:
        self._numbers = [name for name in frame if _is_number(frame[name])]
        self._text = [name for name in frame if name not in self._numbers]
        self._pipeline = self._build().fit(self._raw(frame))
        return self

    def transform(self, frame: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
        """(n, D) numbers, and the frame."""
        raw = self._raw(frame)
        with warnings.catch_warnings():  # a level that training rows do not have is "other", or none of the levels
            warnings.filterwarnings("ignore", message="Found unknown categories")
            return np.asarray(self._pipeline.transform(raw), dtype=np.float64), raw

    def _raw(self, frame: pd.DataFrame) -> pd.DataFrame:
        numbers = {name: frame[name].astype(float) for name in self._numbers}
        text = {name: frame[name].astype(object).where(frame[name].notna(), GAP).map(str) for name in self._text}
        return pd.DataFrame({**numbers, **text})[list(frame)].reset_index(drop=True)

    def _build(self) -> Pipeline:
        fill = SimpleImputer(strategy="mean", add_indicator=True, keep_empty_features=True)
        one_hot = OneHotEncoder(
            drop="if_binary",
            max_categories=MOST_LEVELS,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
        )
        columns = ColumnTransformer([("numbers", fill, self._numbers), ("text", one_hot, self._text)])
        return make_pipeline(columns, VarianceThreshold())


def _is_number(column: pd.Series) -> bool:
    return is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype)
