"""A kernel map with features more, for rows that its landmarks do not reach; those it had stay as they are.

Rows like none of the landmarks have inner products that the features h do not see. What they miss is a kernel itself,

    r(x, x') = scale^2 k_c(x, x') - h(x) . h(x')

and its principal components on the new rows N are the further features:

    e(x) = r(x, N) V L^-1/2,    V L V' = r(N, N)

where k_c = the kernel centred on the first landmarks. On the landmarks that the map was learned on r is 0 as far as the
map keeps all components, and so is e: what is known of the old features stays true, and nothing is known of the new.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from vmtl.inference.features.kernel_map import KernelMap

#: New landmarks of one stage at most, and landmarks in all beyond which a map does not grow.
NEW_LANDMARKS, MOST_LANDMARKS = 256, 2048
#: A component counts from this part of the mean squared norm of the new rows on.
LEAST_PART = 1e-5


def longer_map(kernel_map: KernelMap, x: Tensor, scale: float, seed: int) -> KernelMap:
    """The map with the components of rows x (n, D) that it lacks, itself if there are none; ``scale`` = that of h."""
    room = min(NEW_LANDMARKS, MOST_LANDMARKS - kernel_map.landmarks.shape[1])
    if room <= 0:
        return kernel_map
    if len(x) > room:
        x = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:room].sort().values]
    exact = copy.deepcopy(kernel_map).double()
    size, p, rows = exact.landmarks.shape[1], exact.weight[0], x.to(exact.landmarks)
    joint = with_landmarks(exact, rows)
    kernel = joint.kernel(joint.landmarks)[0]  # (m + n, m + n)
    h = kernel[size:, :size] @ exact.projection[0] + exact.offset[0]  # (n, K)
    mean = p @ kernel[:size, size:]  # (n,)
    level = p @ kernel[:size, :size] @ p
    centred = scale**2 * (kernel[size:, size:] - mean[:, None] - mean + level)
    values, vectors = torch.linalg.eigh(centred - h @ h.T)
    kept = values > LEAST_PART * centred.diagonal().mean()
    if not bool(kept.any()):
        return kernel_map
    root = (vectors[:, kept] * values[kept].rsqrt()).flip(1)  # (n, k) V L^-1/2, by falling variance
    inner, total = h.T @ root, root.sum(0)  # (K, k), (k,)
    old = -(scale**2) * p[:, None] * total - exact.projection[0] @ inner  # (m, k) what k(x, Z) adds to e
    offset = scale**2 * (level * total - mean @ root) - exact.offset[0] @ inner  # (1, k)
    return _joined(kernel_map, x, old, scale**2 * root, offset)


def with_landmarks(kernel_map: KernelMap, x: Tensor) -> KernelMap:
    """A map whose ``kernel`` is also that to the rows x; its features are not set."""
    size, more = kernel_map.landmarks.shape[1], len(x)
    longer = KernelMap(
        1, size + more, x.shape[1], kernel_map.projection.shape[-1], view_rows=kernel_map.views.values.shape[-1]
    ).to(kernel_map.landmarks)
    longer.views = kernel_map.views
    longer.landmarks[0] = torch.cat([kernel_map.landmarks[0], x])
    longer.weight[0, :size] = kernel_map.weight[0]
    longer.coefficient.copy_(kernel_map.coefficient)
    return longer


def _joined(kernel_map: KernelMap, x: Tensor, old: Tensor, new: Tensor, offset: Tensor) -> KernelMap:
    """The map with the landmarks x and the features k(x, Z) ``old`` + k(x, N) ``new`` + ``offset``."""
    (size, before), (more, added) = kernel_map.projection.shape[1:], new.shape
    longer = with_landmarks(kernel_map, x.to(kernel_map.landmarks))
    longer.views = copy.deepcopy(kernel_map.views)
    projection = new.new_zeros(1, size + more, before + added)
    projection[0, :size, :before], projection[0, :size, before:] = kernel_map.projection[0], old
    projection[0, size:, before:] = new
    longer.projection = projection.to(kernel_map.projection)
    longer.offset = torch.cat([kernel_map.offset, offset[None].to(kernel_map.offset)], -1)
    stages = torch.tensor([[size, before]]) if kernel_map.stages is None else kernel_map.stages
    longer.stages = torch.cat([stages.cpu(), torch.tensor([[size + more, before + added]])]).to(stages.device)
    return longer


def stage_sizes(kernel_map: KernelMap) -> list[int]:
    """The numbers of features that the map has had, growing."""
    return [kernel_map.projection.shape[-1]] if kernel_map.stages is None else kernel_map.stages[:, 1].tolist()


def shorter_map(kernel_map: KernelMap, size: int) -> KernelMap:
    """The map as it was when it had ``size`` features, one of ``stage_sizes``."""
    if kernel_map.stages is None or size == kernel_map.projection.shape[-1]:
        return kernel_map
    landmarks = int(kernel_map.stages[kernel_map.stages[:, 1] == size][0, 0])
    shorter = KernelMap(
        1, landmarks, kernel_map.landmarks.shape[-1], size, view_rows=kernel_map.views.values.shape[-1]
    ).to(kernel_map.landmarks)
    shorter.views = kernel_map.views
    shorter.landmarks.copy_(kernel_map.landmarks[:, :landmarks])
    shorter.weight.copy_(kernel_map.weight[:, :landmarks])
    shorter.coefficient.copy_(kernel_map.coefficient)
    shorter.projection.copy_(kernel_map.projection[:, :landmarks, :size])
    shorter.offset.copy_(kernel_map.offset[..., :size])
    return shorter
