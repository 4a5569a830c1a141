"""All randomness of training comes from here, so that a run can be seeded, resumed and tested."""

from __future__ import annotations

import torch
from torch import Tensor


class Noise:
    """Seeded random numbers on one device.

    The leading axis of ``normal`` is the axis of draws. Draws come in antithetic pairs (e, -e): each draw
    still has the standard normal law, half as many numbers are generated, and odd moments cancel.
    """

    def __init__(self, seed: int, device: torch.device, dtype: torch.dtype) -> None:
        self.device, self.dtype = device, dtype
        self.generator = torch.Generator(device=device).manual_seed(seed)

    def normal(self, draws: int, *shape: int) -> Tensor:
        half = self._randn((draws + 1) // 2, *shape)
        if draws == 1:
            return half
        return torch.cat([half, half.neg()])[:draws]

    def gumbel(self, *shape: int) -> Tensor:
        """g = -log(-log(u)), u uniform on (0, 1)."""
        u = torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)
        tiny = torch.finfo(self.dtype).tiny
        return -(-u.clamp_min(tiny).log()).clamp_min(tiny).log()

    def keep(self, shape: tuple[int, ...], dropout: float) -> Tensor:
        """Inverted dropout mask: 0 with probability ``dropout``, else 1 / (1 - dropout)."""
        mask = torch.empty(shape, device=self.device, dtype=self.dtype)
        return mask.bernoulli_(1 - dropout, generator=self.generator).div_(1 - dropout)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def _randn(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def state(self) -> Tensor:
        return self.generator.get_state()

    def restore(self, state: Tensor) -> None:
        self.generator.set_state(state)
