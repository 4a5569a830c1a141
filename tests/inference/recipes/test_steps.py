"""The recipes' common steps: features by encoder, and a model at what was inferred."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.toys import toy
from vmtl.config.presets import PRESETS
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.kernel_selection import ASSUMED
from vmtl.inference.recipes.steps import adopt, build_model, learn_features
from vmtl.inference.structure.covariance import DenseCovariance
from vmtl.inference.structure.mixing_weights import structure_of
from vmtl.methods import METHODS

DEFAULT = PRESETS["default"].with_options(latent_dim=4)
ROWS = toy([8, 9, 7], classes=3).rows(torch.float32)
B = torch.tensor([[1, 0.4, 0.7], [0.4, 1, 0.8], [0.7, 0.8, 1]], dtype=torch.float64)


def test_features_are_those_of_the_encoder() -> None:
    shared = learn_features(METHODS["vmtl"], DEFAULT, ROWS, ASSUMED, 0)
    alone = learn_features(METHODS["vstl"], DEFAULT, ROWS, ASSUMED, 0)
    scaled = learn_features(METHODS["vmtl"], DEFAULT.with_options(encoder="mlp"), ROWS, ASSUMED, 0)
    plain = learn_features(METHODS["vmtl"], PRESETS["paper"], ROWS, ASSUMED, 0)
    assert isinstance(shared, KernelMap)
    assert isinstance(alone, KernelMap)
    assert (len(shared.landmarks), len(alone.landmarks)) == (1, 3)
    assert isinstance(scaled, ScaledMap)
    assert torch.equal(plain(ROWS.x[None])[0], ROWS.x)
    assert not torch.equal(scaled(ROWS.x[None])[0], ROWS.x)
    assert {feature_map(ROWS.x[None, :1]).dtype for feature_map in (shared, scaled, plain)} == {torch.float32}


def test_features_are_divided_by_the_deviation_of_the_bias() -> None:
    one, other = (learn_features(METHODS["vmtl"], DEFAULT, ROWS, replace(ASSUMED, bias=b), 0) for b in (1.0, 4.0))
    torch.testing.assert_close(one(ROWS.x[None]), 2 * other(ROWS.x[None]))


def test_a_model_begins_at_what_was_inferred() -> None:
    structure = structure_of(DenseCovariance(B))
    model = build_model(METHODS["vmtl"], DEFAULT, ROWS, structure, logit_scale=3.0, noise=0.3, seed=0)
    assert float(model.logit_scale) == pytest.approx(3)
    assert model.settings is DEFAULT
    torch.testing.assert_close(model.alpha().double(), structure.alpha)
    torch.testing.assert_close(model.sharing().double(), structure.sharing)
    values = toy([8, 9, 7]).rows()
    model = build_model(METHODS["vmtl"], DEFAULT, values, structure, logit_scale=1.0, noise=0.3, seed=0)
    torch.testing.assert_close(model.likelihood.scale(), torch.full((3,), 0.3 + model.likelihood.floor).double())


@pytest.mark.parametrize("classes", [0, 3])
def test_q_adopts_the_means_of_the_exact_model(classes: int) -> None:
    """Outputs at the means, s0 w . [z; 1], are those of the solution's weights."""
    rows = replace(toy([8, 9, 7], classes=classes).rows(), x=torch.eye(24, 5, dtype=torch.float64))
    model = build_model(
        METHODS["bakker"], DEFAULT, rows, structure_of(DenseCovariance(B)), logit_scale=0.8, noise=0.3, seed=0
    )
    weights = torch.randn(3, max(1, classes), 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    adopt(model, Solution(weights, None))
    torch.testing.assert_close(model.logit_scale * model.q_w().mean.detach(), weights)
    assert model.head.mean.requires_grad
