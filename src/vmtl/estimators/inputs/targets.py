"""Targets as users have them are checked: labels that can be classes, or finite numbers."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from vmtl._utils.messages import did_you_mean, quoted
from vmtl._utils.types import Array, VectorLike

#: Largest target: its square is finite.
LARGEST = 1e100


def check_labels(y: Array) -> Array:
    """Labels of a classification: none is missing, and they can be sorted."""
    if y.dtype == object:
        import pandas as pd

        if pd.isna(y).any():
            raise ValueError("y contains a missing label; remove these rows.")
        if len({isinstance(value, str) for value in y}) > 1:
            raise ValueError("y mixes text and numbers; give all labels one type.")
    return y


def check_classes(y: Array) -> None:
    """Labels that can be classes; fractions are amounts."""
    if type_of_target(y, input_name="y") == "continuous":
        part = next(value for value in y.tolist() if value % 1)
        raise ValueError(
            f"Unknown label type: y holds fractions such as {part:g}, which are amounts rather than classes; use "
            "MultiTaskRegressor, or turn them into text."
        )
    check_classification_targets(y)


def check_targets(y: VectorLike) -> Array:
    """Real targets of a regression, as float64."""
    if getattr(getattr(y, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError("y holds dates; turn them into numbers, such as days since the first.")
    try:
        values = check_array(y, ensure_2d=False, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0)
        values = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"y must be numbers for a regression ({error}); use MultiTaskClassifier for labels.") from None
    if values.ndim != 1 and values.shape[1:] != (1,):
        raise ValueError(f"y must have one target per row; got shape {values.shape}.")
    values = np.asarray(column_or_1d(values, warn=True))
    if not np.isfinite(values).all():
        raise ValueError("y contains NaN or infinity (inf); remove these rows.")
    if np.abs(values).max(initial=0) > LARGEST:
        raise ValueError(f"y contains numbers beyond {LARGEST:g}; use a larger unit.")
    return values


def class_numbers(y: VectorLike, classes: Array) -> Array:
    """(n,) the place of every label in ``classes``; one that the model never saw is an error."""
    place = {label: number for number, label in enumerate(classes.tolist())}
    labels = np.asarray(y).tolist()
    strange = [label for label in dict.fromkeys(labels) if label not in place]
    if strange:
        near = did_you_mean(strange[0], place)
        raise ValueError(
            f"y has the class {strange[0]!r}{near}, which the model never saw; it knows {quoted(list(place), most=20)}."
        )
    return np.array([place[label] for label in labels], dtype=np.int64)
