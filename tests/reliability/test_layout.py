"""Every tensor of a fitted model lies as its file lies, so that ``load`` gives the same bits on any processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vmtl
from helpers.reliable import Toy
from vmtl import METHODS, PRESETS, MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor
from vmtl._utils.canonical import is_canonical, make_canonical


def tensors(model: Any) -> dict[str, torch.Tensor]:
    """What predictions multiply: of the paper every parameter and buffer, those that no file holds included."""
    if not isinstance(model, VMTLClassifier | VMTLRegressor):
        parts = ("features.", "weights.", "forest.")
        return {name: value for name, value in model._fitted.to_tensors().items() if name.startswith(parts)}
    module = model._fitted.model
    return dict((*module.named_parameters(), *module.named_buffers()))


def check_layout(kind: Any, toy: Toy, file: Path, **options: Any) -> None:
    is_classifier = kind in (MultiTaskClassifier, VMTLClassifier)
    y = toy.labels if is_classifier else toy.values
    model = kind(random_state=0, **options).fit(toy.X[:30], y[:30], tasks=toy.tasks[:30])
    model.save(file)
    loaded = vmtl.load(file)
    fitted, again = tensors(model), tensors(loaded)
    assert fitted
    assert fitted.keys() == again.keys()
    for kept in (fitted, again):
        assert [name for name, tensor in kept.items() if not is_canonical(tensor)] == []
    ask = "predict_proba" if is_classifier else "predict"
    one, two = (getattr(each, ask)(toy.X, tasks=toy.tasks) for each in (model, loaded))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
def test_every_tensor_has_the_one_layout(kind: Any, toy: Toy, tmp_path: Path) -> None:
    check_layout(kind, toy, tmp_path / "model")


@pytest.mark.parametrize("kind", [VMTLClassifier, VMTLRegressor])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_tensor_of_the_paper_has_the_one_layout(
    method: str, preset: str, kind: Any, toy: Toy, tmp_path: Path
) -> None:
    check_layout(kind, toy, tmp_path / "model", method=method, preset=preset, latent_dim=5, max_steps=2)


def test_layouts_that_are_not_canonical() -> None:
    """Transposed, from the middle of another tensor, or with an odd stride along an axis of length 1."""
    whole = torch.zeros(6, 4)
    assert is_canonical(whole)
    assert not is_canonical(whole.T)
    assert not is_canonical(whole[1:])
    assert not is_canonical(whole[:, :2])
    assert not is_canonical(torch.zeros(5, 1, 3).transpose(0, 1)[:, ::5])


def test_a_module_becomes_canonical_and_keeps_its_numbers() -> None:
    module = torch.nn.Linear(3, 2)
    module.register_buffer("extra", torch.arange(12.0).view(3, 4).T)
    module.weight.data = torch.arange(6.0).view(3, 2).T
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    weight = module.weight
    make_canonical(module)
    assert module.weight is weight
    assert all(is_canonical(tensor) for tensor in (*module.parameters(), *module.buffers()))
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_predictions_do_not_depend_on_where_the_rows_lie_in_memory(toy: Toy) -> None:
    """The same rows at every offset of a cache line, to the bit."""
    model = MultiTaskClassifier(random_state=0).fit(toy.X, toy.labels, tasks=toy.tasks)
    expected = model.predict_proba(toy.X, tasks=toy.tasks)
    for offset in range(1, 9):
        memory = np.empty(toy.X.size + 16)
        X = memory[offset : offset + toy.X.size].reshape(toy.X.shape)
        X[:] = toy.X
        np.testing.assert_array_equal(model.predict_proba(X, tasks=toy.tasks), expected)
