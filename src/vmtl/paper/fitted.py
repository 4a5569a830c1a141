"""The result of a fit: what it predicts, what it has learned, and its way to and from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from vmtl._utils.canonical import make_canonical
from vmtl._utils.json_values import Document
from vmtl._utils.shape_checks import check_fits
from vmtl._utils.types import Array
from vmtl.paper.hyperparameters import Hyperparameters
from vmtl.paper.likelihoods import GaussianNoise
from vmtl.paper.method import Method
from vmtl.paper.model import Layout, Model
from vmtl.paper.prediction import Predictor
from vmtl.paper.settings import Settings
from vmtl.paper.training.history import History
from vmtl.results.left_out_scores import LeftOutScores
from vmtl.results.predictions import ClassPrediction, Probabilities, RealPrediction
from vmtl.results.relatedness import MAX_TASKS, TaskStructure


@dataclass(frozen=True, eq=False)
class FittedVMTL:
    """A fitted model of T tasks and how it was trained; its tensors have the one layout that a file gives back.

    ``seed`` is that of the random numbers that all predictions share.
    """

    model: Model
    history: History
    seed: int
    left_out: LeftOutScores | None = None  # of cross_calibrate; training leaves no rows out

    def __post_init__(self) -> None:
        make_canonical(self.model)

    @property
    def n_tasks(self) -> int:
        return self.model.n_tasks

    @property
    def class_mask(self) -> Tensor:
        """(T, C) which classes each task saw."""
        return self.model.class_mask

    # -- predictions

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.model, self.model.settings.predictive, self.seed)

    def probabilities(self, x: Array, task: Array) -> Probabilities:
        """Class probabilities of the rows ``x`` (n, D) of the tasks ``task`` (n,)."""
        return self._predictor.probabilities(x, task)

    def classes(self, x: Array, task: Array) -> ClassPrediction:
        """The same, and where the uncertainty comes from."""
        return self._predictor.classes(x, task)

    def values(self, x: Array, task: Array) -> RealPrediction:
        """Regression: mean, noise and model uncertainty of every row, in units of the standardised target."""
        return self._predictor.values(x, task)

    def features(self, x: Array, task: Array) -> Array:
        """The mean representation of every row: (n, K)."""
        return self._predictor.features(x, task)

    # -- what was learned

    @property
    def structure(self) -> TaskStructure | None:
        """Who learns from whom: softmax(log pi) of w and z, and the sharing strength; None where nothing is mixed."""
        method, model = self.model.method, self.model
        if not method.mixes:
            return None
        has_table = self.n_tasks <= MAX_TASKS
        sharing = model.sharing()
        return TaskStructure(
            alpha=model.alpha().detach() if has_table and method.mixes_w else None,
            sharing=sharing,
            variance=1 - sharing.square(),
            covariance=None,
            beta=model.beta().detach() if has_table and method.mixes_z else None,
        )

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Numbers of the model that no setting gives."""
        likelihood = self.model.likelihood
        noise = tuple(likelihood.scale().tolist()) if isinstance(likelihood, GaussianNoise) else None
        return Hyperparameters(self.model.encoder.latent_dim, noise)

    # -- files

    def to_tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        model = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        history = {f"history.{name}": torch.stack(getattr(self.history, name)) for name in History.TERMS}
        return {**model, **history}

    def to_json(self) -> dict[str, object]:
        """All that is no tensor, but for the method and the settings."""
        return {"history": self.history.numbers(), "prediction_seed": self.seed, "size_in": self.model.size_in}

    @classmethod
    def from_file(
        cls,
        document: Document,
        tensors: dict[str, Tensor],
        *,
        is_classification: bool,
        method: Method,
        settings: Settings,
    ) -> Self:
        """The fitted model that ``to_json`` and ``to_tensors`` describe."""

        def part(name: str) -> dict[str, Tensor]:
            return {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}

        model = _load_model(method, settings, is_classification, int(document["size_in"]), part("model"))
        history = _load_history(document["history"], part("history"), model.n_tasks)
        return cls(model.requires_grad_(False), history, int(document["prediction_seed"]))


def _load_model(
    method: Method, settings: Settings, is_classification: bool, size_in: int, weights: dict[str, Tensor]
) -> Model:
    layout = Layout(
        weights["class_mask"],
        weights["task_rows"],
        size_in,
        is_classification,
        weights.get("head.statistics", torch.zeros(1, 1, 1)),
    )
    if layout.task_rows.shape != layout.class_mask.shape[:1]:
        raise ValueError("task_rows does not have one number per task")
    check_fits(lambda: Model(method, settings, layout.to("meta")), weights)
    model = Model(method, settings, layout).to(weights["task_rows"].dtype)
    model.load_state_dict(weights)
    return model


def _load_history(numbers: dict[str, list[Any]], terms: dict[str, Tensor], n_tasks: int) -> History:
    if any(value.shape != (len(numbers["step"]), n_tasks) for value in terms.values()):
        raise ValueError("the history does not have one row per recorded step and one column per task")
    return History(**numbers, **{name: list(value) for name, value in terms.items()})
