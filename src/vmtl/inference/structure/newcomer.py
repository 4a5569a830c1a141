"""Where another task lies among those that are known, and what that says about its weights.

Known tasks stay where they are. The squared distances d of the newcomer to them give its coordinates by the formula
of Gower (1968), axis by axis with the shrinkage that the fit found for that axis,

    p_q = a_q / l_q  sum_i v_iq (r_i - d_i) / 2

where v_q = an axis of unit length (T,), a_q^2 = its eigenvalue without noise, l_q = with noise, r_i = the mean squared
distance of task i to all known ones. What is left of its distance beyond all axes, if more than noise, is an axis of
its own, on which all others are at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.structure.known_tasks import KnownTasks, StructureBelief
from vmtl.inference.structure.mixing_weights import conditional, covariance_of
from vmtl.inference.structure.positions.class_means import ClassMeans
from vmtl.inference.structure.positions.task_positions import n_draws_of, squared_distances
from vmtl.inference.structure.readings.partition_prior import THETA
from vmtl.results.relatedness import MAX_TASKS, TaskStructure


@dataclass(frozen=True)
class Surroundings:
    """The known tasks as a newcomer sees them."""

    known: ClassMeans
    points: Tensor  # (T, Q)
    edge: float  # how large an eigenvalue of pure noise may be
    unit: Tensor  # () the variance within classes, in which squared distances are measured

    @cached_property
    def axes(self) -> Tensor:
        """(T, Q) v."""
        return self.points / self.length

    @cached_property
    def length(self) -> Tensor:
        """(Q,) a."""
        length: Tensor = self.points.norm(dim=0)
        return length.clamp_min(1e-12)

    @cached_property
    def among(self) -> tuple[Tensor, Tensor]:
        """(T,) r and (Q,) l, by the squared distances of the known tasks, noise taken out but not shrunk.

        Where every task has one mean x_t, D_ti = n_t + n_i - 2 x_t x_i off the diagonal, n_t = |x_t|^2 - noise_t, and
        no table of all pairs is needed.
        """
        if self.known.counts.shape[1] > 1:
            table = (self.known.distances(self.known) / self.unit).fill_diagonal_(0)
            mean, spread = table.mean(-1), -0.5 * ((self.axes.T @ table) * self.axes.T).sum(-1)
        else:
            x = self.known.means[:, 0] / self.unit.sqrt()  # (T, K)
            noise = self.known.variance / self.known.counts[:, 0].clamp_min(1e-12) / self.unit
            norm = x.square().sum(-1) - noise
            mean = norm + norm.mean() - 2 * x @ x.mean(0) + 2 * noise / len(x)
            spread = (x.T @ self.axes).square().sum(0) - (norm @ self.axes) * self.axes.sum(0)
            spread = spread - noise @ self.axes.square()
        return mean, torch.maximum(spread, self.length.square())

    def place(self, new: ClassMeans) -> Tensor:
        """(T + 1, Q or Q + 1) the points with the newcomer as the last."""
        distance = new.distances(self.known)[0] / self.unit  # (T,) d
        mean, eigenvalue = self.among
        inner = self.axes.T @ (mean - distance) / 2
        along = inner * self.length / eigenvalue
        beyond = float(distance.mean() - mean.mean() / 2 - (inner.square() / eigenvalue).sum())
        edge = self.edge * self._noise_ratio(new)
        points = torch.cat([self.points, along[None]])
        if beyond <= edge:
            return points
        height = torch.zeros_like(points[:, :1])
        height[-1] = (beyond**2 - edge**2) ** 0.25
        return torch.cat([points, height], 1)

    def _noise_ratio(self, new: ClassMeans) -> float:
        """The noise of a distance to the newcomer in units of that between known tasks."""
        known = float((1 / self.known.counts.sum(-1).clamp_min(1)).mean())
        return (float(1 / new.counts.sum().clamp_min(1)) + known) / (2 * known)


def distances_of(points: Tensor) -> Tensor:
    """(T, T) squared distances of points (T, Q)."""
    return squared_distances(points @ points.T)


@dataclass(frozen=True)
class Newcomer:
    """Labelled rows of one further task among the known ones, compared as the fit has compared those."""

    rows: Rows
    known: KnownTasks
    points: Tensor  # (T, Q) of the known tasks
    by_class: bool

    @cached_property
    def surroundings(self) -> Surroundings:
        assert self.known.belief is not None
        classes = self._seen(self.known.classes)
        return Surroundings(classes, self.points, float(self.known.belief.edge), classes.unit())

    def place(self, rows: Rows | None = None) -> Tensor:
        """(T + 1, Q or Q + 1) the points with the newcomer as the last, by all its rows or by these."""
        return self.surroundings.place(self._seen(self.known.class_means(self.rows if rows is None else rows)))

    def draws(self, seed: int) -> Tensor:
        """(S, T + 1, T + 1) squared distances as other rows of the newcomer might have shown them."""
        n_draws, n_rows = n_draws_of(len(self.points)), len(self.rows.y)
        drawn = torch.randint(n_rows, (n_draws, n_rows), generator=torch.Generator().manual_seed(seed))
        return torch.stack([distances_of(self.place(self.rows.take(draw))) for draw in drawn])

    def _seen(self, means: ClassMeans) -> ClassMeans:
        return means if self.by_class else means.shifts(self.known.classes, self.rows.is_classification)


def resembling_weights(
    known: KnownTasks, structure: TaskStructure | None, new: ClassMeans, is_classification: bool
) -> Tensor:
    """(T,) how much each known task says about one of which only representations are known; they sum to 1.

    Where the fit knows how much positions matter, the mixing weights of Eq. 6 that B gives the newcomer; else, and of
    thousands of tasks, the softmax of minus its squared distances, as beta.
    """
    plain = known.classes.without_classes(is_classification)
    covariance = None if structure is None else covariance_of(structure)
    points = None if structure is None else structure.positions
    if known.belief is None or covariance is None or points is None or len(points) > MAX_TASKS:
        return (-new.distances(plain)[0] / plain.unit()).softmax(0)
    # without labels nothing is known of directions of its own; the unit is that in which the fit knows distances
    around = Surroundings(plain, points, math.inf, known.classes.unit()).place(new)
    row = known.belief.correlations(distances_to_last(around), chance=groups_by_place(known.belief.member, around))
    wider = covariance.with_task(row)
    alpha, _, _ = conditional(wider.between(torch.arange(wider.n_tasks)))
    return alpha[-1, :-1]


def groups_by_place(member: Tensor, points: Tensor) -> Tensor:
    """(R, G) how likely the last of ``points`` (T + 1, Q) is of which group, ``member`` (R, T, G), by where it lies.

    p(g) ~ n_g N(p; c_g, v (1 + 1 / n_g) I),    v = (sum_tg member |p_t - c_g|^2 + S) / (Q (T - G + 1))

    where c_g, n_g = the middle and the number of the tasks of group g, G of them; S = the mean square of all about
    their middle, which counts as one task. Groups that lie in one place are as likely as they are frequent.
    """
    known, last = points[:-1], points[-1]
    n_axes, count = points.shape[1], member.sum(1)  # (R, G)
    if n_axes == 0:
        return member.mean(1)
    middle = torch.einsum("rtg,tq->rgq", member, known) / count.clamp_min(1e-12)[..., None]
    away = (known[:, None] - middle[:, None]).square().sum(-1)  # (R, T, G)
    spread = (known - known.mean(0)).square().sum(-1).mean()
    left = (len(known) - (count > 0).sum(-1) + 1).clamp_min(1)
    variance = ((member * away).sum((1, 2)) + spread).clamp_min(1e-12) / (n_axes * left)  # (R,)
    wide = variance[:, None] * (1 + 1 / count.clamp_min(1e-12))  # (R, G)
    fit = -0.5 * (last - middle).square().sum(-1) / wide - 0.5 * n_axes * wide.log()
    return (count.log() + fit).softmax(-1)


def separation_belief(known: StructureBelief, tried: Tensor) -> Tensor:
    """(S,) how probable o of a newcomer is near each of ``tried`` (S,), from 0 upwards, before its targets are seen.

    It is a group of its own with the odds theta of ``partition_prior``, and then apart by o = D, log D ~ N(0, 1), as
    groups are. Else nobody stands apart, or, as probable as that is of the known tasks, o is half-Cauchy.
    """
    own, chance = THETA / (known.apart.shape[1] + THETA), known.chance_apart()
    edges = torch.cat([tried[:1], (tried[1:] + tried[:-1]) / 2, tried.new_tensor([torch.inf])])
    belief: Tensor = (1 - own) * chance * torch.atan(edges / known.unit).diff() / (math.pi / 2)
    belief[0] += (1 - own) * (1 - chance)
    belief += own * torch.special.ndtr(edges.log()).diff()
    return belief


def distances_to_last(points: Tensor) -> Tensor:
    """(T,) squared distances of the last of points (T + 1, Q) to the others."""
    return (points[:-1] - points[-1]).square().sum(-1)
