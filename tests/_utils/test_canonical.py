"""One layout of tensors: row by row, from the beginning of memory of their own."""

from __future__ import annotations

import torch
from torch import nn

from vmtl._utils.canonical import canonical, is_canonical, make_canonical


def test_transposed_and_shifted_tensors_are_not_canonical() -> None:
    table = torch.arange(600.0).reshape(20, 30)
    assert is_canonical(table)
    assert not is_canonical(table.T)
    assert not is_canonical(table[1:])
    assert not is_canonical(table[:, :5])


def test_a_module_keeps_its_numbers_and_shares_no_memory() -> None:
    module, table = nn.Linear(30, 20), torch.randn(30, 20)
    module.weight = nn.Parameter(table.T)
    module.register_buffer("rest", table[3:])
    make_canonical(module)
    assert is_canonical(module.weight)
    assert is_canonical(module.rest)
    torch.testing.assert_close(module.weight.detach(), table.T, rtol=0, atol=0)
    torch.testing.assert_close(module.rest, table[3:], rtol=0, atol=0)
    table.zero_()
    assert module.rest.any()


def test_only_what_lies_otherwise_is_copied() -> None:
    table = torch.arange(600.0).reshape(20, 30)
    assert canonical(table) is table
    for other in (table.T, table[1:], table[:, :5]):
        assert is_canonical(canonical(other))
        assert torch.equal(canonical(other), other)
