"""A fitted model: what it predicts, what it knows of the tasks, and its way to and from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.noise import antithetic
from vmtl._utils.types import Array
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.gp.features import KernelFeatures
from vmtl.gp.forest import Forest, GrownForest, infer_share
from vmtl.gp.hyperparameter_search import HyperparameterPosterior, HyperparameterSearch
from vmtl.gp.hyperparameters import Hyperparameters
from vmtl.gp.kernels import KERNELS
from vmtl.gp.known_tasks import KnownTasks
from vmtl.gp.new_task import add_rows
from vmtl.gp.posterior import ErrorSums, Solution, WeightPosterior, task_noise
from vmtl.gp.relatedness import structure_of, with_intervals
from vmtl.gp.suggestion import choose, make_pools
from vmtl.gp.surroundings import weights_by_resemblance
from vmtl.results.left_out_scores import LeftOutScores
from vmtl.results.predictions import ClassPrediction, Probabilities, RealPrediction
from vmtl.results.relatedness import TaskStructure

#: Draws of the logits that split the uncertainty of a class.
DRAWS = 32
#: Rows that are predicted together.
PART_ROWS = 4096
#: Most rows whose left-out scores are kept, or this many of each task.
KEPT_SCORES, TASK_SCORES = 20_000, 20


@dataclass(frozen=True)
class FittedGP:
    """The posterior of one fit; tasks are numbers, and targets of a regression are standardised."""

    feature_map: KernelFeatures
    weights: WeightPosterior
    noise: Tensor  # (T,) deviation of each task's noise, 1 of a classifier
    class_mask: Tensor  # (T, C) which classes each task has training rows of
    task_rows: Tensor  # (T,) the weight of the training rows
    structure: TaskStructure
    left_out: LeftOutScores
    known: KnownTasks
    hyperparameters: Hyperparameters
    forest: Forest | None
    is_classification: bool

    # -- at the end of a fit ---------------------------------------------------------------------------

    @classmethod
    def assemble(
        cls,
        features: KernelFeatures,
        search: HyperparameterSearch,
        found: HyperparameterPosterior,
        solution: Solution,
        z: Rows,
        grown: GrownForest | None,
        seed: int,
    ) -> FittedGP:
        """All parts of a fit of the feature rows ``z``."""
        weights = WeightPosterior.of(solution, z)
        noise, errors = torch.ones(z.n_tasks, dtype=torch.float64), torch.zeros(z.n_tasks, 2, dtype=torch.float64)
        if not z.is_classification:
            residuals = None if solution.held_out is None else solution.held_out[:, 0]
            squares, explained, count = z.total(ErrorSums(weights, solution.noise, residuals))
            noise, errors = task_noise(squares, explained, count), torch.stack([squares, count], 1)
        best, positions = found.best, search.positions
        structure = structure_of(solution.prior.covariance)
        if search.free.decay:
            structure = with_intervals(structure, positions, found.draw_sharing, best.isolated, seed)
        relevance = features.views.relevance
        fitted = cls(
            feature_map=features,
            weights=weights,
            noise=noise,
            class_mask=z.class_mask.cpu(),
            task_rows=z.task_weight.double().cpu(),
            structure=structure,
            left_out=LeftOutScores.empty(),
            known=KnownTasks.of(z, positions.points, positions.edge, best.isolated, errors),
            hyperparameters=Hyperparameters(
                kernel_shares=features.kernel_shares(),
                relevance=tuple(relevance.tolist()) if bool((relevance != 1).any()) else None,
                scale=solution.prior.scale,
                task_level=solution.prior.task_level,
                strength=found.strength,
                decay=found.decay if search.free.decay else None,
                correlation=solution.prior.covariance.correlation,
                isolated=tuple(best.isolated.nonzero().flatten().tolist()),
                noise=None if z.is_classification else solution.noise,
                forest_share=None,
            ),
            forest=None,
            is_classification=z.is_classification,
        )
        return fitted._with_forest(grown, solution)._with_left_out_scores(z, solution)

    def _with_forest(self, grown: GrownForest | None, solution: Solution) -> Self:
        """The forest with the share that held-out rows give it."""
        if grown is None or solution.held_out is None or solution.rows is None:
            return self
        y = solution.rows.y[:, None]
        by_model, by_forest = solution.held_out.gather(1, y)[:, 0], grown.out_of_bag.gather(1, y)[:, 0]
        grown.forest.share.fill_(infer_share(by_model, by_forest, solution.rows.weight))
        solution.held_out.copy_(grown.forest.join(solution.held_out, grown.out_of_bag))
        hyperparameters = replace(self.hyperparameters, forest_share=float(grown.forest.share))
        return replace(self, forest=grown.forest, hyperparameters=hyperparameters)

    def _with_left_out_scores(self, z: Rows, solution: Solution) -> Self:
        """How far off predictions of held-out rows are; of too many rows, those of some training rows."""
        rows, held_out = solution.rows, solution.held_out
        if rows is None or held_out is None:
            rows = z.take(subsample_evenly(z.task.cpu(), max(KEPT_SCORES, TASK_SCORES * z.n_tasks), 0)).cpu()
        mean, variance = self.weights.outputs(rows.x, rows.task)
        if self.is_classification:
            p = mean.softmax(-1) if held_out is None else held_out
            score = 1 - p.gather(1, rows.y[:, None])[:, 0]
        else:
            errors = rows.y - mean[:, 0] if held_out is None else held_out[:, 0]
            score = errors.abs() / (self.noise[rows.task].square() + variance).sqrt()
        return replace(self, left_out=LeftOutScores(score.clamp_min(0), rows.task, rows.weight.double()))

    # -- predicting ------------------------------------------------------------------------------------

    @property
    def n_tasks(self) -> int:
        return len(self.task_rows)

    def probabilities(self, x: Array, task: Array) -> Probabilities:
        """Class probabilities of the rows x (n, D) of the tasks (n,): softmax of the posterior mode."""
        parts = [self._probabilities(rows, tasks)[0] for rows, tasks in _parts(x, task)]
        return Probabilities(_joined(parts, self.class_mask.shape[1]))

    def classes(self, x: Array, task: Array) -> ClassPrediction:
        """Probabilities, and how much of their entropy is left on average over the posterior.

        Logits vary about the mode by q(w); draws of them split the entropy in the ratio of the mean entropy of the draws
        to the entropy of their mean.
        """
        parts = [self._with_entropies(rows, tasks) for rows, tasks in _parts(x, task)]
        p, total, aleatoric = zip(*parts, strict=True) if parts else ([], [], [])
        return ClassPrediction(
            _joined(list(p), self.class_mask.shape[1]), np.concatenate([[], *total]), np.concatenate([[], *aleatoric])
        )

    def values(self, x: Array, task: Array) -> RealPrediction:
        """Regression: posterior mean, deviation of the noise, and of the mean."""
        mean, variance = np.empty(len(task)), np.empty(len(task))
        start = 0
        for rows, tasks in _parts(x, task):
            m, v = self.weights.outputs(self.feature_map(rows), tasks)
            mean[start : start + len(tasks)], variance[start : start + len(tasks)] = m[:, 0].numpy(), v.numpy()
            start += len(tasks)
        return RealPrediction(mean, self.noise.numpy()[task], np.sqrt(variance))

    def features(self, x: Array, task: Array) -> Array:
        """The features z of every row, whatever its task: (n, K)."""
        return self.feature_map(torch.from_numpy(np.ascontiguousarray(x))).numpy()

    # -- further rows, unknown tasks, suggestions ------------------------------------------------------

    def add_task(self, rows: Rows, seed: int = 0) -> FittedGP:
        """The model with a further task, whose raw ``rows`` these are."""
        return add_rows(self, rows, self.n_tasks, seed)

    def add_rows(self, task: int, rows: Rows, seed: int = 0) -> FittedGP:
        """The model with further raw ``rows`` of a known task."""
        return add_rows(self, rows, task, seed)

    def unknown_weights(self, x: Array) -> Array:
        """How much each known task says about one of which only the rows x (n, D) are known: (T,)."""
        z = self.feature_map(torch.from_numpy(np.ascontiguousarray(x)))
        return weights_by_resemblance(self.known, self.hyperparameters, self.structure, z).numpy()

    def suggest(self, x: Array, task: Array, n: int, seed: int) -> Iterator[int]:
        """Numbers of ``n`` of the rows x (n, D) of the tasks (n,), the one whose label would tell most first."""
        return choose(make_pools(self, x, task, seed), n)

    def _probabilities(self, x: Tensor, task: Tensor) -> tuple[Array, Tensor, Tensor]:
        """(n, C) probabilities, and mean (n, C) and variance (n,) of the logits."""
        mean, variance = self.weights.outputs(self.feature_map(x), task)
        p = mean.softmax(-1)
        if self.forest is not None:
            p = self.forest.join(p, self.forest(x))
        return p.numpy(), mean, variance

    def _with_entropies(self, x: Tensor, task: Tensor) -> tuple[Array, Array, Array]:
        p, mean, variance = self._probabilities(x, task)
        draws = (mean + variance.sqrt()[:, None] * self._noise_draws[:, None]).softmax(-1)  # (S, n, C)
        ratio = entropy(draws).mean(0) / entropy(draws.mean(0)).clamp_min(1e-300)
        aleatoric = entropy(mean.softmax(-1)) * ratio.clamp_max(1)
        if self.forest is not None:
            aleatoric = self.forest.join(aleatoric, entropy(self.forest(x)))
        total = entropy(torch.from_numpy(p))
        return p, total.numpy(), torch.minimum(aleatoric, total).numpy()

    @property
    def _noise_draws(self) -> Tensor:
        """(S, C) antithetic normal draws, the same for all rows."""
        half = torch.randn(DRAWS // 2, self.class_mask.shape[1], generator=torch.Generator().manual_seed(0))
        return antithetic(half.double(), DRAWS)

    # -- files -----------------------------------------------------------------------------------------

    def to_tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        parts = {
            "features": self.feature_map.to_tensors(),
            "weights": self.weights.to_tensors(),
            "structure": {name: value for name, value in vars(self.structure).items() if value is not None},
            "left_out": self.left_out.to_tensors(),
            "known": self.known.to_tensors(),
            "forest": {} if self.forest is None else self.forest.to_tensors(),
            "model": {"noise": self.noise, "class_mask": self.class_mask, "task_rows": self.task_rows},
        }
        return {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}

    def to_json(self) -> dict[str, object]:
        """All that is no tensor."""
        return {"hyperparameters": self.hyperparameters.to_json()}

    @classmethod
    def from_file(cls, document: Document, tensors: dict[str, Tensor], *, is_classification: bool) -> FittedGP:
        """The model that ``to_tensors`` and ``to_json`` describe, or a ValueError that says what is wrong with it."""

        def part(name: str) -> dict[str, Tensor]:
            return {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}

        check_model_tensors(tensors)
        model, trees = part("model"), part("forest")
        features = KernelFeatures.from_tensors(part("features"))
        forest = None
        if trees:
            forest = Forest.checked(trees, features.landmarks.shape[1], model["class_mask"].shape[1])
        n_tasks = len(model["task_rows"])
        return cls(
            feature_map=features,
            weights=WeightPosterior.from_tensors(part("weights")),
            noise=model["noise"],
            class_mask=model["class_mask"],
            task_rows=model["task_rows"],
            structure=TaskStructure.from_tensors(part("structure"), n_tasks),
            left_out=LeftOutScores.from_tensors(part("left_out"), n_tasks),
            known=KnownTasks.from_tensors(part("known")),
            hyperparameters=Hyperparameters.from_json(document["hyperparameters"]),
            forest=forest,
            is_classification=is_classification,
        )


#: The shape of every tensor, by letters of sizes that must agree: T tasks, C outputs, K features, L = K + 1, D columns,
#: M landmarks, V views, N rows of a forest's nodes and so on.
SHAPES = {
    "features.landmarks": "MD", "features.coefficient": "k", "features.projection": "MK", "features.offset": "K",
    "features.views.values": "DM", "features.views.cumulative": "Dm", "features.views.centre": "D",
    "features.views.deviation": "D", "features.views.relevance": "D", "features.views.shift": "Vb",
    "features.views.scale": "V", "weights.mean": "TCL", "weights.deviation": "TL", "weights.information": "TL",
    "weights.hyperparameters": "4", "model.noise": "T", "model.class_mask": "TC", "model.task_rows": "T",
    "known.means": "TcK", "known.counts": "Tc", "known.variance": "T", "known.target_scale": "", "known.points": "TQ",
    "known.edge": "", "known.isolated": "T", "known.errors": "T2",
}  # fmt: skip


def check_model_tensors(tensors: dict[str, Tensor]) -> None:
    """A ValueError if a tensor is missing, not finite, or of a size that does not fit the others."""
    sizes = {"2": 2, "4": 4, "k": len(KERNELS)}
    for name, letters in SHAPES.items():
        value = tensors.get(name)
        if value is None or len(value.shape) != len(letters):
            raise ValueError(f"there is no {name} of {len(letters)} axes")
        for letter, size in zip(letters, value.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"the shape {tuple(value.shape)} of {name} does not fit the other tensors")
        if not bool(value.isfinite().all()):
            raise ValueError(f"{name} is not finite")
    if sizes["L"] != sizes["K"] + 1 or sizes["m"] != sizes["M"] + 1:
        raise ValueError("the number of features does not fit the number of weights")


def entropy(p: Tensor) -> Tensor:
    """-sum p log p over the last axis, in nats."""
    return -torch.xlogy(p, p).sum(-1)


def _parts(x: Array, task: Array) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows and their tasks as tensors, part by part."""
    for start in range(0, len(task), PART_ROWS):
        some = slice(start, start + PART_ROWS)
        rows = torch.from_numpy(np.ascontiguousarray(x[some], dtype=np.float64))
        yield rows, torch.from_numpy(np.ascontiguousarray(task[some], dtype=np.int64))


def _joined(parts: list[Array], n_classes: int) -> Array:
    return np.concatenate(parts) if parts else np.empty((0, n_classes))
