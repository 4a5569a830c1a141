"""How targets become the numbers that a model is fitted to: class numbers, or standardised values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from vmtl._utils.types import Array, VectorLike
from vmtl.estimators.inputs.targets import check_classes, check_labels, check_targets, class_numbers

ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None


@dataclass(frozen=True, eq=False)
class ClassEncoder:
    """Class labels as numbers, and class weights as sample weights."""

    classes: Array  # (C,) sorted
    class_weights: Array | None = None  # (C,)

    @classmethod
    def learn(cls, y: VectorLike, sample_weight: Array, class_weight: ClassWeight) -> tuple[ClassEncoder, Array, Array]:
        """The encoder of training labels y (n,), their numbers (n,) and weights (n,).

        A row of weight 0 is no row, and its class none.
        """
        y = check_labels(column_or_1d(y, warn=True))
        check_classes(y)
        labels, codes = np.unique(y, return_inverse=True)
        counted = np.unique(codes[sample_weight > 0])
        classes, codes = labels[counted], np.searchsorted(counted, codes).clip(max=max(0, len(counted) - 1))
        if class_weight is None:
            return cls(classes), codes.astype(np.int64), sample_weight
        weights = compute_class_weight(class_weight, classes=classes, y=y[sample_weight > 0])
        return cls(classes, weights), codes.astype(np.int64), sample_weight * weights[codes]

    @classmethod
    def of_counts(cls, classes: Array, counts: Array, class_weight: ClassWeight) -> ClassEncoder:
        """The encoder of ``classes`` (C,) that have ``counts`` (C,) rows each."""
        check_classes(check_labels(classes))
        if class_weight is None:
            return cls(classes)
        if class_weight == "balanced":
            return cls(classes, counts.sum() / (len(classes) * counts))
        return cls(classes, compute_class_weight(class_weight, classes=classes, y=classes))

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def is_classification(self) -> bool:
        return True

    def encode(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array]:
        """Numbers and weights of further labels; a class that the fit never saw is an error."""
        codes = class_numbers(check_labels(column_or_1d(y, warn=True)), self.classes)
        return codes, sample_weight if self.class_weights is None else sample_weight * self.class_weights[codes]


@dataclass(frozen=True)
class RealEncoder:
    """Targets in units of the training targets' deviation from their mean."""

    mean: float
    scale: float

    @classmethod
    def learn(cls, y: VectorLike, sample_weight: Array) -> tuple[RealEncoder, Array, Array]:
        """The encoder of training targets y (n,), their standardised values (n,) and weights (n,)."""
        values = check_targets(y)
        weight = sample_weight.astype(np.longdouble)  # so that the order of the rows does not show in the last digits
        mean = float(np.sum(weight * values) / weight.sum())
        variance = np.sum(weight * (values - mean) ** 2) / weight.sum()
        encoder = cls(mean, float(np.sqrt(variance)) or 1.0)
        return encoder, *encoder.encode(values, sample_weight)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def is_classification(self) -> bool:
        return False

    def encode(self, y: VectorLike, sample_weight: Array) -> tuple[Array, Array]:
        """Standardised values and weights of further targets."""
        return (check_targets(y) - self.mean) / self.scale, sample_weight


TargetEncoder: TypeAlias = ClassEncoder | RealEncoder
