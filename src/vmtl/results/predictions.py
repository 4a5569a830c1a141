"""Predictions as plain arrays: class probabilities, or a mean with its noise and its model uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

from vmtl._utils.types import Array


@dataclass(frozen=True)
class Probabilities:
    """Class probabilities (n, C)."""

    probabilities: Array


@dataclass(frozen=True)
class ClassPrediction:
    """Probabilities (n, C) and two entropies (n,), in nats: of the probabilities, and on average over the posterior."""

    probabilities: Array
    total: Array
    aleatoric: Array


@dataclass(frozen=True)
class RealPrediction:
    """Mean and the two standard deviations, (n,) each, in units of the standardised target."""

    mean: Array
    aleatoric: Array
    epistemic: Array
