"""What a fit inferred besides its weights, for people to read and for model files to keep."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from vmtl._utils.json_values import Document


@dataclass(frozen=True)
class Hyperparameters:
    """What was inferred from the training rows.

    Parameters
    ----------
    kernel_shares : dict
        How much each kernel of the mixture counts, by name; the shares sum to 1.
    relevance : tuple of float, optional
        How much each column of a table counts in every kernel; 1 is the prior. None where columns are too many.
    scale : float
        s, the prior deviation of the slopes' part of the logits, or of the standardised target.
    task_level : float
        tau, the prior deviation of what a task adds to the level of all.
    strength : float
        m, the correlation of the weights of two tasks in the same position.
    decay : float, optional
        gamma, how fast that correlation falls with the squared distance of two tasks; None without positions.
    correlation : float
        The mean correlation of the weights of two tasks.
    isolated : tuple of int
        Numbers of the tasks that share nothing with the others.
    noise : float, optional
        Deviation of the noise in units of the standardised target; None of a classifier.
    forest_share : float, optional
        v, how much of a prediction is that of the random forest; None without a forest.
    """

    kernel_shares: dict[str, float]
    relevance: tuple[float, ...] | None
    scale: float
    task_level: float
    strength: float
    decay: float | None
    correlation: float
    isolated: tuple[int, ...]
    noise: float | None
    forest_share: float | None

    def to_json(self) -> dict[str, object]:
        """All of them, as JSON can hold them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, document: Document) -> Hyperparameters:
        """What ``to_json`` gave."""
        values: dict[str, Any] = {field.name: document[field.name] for field in fields(cls)}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})
