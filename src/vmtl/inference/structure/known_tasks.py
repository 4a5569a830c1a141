"""What a fitted model keeps of its training rows, so that a task can be added or recognised without them.

Means of classes, counts and a few numbers per task; no row can be read off them where a class has more than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl.data.rows import Rows
from vmtl.inference.structure.positions.class_means import ClassCells, ClassMeans
from vmtl.inference.structure.readings.partition_prior import in_order

Part = TypeVar("Part", ClassMeans, "StructureBelief", "ExactEvidence")


@dataclass(frozen=True)
class StructureBelief:
    """What B is made of, so that the row of another task follows."""

    share: Tensor  # (R,) the probabilities of the readings: as the tasks lie, some apart, in groups
    apart: Tensor  # (R, T) o_t
    member: Tensor  # (R, T, G) how likely a task is of which group
    gap: Tensor  # (R,) D
    unit: Tensor  # () e, in units of which o_t is believed to be
    strength: Tensor  # () m
    decay: Tensor  # () gamma
    edge: Tensor  # () how large an eigenvalue of pure noise may be, in positions

    def chance_apart(self) -> float:
        """How probable it is that somebody stands apart."""
        return float(self.share[(self.apart > 0).any(1)].sum())

    def chance_grouped(self) -> float:
        """How probable it is that the tasks fall into groups."""
        return float(self.share[self.gap > 0].sum())

    def groups(self) -> tuple[Tensor, Tensor]:
        """(T,) the group of each task in what is most probable, numbered as they come, and how probable that is.

        Where no groups are more probable than any, all tasks are of the first.
        """
        chance = self.chance_grouped()
        if chance <= 0.5:
            return torch.zeros(self.apart.shape[1], dtype=torch.long), torch.full_like(self.apart[0], 1 - chance)
        sure, group = self.member.max(2)  # (R, T)
        numbered = torch.stack([in_order(of_reading) for of_reading in group])
        best = numbered[torch.where(self.gap > 0, self.share, 0.0).argmax()]
        agree = (self.gap > 0) & (numbered == best).all(1)  # the same groups, whatever else a reading says
        return best, self.share[agree] @ sure[agree]

    def frequencies(self) -> Tensor:
        """(R, G) how many of the tasks are of each group, as parts of 1."""
        return self.member.mean(1)

    def correlations(self, distances: Tensor, apart: float = 0.0, chance: Tensor | None = None) -> Tensor:
        """(..., T) b_i = m exp(-o - o_i - gamma d_i - D [g != g_i]) of a task at squared distances d (..., T), the
        average of the readings and of its group g.

        o = ``apart``; ``chance`` (R, G) = how likely it is of which group, else as often as the others are.
        """
        same = torch.einsum("rg,rtg->rt", self.frequencies() if chance is None else chance, self.member)
        kept = torch.exp(-self.apart) * torch.lerp(torch.exp(-self.gap)[:, None], torch.ones_like(same), same)
        return self.strength * math.exp(-apart) * (self.share @ kept) * torch.exp(-self.decay * distances)

    def append(self, apart: float, chance: Tensor | None = None) -> StructureBelief:
        """The same with one more task, which keeps so much to itself under every reading; ``chance`` as above."""
        kept = torch.cat([self.apart, torch.full_like(self.apart[:, :1], apart)], 1)
        member = (self.frequencies() if chance is None else chance)[:, None]
        return replace(self, apart=kept, member=torch.cat([self.member, member], 1))


@dataclass(frozen=True)
class ExactEvidence:
    """What the exact posterior was found from."""

    outputs: Tensor  # (4,) s, tau and A of the prior of the outputs, and the deviation of a regression's noise
    told: Tensor  # (T, K + 1) what the rows of each task tell about each weight of [z; 1]
    errors: Tensor  # (T, 2) sum of squared left-out errors and number of rows, of a regression

    def with_features(self, more: int) -> ExactEvidence:
        """The same with so many features more, of which nothing is known."""
        return replace(self, told=torch.cat([F.pad(self.told[:, :-1], (0, more)), self.told[:, -1:]], 1))

    def append(self, told: Tensor, errors: Tensor) -> ExactEvidence:
        """The same with one more task: (K + 1,), (2,)."""
        return replace(self, told=torch.cat([self.told, told[None]]), errors=torch.cat([self.errors, errors[None]]))

    def merge(self, task: int, told: Tensor, errors: Tensor) -> ExactEvidence:
        """The same with more rows of a task."""
        total = replace(self, told=self.told.clone(), errors=self.errors.clone())
        total.told[task] += told
        total.errors[task] += errors
        return total


@dataclass(frozen=True)
class KnownTasks:
    """All that is kept; what a fit does not have is None."""

    classes: ClassMeans
    target_scale: Tensor  # () deviation of a regression's targets within tasks
    belief: StructureBelief | None = None
    exact: ExactEvidence | None = None

    @classmethod
    def of(cls, rows: Rows) -> KnownTasks:
        """Of rows with their representations as x."""
        rows = rows.cpu()
        cells = ClassCells.of(rows)
        scale = torch.tensor(cells.target_scale, dtype=torch.float64)
        return cls(cells.class_means(rows.x.double()), scale)

    def with_features(self, more: int) -> KnownTasks:
        """The same with so many features more, which are 0 in all rows so far."""
        classes = replace(self.classes, means=F.pad(self.classes.means, (0, more)))
        return replace(self, classes=classes, exact=None if self.exact is None else self.exact.with_features(more))

    def class_means(self, rows: Rows) -> ClassMeans:
        """The same of the rows of one further task."""
        cells = ClassCells.of(rows, float(self.target_scale))
        return cells.class_means(rows.x.double(), self.classes.variance.mean())

    def to_tensors(self) -> dict[str, Tensor]:
        parts = (self.classes, self.belief, self.exact)
        named = {name: value for part in parts if part is not None for name, value in vars(part).items()}
        return {**named, "target_scale": self.target_scale}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], n_tasks: int) -> KnownTasks:
        """What ``to_tensors`` gave, or a ValueError that says what is wrong with it."""
        if "apart" in tensors and not {"member", "gap"} & set(tensors):  # of a version that knew no groups
            apart = tensors["apart"]
            tensors = {**tensors, "member": torch.ones_like(apart)[:, :, None], "gap": torch.zeros_like(apart[:, 0])}
        _check_shapes(tensors, n_tasks)
        classes, target_scale = _part(ClassMeans, tensors), tensors.get("target_scale")
        if classes is None or target_scale is None:
            raise ValueError(f"what is kept of the tasks has no {'means' if classes is None else 'target_scale'}")
        return cls(classes, target_scale, _part(StructureBelief, tensors), _part(ExactEvidence, tensors))


#: The shape of every tensor, by letters of sizes that must agree: T tasks, C classes, K features, R readings, G groups.
SHAPES = {
    "means": "TCK", "counts": "TC", "variance": "T", "target_scale": "",
    "share": "R", "apart": "RT", "member": "RTG", "gap": "R", "unit": "", "strength": "", "decay": "", "edge": "",
    "outputs": "4", "told": "TL", "errors": "T2",
}  # fmt: skip


def _check_shapes(tensors: dict[str, Tensor], n_tasks: int) -> None:
    sizes = {"T": n_tasks, "2": 2, "4": 4}
    for name, value in tensors.items():
        letters, shape = SHAPES.get(name), tuple(value.shape)
        fits = letters is not None and len(letters) == len(shape) and 0 not in shape
        if not fits or any(sizes.setdefault(a, size) != size for a, size in zip(letters or "", shape, strict=True)):
            raise ValueError(f"what is kept of the tasks has no {name} of shape {shape}")
        if not bool(value.isfinite().all()):
            raise ValueError(f"what is kept of the tasks is not finite: {name}")


def _part(kind: type[Part], tensors: dict[str, Tensor]) -> Part | None:
    """All tensors of a part, None if there is not one of them."""
    names = [field.name for field in fields(kind)]
    absent = [name for name in names if name not in tensors]
    if absent and len(absent) < len(names):
        raise ValueError(f"what is kept of the tasks has no {absent[0]}")
    return None if absent else kind(**{name: tensors[name] for name in names})
