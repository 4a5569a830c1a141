"""A model with a task or with features more: every tensor keeps what it said of the known tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from helpers.toys import SMALL, build, toy
from vmtl.data.rows import Rows
from vmtl.inference.added_tasks.longer_model import longer_history, longer_model, wider_model
from vmtl.inference.structure.covariance import DenseCovariance
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.inference.variational.history import History
from vmtl.model.distributions import Gaussian
from vmtl.model.model import Model

#: One with mixing weights, one without, and one whose prior has numbers of every feature.
METHODS = ["vmtl", "vbmtl", "bakker"]
T, K = 3, 6
DATA = toy([9, 12, 7], classes=2, features=K, missing=[(1, 0)])
NEW = toy([5], classes=2, features=K, seed=1).rows()


def random_model(method: str) -> Model:
    """With numbers in every tensor, so that no 0 stays a 0 by chance."""
    model = build(method, DATA.rows(), replace(SMALL, sharing=None))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def known_part(value: Tensor, known: Tensor) -> Tensor:
    return value[tuple(slice(size) for size in known.shape)]


@pytest.mark.parametrize("method", METHODS)
def test_a_new_task_is_the_last_of_every_tensor(method: str) -> None:
    model = random_model(method)
    longer = longer_model(model, NEW, None)
    assert longer.n_tasks == T + 1
    state = longer.state_dict()
    assert state.keys() == model.state_dict().keys()
    for name, known in model.state_dict().items():
        assert torch.equal(known_part(state[name], known), known), name
    assert state["head.mean"].shape == (T + 1, 2, K + 1)
    assert longer.task_rows.tolist() == [9, 12, 7, 5]
    assert longer.class_mask.tolist() == [[True, True], [False, True], [True, True], [True, True]]
    assert not any(parameter.requires_grad for parameter in longer.parameters())


def test_with_a_structure_a_new_task_learns_by_it() -> None:
    """And the weights of the known ones stay."""
    matrix = 0.5 * torch.eye(T + 1, dtype=torch.float64) + 0.5
    matrix[3, 0] = matrix[0, 3] = 0.8
    structure = structure_of(DenseCovariance(matrix))
    model = random_model("vmtl")
    longer = longer_model(model, NEW, structure)
    assert structure.alpha is not None
    torch.testing.assert_close(longer.alpha(), structure.alpha)
    torch.testing.assert_close(longer.sharing(), structure.sharing)
    assert torch.equal(longer.state_dict()["head.mean"][:T], model.state_dict()["head.mean"])


def test_more_rows_of_a_task_change_what_it_has_seen_and_nothing_else() -> None:
    """Task 1 has seen class 1 alone, and the new rows are of class 0."""
    model = random_model("vmtl")
    more = NEW.take((NEW.y == 0).nonzero().flatten())
    longer = longer_model(model, more, None, task=1)
    for name, known in model.state_dict().items():
        if name not in ("class_mask", "task_rows"):
            assert torch.equal(longer.state_dict()[name], known), name
    assert longer.task_rows.tolist() == [9, 12 + len(more.y), 7]
    assert longer.class_mask.all()
    assert model.task_rows.tolist() == [9, 12, 7]


@pytest.mark.parametrize("method", METHODS)
def test_known_tasks_have_no_weight_for_more_features(method: str) -> None:
    model = random_model(method)
    more = torch.randn(5, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    rows: Rows = replace(NEW, x=torch.cat([NEW.x, more], 1))
    wider = wider_model(model, rows)
    before, after = model.q_w(), wider.q_w()
    assert isinstance(before, Gaussian)
    assert isinstance(after, Gaussian)
    for one, other in ((before.mean, after.mean), (before.scale, after.scale)):
        assert torch.equal(other[..., :K], one[..., :K])
        assert not other[..., K : K + 2].any()
        assert torch.equal(other[..., -1], one[..., -1])  # of the constant
    assert torch.equal(wider.encoder.spread[..., :K], model.encoder.spread)
    torch.testing.assert_close(wider.encoder.spread[0, 0, K:], more.std(0, correction=0), rtol=0.2, atol=0)
    assert wider_model(model, NEW) is model


def test_a_history_gets_a_column_that_begins_at_its_end() -> None:
    terms = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]
    history = History([1, 2], list(terms), list(terms), list(terms))
    longer = longer_history(history, 3, 2, 0.5)
    torch.testing.assert_close(longer.nll[0], torch.tensor([1, 2, torch.nan]), equal_nan=True)
    assert longer.nll[1].tolist() == [3, 4, 0.5]
    torch.testing.assert_close(longer.kl_w[1], torch.tensor([3, 4, torch.nan]), equal_nan=True)
    assert longer_history(history, 2, 0, 0.5).nll[1].tolist() == [0.5, 4]
    assert history.nll[1].tolist() == [3, 4]
