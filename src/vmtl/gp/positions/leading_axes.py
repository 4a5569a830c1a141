"""The largest eigenvalues of a symmetric matrix that is known by what it does: block Krylov iteration."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Columns of a block, and products with the matrix; eigenvectors come from blocks times products columns.
BLOCK, PRODUCTS = 12, 8


def leading_axes(apply: Callable[[Tensor], Tensor], size: int, seed: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues (R,), falling, and their eigenvectors (size, R) of ``apply``: (size, k) to (size, k).

    A random block X and its images M X, M^2 X, ... span a space that holds the leading eigenvectors to rounding where
    they stand out (Musco and Musco, 2015); those of the bulk are found to some percent, and nobody needs them better.
    """
    generator = torch.Generator().manual_seed(seed)
    block = torch.randn(size, BLOCK, generator=generator, dtype=torch.float64)
    blocks = [torch.linalg.qr(block)[0]]
    for _ in range(PRODUCTS):
        blocks.append(torch.linalg.qr(apply(blocks[-1]))[0])
    basis = torch.linalg.qr(torch.cat(blocks, 1))[0]  # (size, R)
    inner = basis.T @ apply(basis)
    values, axes = torch.linalg.eigh((inner + inner.T) / 2)
    return values.flip(0), basis @ axes.flip(1)
