"""What a fit found besides posteriors and mixing weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Hyperparameters:
    """Numbers of a fitted model that no setting gives.

    latent_dim : K, the size of z; the number of columns where a method takes the features as they are.
    noise : standard deviation of the noise of every task, in units of the standardised target; None of classes.
    """

    latent_dim: int
    noise: tuple[float, ...] | None = None

    def to_json(self) -> dict[str, object]:
        """The numbers as JSON can hold them."""
        return asdict(self)
