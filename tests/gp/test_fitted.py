"""A fitted model: predictions, files, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.toys import toy
from vmtl.data.rows import Rows
from vmtl.gp.fit import fit, search_rows
from vmtl.gp.fitted import SHAPES, FittedGP, entropy
from vmtl.gp.hyperparameter_search import Relatedness
from vmtl.gp.positions.task_positions import TaskPositions

CLASSES = toy([24, 20, 16, 22], classes=3, missing=((0, 1),), spread=2.0)
VALUES = toy([24, 20, 16, 22])


@pytest.fixture(scope="module")
def models() -> dict[str, FittedGP]:
    return {"classes": fit(CLASSES.rows()), "values": fit(VALUES.rows())}


def predicted(model: FittedGP) -> list[np.ndarray]:
    if model.is_classification:
        told = model.classes(CLASSES.X, CLASSES.task)
        return [told.probabilities, told.total, told.aleatoric]
    values = model.values(VALUES.X, VALUES.task)
    return [values.mean, values.aleatoric, values.epistemic]


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_a_model_comes_back_from_tensors_and_json(models: dict[str, FittedGP], kind: str) -> None:
    model = models[kind]
    document = json.loads(json.dumps(model.to_json()))
    tensors = {name: tensor.clone() for name, tensor in model.to_tensors().items()}
    back = FittedGP.from_file(document, tensors, is_classification=kind == "classes")
    for one, other in zip(predicted(model), predicted(back), strict=True):
        np.testing.assert_array_equal(one, other)
    assert back.hyperparameters == model.hyperparameters
    assert back.to_tensors().keys() == model.to_tensors().keys()
    rows = (CLASSES if kind == "classes" else VALUES).rows()
    more = replace(rows, task=torch.zeros_like(rows.task), n_tasks=1)
    assert back.add_task(more).n_tasks == 5
    np.testing.assert_allclose(back.unknown_weights(CLASSES.X[:9]), model.unknown_weights(CLASSES.X[:9]))


@pytest.mark.parametrize("name", SHAPES)
def test_a_damaged_tensor_is_refused(models: dict[str, FittedGP], name: str) -> None:
    model = models["classes"]
    document, tensors = model.to_json(), model.to_tensors()

    def refused(value: Tensor | None) -> None:
        damaged = {key: tensor for key, tensor in tensors.items() if key != name}
        damaged |= {} if value is None else {name: value}
        with pytest.raises(ValueError, match=r"."):
            FittedGP.from_file(document, damaged, is_classification=True)

    value = tensors[name]
    refused(None)
    refused(value[None])
    if value.ndim:
        refused(
            torch.cat([value, value[:1]]) if value.numel() else value.new_zeros(value.shape[0] + 1, *value.shape[1:])
        )
    if value.is_floating_point() and value.numel():
        refused(torch.full_like(value, torch.nan))


@pytest.mark.parametrize("part", ["structure.sharing", "left_out.score", "left_out.task", "forest.root"])
def test_damaged_parts_are_refused_by_themselves(models: dict[str, FittedGP], part: str) -> None:
    tensors = models["classes"].to_tensors()
    with pytest.raises(ValueError, match=r"."):
        FittedGP.from_file(models["classes"].to_json(), {**tensors, part: tensors[part][:0]}, is_classification=True)


def test_probabilities_are_those_of_the_weights_and_the_forest(models: dict[str, FittedGP]) -> None:
    model = models["classes"]
    assert model.forest is not None
    p = model.probabilities(CLASSES.X, CLASSES.task).probabilities
    z, said = model.features(CLASSES.X, CLASSES.task), model.forest(torch.from_numpy(CLASSES.X)).numpy()
    share = model.hyperparameters.forest_share
    for n in range(0, 82, 9):
        w = model.weights.mean[CLASSES.task[n]].numpy()
        logits = w[:, :-1] @ z[n] + w[:, -1]
        expected = np.exp(logits - logits.max())
        np.testing.assert_allclose(p[n], (1 - share) * expected / expected.sum() + share * said[n], atol=1e-9)


def test_values_are_those_of_the_weights(models: dict[str, FittedGP]) -> None:
    model = models["values"]
    found, z = model.values(VALUES.X, VALUES.task), model.features(VALUES.X, VALUES.task)
    for n in range(0, 82, 9):
        t = VALUES.task[n]
        row = np.append(z[n], 1.0)
        assert found.mean[n] == pytest.approx(float(model.weights.mean[t, 0].numpy() @ row))
        assert found.epistemic[n] ** 2 == pytest.approx(float(model.weights.deviation[t].numpy() ** 2 @ row**2))
        assert found.aleatoric[n] == float(model.noise[t])
    assert model.left_out.score.mean() < 1.2


def test_entropies_are_those_of_the_probabilities_and_of_what_is_left(models: dict[str, FittedGP]) -> None:
    told = models["classes"].classes(CLASSES.X, CLASSES.task)
    p = torch.from_numpy(told.probabilities)
    np.testing.assert_allclose(told.total, torch.distributions.Categorical(probs=p).entropy().numpy())
    assert (told.aleatoric <= told.total + 1e-12).all()
    assert (told.aleatoric >= 0).all()
    assert float(entropy(torch.tensor([0.0, 1.0]))) == 0
    model = replace(models["classes"], forest=None)
    told = model.classes(CLASSES.X, CLASSES.task)
    z = model.feature_map(torch.from_numpy(CLASSES.X))
    mean, variance = model.weights.outputs(z, torch.from_numpy(CLASSES.task))
    noise = torch.randn(2000, 82, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    draws = torch.distributions.Categorical(logits=mean + variance.sqrt()[:, None] * noise)
    left = draws.entropy().mean(0) / torch.distributions.Categorical(probs=draws.probs.mean(0)).entropy()
    assert float(np.abs(told.aleatoric / told.total - left.numpy()).mean()) < 0.1  # with 32 draws


def test_left_out_scores_are_of_rows_that_were_held_out(models: dict[str, FittedGP]) -> None:
    for model, rows in ((models["classes"], CLASSES), (models["values"], VALUES)):
        assert torch.equal(model.left_out.task, torch.from_numpy(rows.task))
    p = models["classes"].probabilities(CLASSES.X, CLASSES.task).probabilities
    training = 1 - p[np.arange(82), CLASSES.y]
    assert float(models["classes"].left_out.score.mean()) > training.mean()


@pytest.mark.parametrize("relatedness", ["even", "none", "pooled"])
def test_what_tasks_share_can_be_given(relatedness: Relatedness) -> None:
    model = fit(VALUES.rows(), relatedness=relatedness)
    off = model.structure.covariance[~torch.eye(4, dtype=torch.bool)]
    if relatedness == "even":
        assert float(off.max() - off.min()) < 1e-9
        assert 0 < float(off.mean()) < 1
    else:
        assert torch.allclose(off, torch.full_like(off, float(relatedness == "pooled")), rtol=0, atol=1e-12)
    if relatedness == "pooled":
        w = model.weights.mean
        torch.testing.assert_close(w, w[:1].expand_as(w), rtol=0, atol=1e-4)


def test_phases_are_told_and_seeds_decide() -> None:
    phases: list[str] = []
    one = fit(CLASSES.rows(), seed=3, on_phase=phases.append)
    assert len(set(phases)) == 5
    assert one.forest is not None
    assert fit(CLASSES.rows(), forest=False).forest is None
    for first, second in zip(predicted(one), predicted(fit(CLASSES.rows(), seed=3)), strict=True):
        np.testing.assert_array_equal(first, second)


def test_copies_of_rows_are_rows_of_more_weight() -> None:
    rows = VALUES.rows()
    twice = rows.take(torch.cat([torch.arange(82), torch.arange(20)]))
    heavy = replace(rows, weight=torch.where(torch.arange(82) < 20, 2.0, 1.0).double())
    for one, other in zip(predicted(fit(twice)), predicted(fit(heavy)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


BASE, TARGETS = CLASSES.rows(), VALUES.rows()
ODD = {
    "a single class": replace(BASE, y=torch.zeros_like(BASE.y), n_classes=2),
    "constant columns": replace(BASE, x=torch.ones_like(BASE.x)),
    "one row per task": BASE.take(torch.tensor([0, 24, 44, 60])),
    "one row": replace(BASE.take(torch.tensor([0])), n_tasks=1),
    "random labels": replace(BASE, y=torch.randint(3, (82,), generator=torch.Generator().manual_seed(0))),
    "extreme imbalance": replace(BASE, y=(torch.arange(82) == 5).long(), n_classes=2),
    "a class of its own for every row": replace(BASE, y=torch.arange(82), n_classes=82),
    "a constant target": replace(TARGETS, y=torch.zeros_like(TARGETS.y)),
    "huge columns": replace(BASE, x=1e8 * BASE.x),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_rows_have_a_sensible_model(kind: str) -> None:
    rows = ODD[kind]
    model = fit(rows)
    for tensor in model.to_tensors().values():
        assert bool(tensor.isfinite().all())
    x, task = rows.x.numpy(), rows.task.numpy()
    if not rows.is_classification:
        values = model.values(x, task)
        assert np.isfinite(values.mean).all()
        assert np.abs(values.mean).max() < 1e-3
        return
    p = model.probabilities(x, task).probabilities
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(1), 1)
    if kind in ("a single class", "extreme imbalance"):
        assert p[:, 0].mean() > 0.9
    if kind == "random labels":
        assert p.max() < 0.9
    if kind == "huge columns":
        assert (p.argmax(1) == rows.y.numpy()).mean() > 0.7


def test_many_classes_are_searched_on_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    y, task = torch.arange(600) % 100, torch.arange(600) // 300
    ones = torch.ones(600, dtype=torch.float64)
    rows = Rows(torch.randn(600, 4, generator=generator, dtype=torch.float64), y, task, ones, 2, 100, True)
    some = search_rows(rows, TaskPositions.nowhere(2), 0)
    assert len(some.y) ** 2 * some.n_classes < 1.5 * 3e6
    assert some.y.unique().tolist() == list(range(some.n_classes))
    few = search_rows(rows.take(torch.arange(60)), TaskPositions.nowhere(2), 0)
    assert few.n_classes == 100
    assert len(few.y) == 60
