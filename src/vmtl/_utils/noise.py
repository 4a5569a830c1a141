"""All randomness of training comes from here, so that a run can be seeded, resumed and tested."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def antithetic(half: Tensor, draws: int, axis: int = 0) -> Tensor:
    """[half, -half] along ``axis``, the first ``draws`` of them."""
    if draws == half.shape[axis]:
        return half
    return torch.cat([half, -half.narrow(axis, 0, draws - half.shape[axis])], axis)


class Noise:
    """Seeded random numbers on one device.

    The leading axis of ``normal`` is the axis of draws. Draws come in antithetic pairs (e, -e): each draw
    still has the standard normal law, half as many numbers are generated, and odd moments cancel.
    """

    def __init__(self, seed: int, device: torch.device, dtype: torch.dtype) -> None:
        self.device, self.dtype = device, dtype
        self.generator = torch.Generator(device=device).manual_seed(seed)

    def normal(self, draws: int, *shape: int) -> Tensor:
        return antithetic(self._randn((draws + 1) // 2, *shape), draws)

    def halves(self, *shape: int, pairs: int = 1) -> Tensor:
        """The first halves of antithetic draws: the first ``pairs`` axes are halved, rounded up, and ``antithetic``
        along them gives all draws."""
        return self.normal(1, *((size + 1) // 2 for size in shape[:pairs]), *shape[pairs:])[0]

    def gumbel(self, *shape: int) -> Tensor:
        """g = -log(-log(u)), u uniform on (0, 1)."""
        u = torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)
        tiny = torch.finfo(self.dtype).tiny
        return -(-u.clamp_min(tiny).log()).clamp_min(tiny).log()

    def keep(self, shape: tuple[int, ...], dropout: float) -> Tensor:
        """Inverted dropout mask: 0 with probability ``dropout``, else 1 / (1 - dropout).

        One 64-bit number decides four entries, so the probability is rounded to 1 / 65536 and the value kept is
        the inverse of the rounded one: the mean is 1 exactly. A Bernoulli draw for each entry takes ten times
        as long.
        """
        size = math.prod(shape)
        bits = torch.empty(-(-size // 4), dtype=torch.int64, device=self.device)
        bits.random_(-(2**63), None, generator=self.generator)
        kept = min(max(1, round((1 - dropout) * 2**16)), 2**16 - 1)  # of the 2^16 values
        mask = torch.empty(size, dtype=self.dtype, device=self.device)
        torch.lt(bits.view(torch.int16)[:size], kept - 2**15, out=mask)
        return mask.mul_(2**16 / kept).view(shape)

    def seeds(self, count: int) -> list[int]:
        """Seeds for ``with_seed``: of random numbers that have to be drawn a second time."""
        seeds: list[int] = torch.randint(2**62, (count,), generator=self.generator, device=self.device).tolist()
        return seeds

    def with_seed(self, seed: int) -> Noise:
        """Another source of the same kind, which gives the same numbers for the same seed."""
        return Noise(seed, self.device, self.dtype)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def _randn(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def state(self) -> Tensor:
        return self.generator.get_state()

    def restore(self, state: Tensor) -> None:
        self.generator.set_state(state)
