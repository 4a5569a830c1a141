"""Which of a model's features each task has weights for: all, unless the features grew after it was learned."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.types import Array
from vmtl.inference.features.feature_map import FeatureMap
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.longer_map import shorter_map, stage_sizes
from vmtl.model.distributions import Delta, Gaussian, Posterior
from vmtl.model.encoders import Encoder, KernelEncoder
from vmtl.model.model import Model

#: Log of the width of a weight that a task does not have: exp of it is 0.
ABSENT = -1000.0


@dataclass(frozen=True)
class FeaturePart:
    """The first features, as they were at one stage, and the tasks that know these and no others."""

    tasks: Array  # (T,) bool
    feature_map: FeatureMap
    encoder: Encoder
    q_w: Posterior  # (T, C, K + 1)


def feature_parts(feature_map: FeatureMap, model: Model, q_w: Posterior) -> list[FeaturePart]:
    """The parts that have tasks, by growing number of features; one of all tasks where nothing has grown."""
    if not isinstance(feature_map, KernelMap) or feature_map.stages is None:
        return [FeaturePart((model.task_rows >= 0).cpu().numpy(), feature_map, model.encoder, q_w)]
    known = known_features(feature_map, q_w)
    parts = []
    for size in stage_sizes(feature_map):
        tasks = known == size
        if bool(tasks.any()) or size == stage_sizes(feature_map)[0]:
            encoder = _shorter_encoder(model.encoder, size)
            parts.append(
                FeaturePart(tasks.cpu().numpy(), shorter_map(feature_map, size), encoder, _shorter_weights(q_w, size))
            )
    return parts


def known_features(feature_map: KernelMap, q_w: Posterior) -> Tensor:
    """(T,) the number of features that each task has weights for."""
    assert isinstance(q_w, Gaussian)
    sizes = torch.tensor(stage_sizes(feature_map), device=q_w.mean.device)
    has = (q_w.scale[..., :-1] > 0).any(1)  # (T, K)
    last = (has * torch.arange(1, has.shape[1] + 1, device=has.device)).amax(1)
    return sizes[torch.searchsorted(sizes, last)]


def _shorter_weights(q_w: Posterior, size: int) -> Posterior:
    def cut(value: Tensor) -> Tensor:
        return torch.cat([value[..., :size], value[..., -1:]], -1)

    return Gaussian(cut(q_w.mean), cut(q_w.scale)) if isinstance(q_w, Gaussian) else Delta(cut(q_w.mean))


def _shorter_encoder(encoder: Encoder, size: int) -> Encoder:
    """The same widths of q(z), of the first features."""
    assert isinstance(encoder, KernelEncoder)
    shorter = KernelEncoder(encoder.spread[:, 0, :size], encoder.log_width is not None).to(encoder.spread)
    if encoder.log_width is not None:
        shorter.log_width = encoder.log_width
    return shorter
