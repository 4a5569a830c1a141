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
from vmtl.inference.structure.class_means import ClassMeans
from vmtl.inference.structure.known_tasks import KnownTasks
from vmtl.inference.structure.mixing_weights import conditional
from vmtl.inference.structure.positions import squared_distances

#: Draws of the newcomer's rows with replacement, from which intervals are known.
ROW_DRAWS = 32


@dataclass(frozen=True)
class Surroundings:
    """The known tasks as a newcomer sees them."""

    known: ClassMeans
    points: Tensor  # (T, Q)
    edge: float  # how large an eigenvalue of pure noise may be
    unit: Tensor  # () the variance within classes, in which squared distances are measured

    @classmethod
    def of(cls, known: KnownTasks, points: Tensor) -> Surroundings:
        assert known.belief is not None
        return cls(known.classes, points, float(known.belief.edge), known.classes.unit())

    @cached_property
    def among(self) -> Tensor:
        """(T, T) squared distances of the known tasks, noise taken out but not shrunk."""
        return (self.known.distances(self.known) / self.unit).fill_diagonal_(0)

    def place(self, new: ClassMeans) -> Tensor:
        """(T + 1, Q or Q + 1) the points with the newcomer as the last."""
        distance = new.distances(self.known)[0] / self.unit  # (T,) d
        mean = self.among.mean(-1)  # r
        length = self.points.norm(dim=0).clamp_min(1e-12)  # (Q,) a
        axes = self.points / length  # (T, Q) v
        eigenvalue = -0.5 * ((axes.T @ self.among) * axes.T).sum(-1)  # (Q,) l; axes are centred
        eigenvalue = torch.maximum(eigenvalue, length.square())
        inner = axes.T @ (mean - distance) / 2
        along = inner * length / eigenvalue
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


def row_draws(rows: Rows, known: KnownTasks, around: Surroundings, seed: int) -> Tensor:
    """(S, T + 1, T + 1) squared distances as other rows of the newcomer might have shown them."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(rows.y), (ROW_DRAWS, len(rows.y)), generator=generator)
    return torch.stack([distances_of(around.place(known.class_means(rows.take(draw)))) for draw in drawn])


def resembling_weights(known: KnownTasks, points: Tensor | None, new: ClassMeans, is_classification: bool) -> Tensor:
    """(T,) how much each known task says about one of which only representations are known; they sum to 1.

    Where the fit knows how much positions matter, the mixing weights of Eq. 6 that B gives the newcomer; else the
    softmax of minus its squared distances, as beta.
    """
    plain = known.classes.without_classes(is_classification)
    if known.belief is None or points is None:
        return (-new.distances(plain)[0] / plain.unit()).softmax(0)
    # without labels nothing is known of directions of its own; the unit is that in which the fit knows distances
    around = Surroundings(plain, points, math.inf, known.classes.unit())
    alpha, _, _ = conditional(known.belief.append(0.0).covariance(distances_of(around.place(new))))
    return alpha[-1, :-1]
