"""A fitted model: what it tells, and its way to tensors and back."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from helpers.paper_models import SMALL
from helpers.toys import Toy, toy
from vmtl.paper.fit import fit
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.methods import METHODS
from vmtl.paper.prediction import Predictor
from vmtl.paper.settings import Settings
from vmtl.results.relatedness import MAX_TASKS

CLASSES, VALUES = toy([8, 9, 7], classes=3, missing=[(1, 0)]), toy([8, 9, 7])


def fitted(method: str = "vmtl", problem: Toy = CLASSES, **options: Any) -> FittedVMTL:
    return fit(METHODS[method], settings(**options), problem.rows(torch.float32), 0)


def settings(**options: Any) -> Settings:
    return replace(SMALL, **{"max_steps": 3, "predict_z": 2, "predict_w": 2, **options})


def again(method: str, before: FittedVMTL, given: Settings) -> FittedVMTL:
    document = json.loads(json.dumps(before.to_json()))
    is_classification = before.model.is_classification
    return FittedVMTL.from_file(
        document,
        before.to_tensors(),
        is_classification=is_classification,
        method=METHODS[method],
        settings=given,
    )


@pytest.mark.parametrize("encoder", ["linear", "noisy-linear", "mlp", "noisy-mlp"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", [CLASSES, VALUES], ids=lambda problem: problem.name)
def test_everything_survives_a_file(method: str, problem: Toy, encoder: str) -> None:
    before = fitted(method, problem, encoder=encoder)
    after = again(method, before, settings(encoder=encoder))
    tensors = after.to_tensors()
    assert tensors.keys() == before.to_tensors().keys()
    assert all(torch.equal(tensors[name], tensor) for name, tensor in before.to_tensors().items())
    assert after.to_json() == before.to_json()
    assert after.hyperparameters == before.hyperparameters
    for one, two in zip(predictions(before, problem), predictions(after, problem), strict=True):
        np.testing.assert_array_equal(one, two)


def predictions(model: FittedVMTL, problem: Toy) -> list[np.ndarray]:
    if not problem.classes:
        return list(vars(model.values(problem.X, problem.task)).values())
    return [
        model.probabilities(problem.X, problem.task).probabilities,
        *vars(model.classes(problem.X, problem.task)).values(),
    ]


def test_predictions_are_those_of_the_settings_and_the_seed() -> None:
    for mode in ("monte-carlo", "moment", "mean"):
        model = fitted(predictive=mode)
        expected = Predictor(model.model, mode, seed=0).probabilities(CLASSES.X, CLASSES.task).probabilities
        np.testing.assert_array_equal(model.probabilities(CLASSES.X, CLASSES.task).probabilities, expected)
    copied = deepcopy(model)
    np.testing.assert_array_equal(copied.probabilities(CLASSES.X, CLASSES.task).probabilities, expected)


def test_features_are_the_means_of_z() -> None:
    model = fitted("vstl", VALUES)
    rows = VALUES.rows(torch.float32)
    means = model.model.encoder(rows.x[:, None], rows.task).mean[:, 0]
    np.testing.assert_allclose(model.features(VALUES.X, VALUES.task), means, rtol=1e-5, atol=1e-6)


def test_the_structure_is_what_the_mixing_weights_say() -> None:
    model = fitted(sharing=0.8)
    structure = model.structure
    assert structure is not None
    for found, mixing in ((structure.alpha, model.model.mixing_w), (structure.beta, model.model.mixing_z)):
        expected = mixing.log_pi.masked_fill(torch.eye(3, dtype=torch.bool), -torch.inf).softmax(-1)
        torch.testing.assert_close(found, expected)
    assert structure.sharing.tolist() == pytest.approx([0.8] * 3)
    assert structure.variance.tolist() == pytest.approx([0.36] * 3)
    tied = fitted(tie_mixing=True).structure
    assert tied is not None
    assert torch.equal(tied.alpha, tied.beta)
    assert fitted("vbmtl").structure is None
    only_z = fitted(bayesian_w=False).structure
    assert only_z is not None
    assert only_z.alpha is None
    assert only_z.sharing.tolist() == [0.0] * 3


def test_thousands_of_tasks_have_no_table() -> None:
    n_tasks = MAX_TASKS + 1
    many = fitted(problem=toy([2] * n_tasks), max_steps=1, latent_dim=2, n_w=1, bayesian_z=False).structure
    assert many is not None
    assert many.alpha is None
    assert many.sharing.shape == (n_tasks,)


def test_hyperparameters() -> None:
    classes, values = fitted("long"), fitted(problem=VALUES)
    assert classes.hyperparameters.noise is None
    assert classes.hyperparameters.latent_dim == 6  # the features as they are
    assert values.hyperparameters.latent_dim == 5
    assert values.hyperparameters.noise == pytest.approx(values.model.likelihood.scale().tolist())
    assert classes.left_out is None
    assert classes.n_tasks == 3
    assert classes.class_mask.tolist() == [[True] * 3, [False, True, True], [True] * 3]


def test_a_file_that_does_not_fit_is_refused() -> None:
    before = fitted()

    def load(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> FittedVMTL:
        return FittedVMTL.from_file(
            document, tensors, is_classification=True, method=METHODS["vmtl"], settings=settings()
        )

    shorter = before.to_json()
    shorter["history"] = {**before.history.numbers(), "step": [1]}
    with pytest.raises(ValueError, match="one row per recorded step"):
        load(shorter, before.to_tensors())
    with pytest.raises(ValueError, match="task_rows"):
        load(before.to_json(), {**before.to_tensors(), "model.task_rows": torch.ones(5)})
    with pytest.raises(ValueError, match=r"encoder\.mean\.weight has shape"):
        load({**before.to_json(), "size_in": 10**9}, before.to_tensors())
