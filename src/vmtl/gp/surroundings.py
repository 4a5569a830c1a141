"""Where a further task lies among the known ones, and how strongly it is related to them.

Known tasks stay where they are. The squared distances d of the new task to them give its coordinates by the formula of
Gower (1968), axis by axis with the shrinkage of that axis,

    p_q = a_q / l_q  sum_i v_iq (r_i - d_i) / 2

where v_q = an axis of unit length (T,), a_q^2 = its eigenvalue without noise, l_q = with noise, r_i = the mean squared
distance of task i to all known ones. What is left of its distance beyond all axes, if more than noise, is an axis of
its own, on which all others are at 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.gp.hyperparameters import Hyperparameters
from vmtl.gp.known_tasks import KnownTasks
from vmtl.gp.positions.class_means import ClassMeans
from vmtl.gp.positions.task_positions import compares_classes
from vmtl.gp.relatedness import conditional, covariance_of
from vmtl.results.relatedness import MAX_TASKS, TaskStructure


def place_task(known: KnownTasks, hyperparameters: Hyperparameters, z: Rows) -> tuple[Tensor, Tensor]:
    """b (T,) of a task with the labelled feature rows ``z``, and all points (T + 1, Q or Q + 1) with its own last."""
    n_tasks, means, classes = len(known.points), known.class_means(z), known.classes
    if not compares_classes(n_tasks, z.is_classification, z.n_classes):
        means, classes = (one.shifts(known.classes, z.is_classification) for one in (means, known.classes))
    return _related(known, hyperparameters, classes, means, float(known.edge))


def weights_by_resemblance(
    known: KnownTasks, hyperparameters: Hyperparameters, structure: TaskStructure, z: Tensor
) -> Tensor:
    """(T,) how much each known task says about one of which only features are known; they sum to 1.

    The mixing weights of Eq. 6 that B gives it; without positions, and of thousands of tasks, the softmax of minus its
    squared distances.
    """
    plain = known.classes.without_classes(bool(known.is_classification))
    count, within = z.new_tensor([[len(z)]]), (z - z.mean(0)).square().sum(-1).mean()[None]
    means = ClassMeans(z.mean(0)[None, None], count, (within + plain.variance.mean()) / 2)
    if hyperparameters.decay is None or len(known.points) > MAX_TASKS:
        return (-means.distances(plain)[0] / plain.unit()).softmax(0)
    near, _ = _related(known, hyperparameters, plain, means, torch.inf)
    wider = covariance_of(structure).with_task(near)
    return conditional(wider.between(torch.arange(wider.n_tasks)))[0][-1, :-1]


def _related(
    known: KnownTasks, hyperparameters: Hyperparameters, classes: ClassMeans, means: ClassMeans, edge: float
) -> tuple[Tensor, Tensor]:
    if hyperparameters.decay is None:
        near = torch.full((len(known.points),), hyperparameters.strength, dtype=torch.float64)
        points = torch.cat([known.points, known.points.mean(0, keepdim=True)])
    else:
        points = _place(known, classes, means, edge)
        distances = (points[:-1] - points[-1]).square().sum(-1)
        near = hyperparameters.strength * torch.exp(-hyperparameters.decay * distances)
    return near.masked_fill(known.isolated, 0.0), points


def _place(known: KnownTasks, classes: ClassMeans, new: ClassMeans, edge: float) -> Tensor:
    """(T + 1, Q or Q + 1) the points with that of ``new`` as the last."""
    unit, length = known.classes.unit(), known.points.norm(dim=0).clamp_min(1e-12)  # a (Q,)
    axes = known.points / length  # v (T, Q)
    distance = new.distances(classes)[0] / unit  # d (T,)
    table = (classes.distances(classes) / unit).fill_diagonal_(0)
    mean = table.mean(-1)  # r (T,)
    eigenvalue = torch.maximum(-0.5 * ((axes.T @ table) * axes.T).sum(-1), length.square())  # l (Q,)
    inner = axes.T @ (mean - distance) / 2
    points = torch.cat([known.points, (inner * length / eigenvalue)[None]])
    beyond = float(distance.mean() - mean.mean() / 2 - (inner.square() / eigenvalue).sum())
    noise = float((1 / classes.counts.sum(-1).clamp_min(1)).mean())  # of a distance, up to a factor
    edge = edge * (float(1 / new.counts.sum().clamp_min(1)) + noise) / (2 * noise)
    if beyond <= edge:
        return points
    height = torch.zeros_like(points[:, :1])
    height[-1] = (beyond**2 - edge**2) ** 0.25
    return torch.cat([points, height], 1)
