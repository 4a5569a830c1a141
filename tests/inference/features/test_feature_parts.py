"""Parts of the features: each task is in one of them, and what it says by its part is what it says by all."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.three_tasks import REAL, TASK, UNIT
from vmtl import MultiTaskRegressor
from vmtl.inference.features.feature_map import ScaledMap
from vmtl.inference.features.feature_parts import ABSENT, feature_parts, known_features
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.longer_map import stage_sizes
from vmtl.inference.fitted import Fitted
from vmtl.model.distributions import Gaussian, Posterior
from vmtl.model.encoders import Encoder

pytestmark = pytest.mark.usefixtures("quick_inference")
X = torch.from_numpy(REAL.X)


@pytest.fixture(scope="module")
def first(quick_inference: None) -> MultiTaskRegressor:
    return MultiTaskRegressor(random_state=0, dtype="float64").fit(REAL.X, UNIT, tasks=TASK)


@pytest.fixture(scope="module")
def grown(first: MultiTaskRegressor) -> Fitted:
    """Two tasks came later, with rows unlike those before, so that the features grew twice."""
    model = copy.deepcopy(first)
    for number, name in enumerate(("east", "far")):
        model.add_task(REAL.X[:8] + 4 * (number + 1), UNIT[:8], task=name)
    return model._fitted


def moments(feature_map: torch.nn.Module, encoder: Encoder, q_w: Posterior) -> tuple[Tensor, Tensor]:
    """Mean and variance (T, n) of w . [z; 1] for all rows under all tasks, with q(w) of one class."""
    assert isinstance(q_w, Gaussian)
    q_z = encoder(feature_map(X[None]))
    z, width = q_z.mean[0], q_z.variance.expand_as(q_z.mean)[0]
    w, v = q_w.mean[:, 0], q_w.variance[:, 0]
    one = torch.ones(len(z), 1).to(z)
    z, width = torch.cat([z, one], 1), torch.cat([width, 0 * one], 1)
    return w @ z.T, v @ (z.square() + width).T + w.square() @ width.T


def test_each_task_is_in_the_part_that_it_was_learned_by(grown: Fitted) -> None:
    parts = feature_parts(grown.feature_map, grown.model, grown.model.q_w())
    assert np.array([part.tasks for part in parts]).tolist() == [
        [True, True, True, False, False],
        [False, False, False, True, False],
        [False, False, False, False, True],
    ]
    assert isinstance(grown.feature_map, KernelMap)
    sizes = stage_sizes(grown.feature_map)
    assert sizes == sorted(set(sizes))
    assert [part.q_w.mean.shape[-1] - 1 for part in parts] == [part.encoder.latent_dim for part in parts] == sizes
    assert known_features(grown.feature_map, grown.model.q_w()).tolist() == [sizes[0]] * 3 + sizes[1:]


def test_a_part_says_of_its_tasks_what_all_features_say(grown: Fitted) -> None:
    whole = moments(grown.feature_map, grown.model.encoder, grown.model.q_w())
    for part in feature_parts(grown.feature_map, grown.model, grown.model.q_w()):
        for found, expected in zip(moments(part.feature_map, part.encoder, part.q_w), whole, strict=True):
            torch.testing.assert_close(found[part.tasks], expected[part.tasks], rtol=1e-6, atol=1e-9)


def test_the_first_part_is_the_model_before_it_grew(first: MultiTaskRegressor, grown: Fitted) -> None:
    part, before = feature_parts(grown.feature_map, grown.model, grown.model.q_w())[0], first._fitted
    h, q_w = before.feature_map(X[None]), before.model.q_w()
    assert torch.equal(part.feature_map(X[None]), h)
    assert torch.equal(part.encoder(h).scale, before.model.encoder(h).scale)
    assert torch.equal(part.q_w.mean[:3], q_w.mean)
    assert torch.equal(part.q_w.variance[:3], q_w.variance)


def test_where_nothing_has_grown_there_is_one_part_of_all_tasks(first: MultiTaskRegressor) -> None:
    model = first._fitted.model
    for feature_map in (first._fitted.feature_map, ScaledMap.identity(6)):
        (part,) = feature_parts(feature_map, model, model.q_w())
        assert part.tasks.tolist() == [True, True, True]
        assert part.feature_map is feature_map
        assert part.encoder is model.encoder


def test_the_first_part_is_there_without_tasks_and_an_absent_weight_has_no_width(grown: Fitted) -> None:
    assert float(torch.tensor(ABSENT).exp()) == 0
    q_w = grown.model.q_w()
    assert isinstance(q_w, Gaussian)
    everybody = Gaussian(q_w.mean, torch.ones_like(q_w.scale))  # all have weights for all features
    first, last = feature_parts(grown.feature_map, grown.model, everybody)
    assert not first.tasks.any()
    assert last.tasks.all()
