"""Records of tensors: by dotted names to a file and back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vmtl._utils.tensor_module import TensorModule


class Inner(TensorModule):
    a: Tensor


class Outer(TensorModule):
    inner: Inner
    b: Tensor


def test_tensors_go_by_dotted_names_and_come_back() -> None:
    outer = Outer(inner=Inner(a=torch.ones(2)), b=torch.zeros(3))
    tensors = outer.to_tensors()
    assert set(tensors) == {"inner.a", "b"}
    back = Outer.from_tensors(tensors)
    assert torch.equal(back.inner.a, outer.inner.a)
    assert torch.equal(back.b, outer.b)


@pytest.mark.parametrize("missing", ["inner.a", "b"])
def test_a_missing_tensor_is_named(missing: str) -> None:
    tensors = {"inner.a": torch.ones(2), "b": torch.zeros(3)}
    del tensors[missing]
    with pytest.raises(ValueError, match=f"there is no {missing.split('.')[-1]}"):
        Outer.from_tensors(tensors)
