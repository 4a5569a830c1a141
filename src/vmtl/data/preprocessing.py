"""Raw table columns -> features: learned on training rows, stored as arrays and JSON, never pickled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.json_values import Document
from vmtl._utils.messages import did_you_mean, quoted
from vmtl._utils.types import Array
from vmtl.data.column_format import ColumnFormat
from vmtl.data.column_types import column_formats
from vmtl.data.columns import as_levels, as_numbers
from vmtl.data.table_summary import TableSummary

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

STATE_VERSION = 1


def lacking(table: str, absent: Sequence[str], there: Iterable[str], known: Iterable[str]) -> str:
    """The sentence on columns that a model needs and a table does not have; those that it knows are not meant."""
    strange = set(there) - set(known)
    near = did_you_mean(absent[0], sorted(strange)) if len(absent) == 1 else ""
    them = "it" if len(absent) == 1 else "them"
    return f"{table} lacks {quoted(absent)}{near}, which the model was fitted on; add {them}."


@dataclass(eq=False)
class TablePreprocessor:
    """Numbers standardised, text one-hot, gaps filled with the training mean and marked by an indicator.

    missing : ``"impute"``, or ``"error"`` to refuse gaps and name their columns.
    max_levels : a text column keeps its most frequent levels; the rest count as unseen.

    Numbers are integers, floats, booleans (0, 1) and dates (days since 1970). Text cells such as "45%", "$1,234.50"
    or "18.12.2023" are read as such; ``formats_`` says what each column was taken for, and
    ``vmtl.datasets.set_column_types`` overrules it. A level that was not seen in training gives zeros in all columns of
    its variable; a gap in text is a level of its own. Columns are looked up by name, in any order, and further ones are
    ignored.
    """

    missing: str = "impute"
    max_levels: int = 64
    feature_names_in_: list[str] = field(default_factory=list, init=False)
    feature_names_out_: list[str] = field(default_factory=list, init=False)
    formats_: dict[str, ColumnFormat] = field(default_factory=dict, init=False)

    @property
    def kinds_(self) -> dict[str, str]:
        """``number``, ``date`` or ``text`` for every column."""
        return {name: form.kind for name, form in self.formats_.items()}

    def fit(self, table: pd.DataFrame) -> TablePreprocessor:
        """Learn means, scales and levels from the training rows."""
        if self.missing not in ("impute", "error"):
            raise ValueError(f'missing is {self.missing!r}; choose "impute" or "error".')
        if not len(table) or not len(table.columns):
            raise ValueError(f"The table has shape {table.shape}; give at least one row and one column.")
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"The columns {quoted(repeated)} occur twice; rename one of each.")
        self.feature_names_in_ = names
        self.formats_ = column_formats(table)
        numbers, text = self._columns(table)
        levels = [self._frequent(values) for values in text.T]
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        if numbers.shape[1]:
            empty = np.isnan(numbers).all(axis=0)
            scaler.fit(np.where(empty, 0.0, numbers))
        gaps = np.asarray(np.isnan(numbers).any(axis=0))
        self._build(scaler, gaps, levels)
        return self

    def fit_summary(self, summary: TableSummary) -> TablePreprocessor:
        """Learn the same from what is known of the columns of all rows."""
        self.feature_names_in_ = [column.name for column in summary.columns]
        self.formats_ = {column.name: ColumnFormat(column.kind or "number") for column in summary.columns}
        gaps = [column.name for column in summary.columns if column.gaps]
        if self.missing == "error" and gaps:
            raise ValueError(f'Values are missing in {quoted(gaps)}; fill them or use missing="impute".')
        numbers = [column for column in summary.columns if column.kind != "text"]
        text = [column for column in summary.columns if column.kind == "text"]
        mean, scale = (np.array([getattr(column, name) for column in numbers]) for name in ("mean", "scale"))
        levels = [column.frequent(self.max_levels) for column in text]
        self._build(_scaler(mean, scale), np.array([column.gaps > 0 for column in numbers], dtype=bool), levels)
        return self

    def transform(self, table: pd.DataFrame) -> Array:
        """(n, D) float32 features of raw rows, in the order of ``feature_names_out_``."""
        if not self.feature_names_in_:
            raise ValueError("This TablePreprocessor is not fitted; call fit with the training rows first.")
        numbers, text = self._columns(table)
        parts = []
        if numbers.shape[1]:
            parts.append(self._imputer.transform(self._scaler.transform(numbers)))
        if text.shape[1]:
            parts.append(self._encoder.transform(text))
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def fit_transform(self, table: pd.DataFrame) -> Array:
        """``fit`` and ``transform`` of the same rows."""
        return self.fit(table).transform(table)

    def outputs_of_columns(self) -> dict[str, Array]:
        """For every raw column the places of its features in the rows of ``transform``."""
        numeric = [name for name in self.feature_names_in_ if self.kinds_[name] != "text"]
        text = [name for name in self.feature_names_in_ if self.kinds_[name] == "text"]
        origin = [*numeric, *(name for name, gap in zip(numeric, self._gaps, strict=True) if gap)]
        origin += [name for name, levels in zip(text, self._levels, strict=True) for _ in levels]
        return {name: np.flatnonzero(np.array(origin, dtype=object) == name) for name in self.feature_names_in_}

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """All that was learned, as a JSON-able dict and named arrays; ``from_state`` is the way back."""
        document = {
            "version": STATE_VERSION,
            "missing": self.missing,
            "max_levels": self.max_levels,
            "kinds": [[name, self.formats_[name].kind] for name in self.feature_names_in_],
            "formats": {name: form.to_json() for name, form in self.formats_.items()},
            "levels": [list(map(str, levels)) for levels in self._levels],
        }
        no_numbers = not hasattr(self._scaler, "mean_")
        return document, {
            "mean": np.zeros(0) if no_numbers else self._scaler.mean_,
            "scale": np.zeros(0) if no_numbers else self._scaler.scale_,
            "gaps": self._gaps,
        }

    @classmethod
    def from_state(cls, document: Document, arrays: dict[str, Array]) -> TablePreprocessor:
        """Rebuild a fitted preprocessor: it transforms every row exactly as the stored one did."""
        if document["version"] > STATE_VERSION:
            raise ValueError("The table preprocessing was stored by a newer vmtl; install that version.")
        self = cls(missing=document["missing"], max_levels=document["max_levels"])
        self.feature_names_in_ = [name for name, _ in document["kinds"]]
        formats = document.get("formats", {})
        self.formats_ = {name: ColumnFormat.from_json(kind, formats.get(name, {})) for name, kind in document["kinds"]}
        mean, scale = (np.asarray(arrays[key], dtype=np.float64) for key in ("mean", "scale"))
        self._build(_scaler(mean, scale), np.asarray(arrays["gaps"], dtype=bool), document["levels"])
        return self

    def _build(self, scaler: StandardScaler, gaps: Array, levels: list[list[str]]) -> None:
        """Assemble the transformers and the names of their outputs from what was learned."""
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder

        self._scaler, self._gaps, self._levels = scaler, gaps, levels
        numeric = [name for name in self.feature_names_in_ if self.kinds_[name] != "text"]
        text = [name for name in self.feature_names_in_ if self.kinds_[name] == "text"]
        out = list(numeric)
        if numeric:
            example = np.stack([np.zeros(len(gaps)), np.where(gaps, np.nan, 0.0)])
            self._imputer = SimpleImputer(
                strategy="constant", fill_value=0.0, add_indicator=bool(gaps.any()), keep_empty_features=True
            ).fit(example)
            out += [f"{name} missing" for name, gap in zip(numeric, gaps, strict=True) if gap]
        if text:
            longest = max(map(len, levels))
            example = np.array([np.resize(column, longest) for column in levels], dtype=object).T
            categories = [np.array(column, dtype=object) for column in levels]
            self._encoder = OneHotEncoder(
                categories=categories, handle_unknown="ignore", sparse_output=False, dtype=np.float32
            ).fit(example)
            out += [f"{name}={level}" for name, of_column in zip(text, levels, strict=True) for level in of_column]
        self.feature_names_out_ = out

    def _columns(self, table: pd.DataFrame) -> tuple[Array, Array]:
        """(n, numeric columns) float64 with NaN for gaps, and (n, text columns) levels as str."""
        place = {str(name): j for j, name in enumerate(table.columns)}
        absent = [name for name in self.feature_names_in_ if name not in place]
        if absent:
            raise ValueError(lacking("The table", absent, place, self.feature_names_in_))
        columns = {name: table.iloc[:, place[name]] for name in self.feature_names_in_}
        text = [as_levels(column) for name, column in columns.items() if self.kinds_[name] == "text"]
        numeric = {name: column for name, column in columns.items() if self.kinds_[name] != "text"}
        read = {name: as_numbers(column, self.formats_[name]) for name, column in numeric.items()}
        if self.missing == "error":
            gaps = [name for name, c in columns.items() if (np.isnan(read[name]) if name in read else c.isna()).any()]
            if gaps:
                raise ValueError(f'Values are missing in {quoted(gaps)}; fill them or use missing="impute".')
        numbers = list(read.values())
        return (
            np.stack(numbers, axis=1) if numbers else np.zeros((len(table), 0)),
            np.stack(text, axis=1) if text else np.zeros((len(table), 0), dtype=object),
        )

    def _frequent(self, values: Array) -> list[str]:
        levels, counts = np.unique(values.astype(str), return_counts=True)
        kept = np.lexsort((levels, -counts))[: self.max_levels]
        return sorted(levels[kept].tolist())


def _scaler(mean: Array, scale: Array) -> StandardScaler:
    """The scaler that has learned these numbers; there may be none."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    if len(mean):
        scaler.fit(np.stack([mean, mean]))
        scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, scale**2
    return scaler
