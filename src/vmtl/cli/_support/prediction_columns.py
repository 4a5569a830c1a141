"""What is written beside rows: their prediction and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from vmtl._utils.types import Array, MatrixLike
    from vmtl.estimators import MultiTaskEstimator


def all_columns(
    model: MultiTaskEstimator, X: MatrixLike, tasks: Array, coverage: float | None, path: Path
) -> pd.DataFrame:
    """The prediction with its uncertainty and, with a ``coverage``, what is guaranteed; ``path`` = where X is from."""
    columns = prediction_columns(model, X, tasks)
    if coverage is None:
        return columns
    return beside(columns, guaranteed_columns(model, X, tasks, coverage), path)


def prediction_columns(model: MultiTaskEstimator, X: MatrixLike, tasks: Array) -> pd.DataFrame:
    """DataFrame: prediction, one probability per class, and total, aleatoric, epistemic."""
    import pandas as pd

    from vmtl.cli._support.loading import is_classifier

    columns: dict[str, Array] = {}
    if is_classifier(model):
        probabilities = model.predict_proba(X, tasks=tasks)
        columns["prediction"] = model.classes_[probabilities.argmax(axis=1)]
        for place, label in enumerate(model.classes_):
            columns[f"probability_{label}"] = probabilities[:, place]
    else:
        columns["prediction"] = model.predict(X, tasks=tasks)
    uncertainty = model.uncertainty(X, tasks=tasks).reset_index(drop=True)
    return pd.concat([pd.DataFrame(columns), uncertainty], axis=1)


def guaranteed_columns(model: MultiTaskEstimator, X: MatrixLike, tasks: Array, coverage: float) -> pd.DataFrame:
    """DataFrame: low and high, or the classes of the set in one cell."""
    import pandas as pd

    from vmtl.cli._support.loading import is_classifier

    if not is_classifier(model):
        return model.predict_interval(X, tasks=tasks, coverage=coverage).reset_index(drop=True)
    inside = model.predict_set(X, tasks=tasks, coverage=coverage).to_numpy()
    return pd.DataFrame({"set": ["; ".join(map(str, model.classes_[row])) for row in inside]})


def rounded(columns: pd.DataFrame) -> pd.DataFrame:
    """Probabilities and uncertainties with six significant digits; the prediction stays as it is."""
    names = [name for name in columns.columns if name not in ("prediction", "set")]
    return columns.assign(**{name: [float(f"{value:.6g}") for value in columns[name]] for name in names})


def of_all_rows(columns: pd.DataFrame, known: Array | None, n_rows: int) -> pd.DataFrame:
    """The columns of the rows ``known``, with empty cells for all other rows; None is all."""
    if known is None or len(known) == n_rows:
        return columns
    spread = columns.astype(object).set_axis(known).reindex(range(n_rows))
    return spread.where(spread.notna(), None)


def beside(table: pd.DataFrame, columns: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The user's table with the new columns to its right."""
    import pandas as pd

    taken = [name for name in columns.columns if name in set(map(str, table.columns))]
    if taken:
        raise ValueError(f"{path} already has a column {taken[0]!r}; rename it, so that nothing is overwritten.")
    return pd.concat([table.reset_index(drop=True), columns], axis=1)
