"""Stored tensors are compared with a module before it is given memory."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from vmtl._utils.shape_checks import check_fits

FITTING = {"weight": torch.zeros(3, 2), "bias": torch.zeros(3)}


def test_tensors_that_fit_pass() -> None:
    check_fits(lambda: nn.Linear(2, 3), FITTING)


@pytest.mark.parametrize(
    ("tensors", "sentence"),
    [
        ({**FITTING, "bias": torch.zeros(4)}, r"bias has shape \(4,\) where \(3,\) is expected"),
        ({"weight": FITTING["weight"]}, r"bias has shape None where \(3,\) is expected"),
        ({**FITTING, "further": torch.zeros(1)}, r"further has shape \(1,\) where None is expected"),
    ],
)
def test_another_name_or_shape_is_refused(tensors: dict[str, torch.Tensor], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_fits(lambda: nn.Linear(2, 3), tensors)


def test_an_enormous_module_costs_nothing() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("hidden", torch.zeros(2**20, 2**20), persistent=False)

    with pytest.raises(ValueError, match="the model needs 4194304 MB but only 0 MB are stored"):
        check_fits(Wide, {})
