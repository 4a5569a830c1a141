"""One training run of the paper's system, as an estimator asks for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.tensor_files import ModelFileError
from vmtl._utils.threads import check_device
from vmtl._utils.types import Array
from vmtl.data.rows import Rows
from vmtl.estimators.base import FitJob, check_choice
from vmtl.estimators.inputs.training_rows import DTYPES
from vmtl.paper.fit import fit
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.method import MODEL_CHOICES
from vmtl.paper.methods import BUILT_IN, METHODS, UnknownMethodError, get_method, method_id
from vmtl.paper.presets import get_preset
from vmtl.paper.settings import Settings
from vmtl.paper.training.checkpoints import Checkpoint, fingerprint
from vmtl.paper.training.early_stopping import hold_out
from vmtl.paper.training.history import History
from vmtl.paper.training.run import Callbacks
from vmtl.paper.training.training import DivergenceError, Hook, Progress

if TYPE_CHECKING:
    import pandas as pd

    from vmtl.estimators.variational import VMTLClassifier, VMTLRegressor

    Estimator: TypeAlias = VMTLClassifier | VMTLRegressor

#: Parameters that are settings of the same name; None leaves the value of the preset.
OPTIONS = (
    "encoder",
    "latent_dim",
    "sharing",
    "kl_form",
    "mixing",
    "tie_mixing",
    "bayesian_z",
    "bayesian_w",
    "n_z",
    "n_w",
    "max_steps",
    "batch_rows",
    "predictive",
)
#: Random numbers that a model may keep for its predictions.
MAX_DRAWS = 2**27


def settings_of(estimator: Estimator) -> Settings:
    """The preset of an estimator with every option that is not None."""
    settings = get_preset(estimator.preset, get_method(estimator.method).head)
    options = {name: getattr(estimator, name) for name in OPTIONS}
    rate: Any = estimator.learning_rate
    if rate is not None:
        if not isinstance(rate, Real) or not float(rate) > 0:
            raise ValueError(f"learning_rate must be positive; got {rate!r}.")
        name, _, *rest = settings.learning_rate
        options["learning_rate"] = (name, float(rate), *rest)
    return settings.with_options(**options, predict_z=estimator.n_z, predict_w=estimator.n_w)


def check_variational(estimator: Estimator) -> None:
    """Parameters that only these estimators have."""
    settings_of(estimator)
    check_choice("dtype", estimator.dtype, tuple(DTYPES))
    check_device(estimator.device)


@dataclass(frozen=True)
class VariationalFit:
    """How the rows of an estimator are fitted: with a checkpoint, a callback and a progress bar."""

    estimator: Estimator
    checkpoint: str | Path | None
    callback: Callable[[Progress], None] | None

    def run(self, job: FitJob) -> tuple[FittedVMTL, int]:
        """The fitted model and the seed it came from, which an interrupted run's checkpoint may have chosen."""
        method, settings = get_method(self.estimator.method), settings_of(self.estimator)
        keeper = self._keeper(job, settings)
        try:
            with keeper or nullcontext():
                seed = job.seed if keeper is None else keeper.seed
                rows, held_out = hold_out(job.rows, seed) if self.estimator.early_stopping else (job.rows, None)
                callbacks = Callbacks(None if keeper is None else keeper.resume, self._hooks(job, keeper))
                fitted = fit(method, settings, rows, seed, held_out=held_out, callbacks=callbacks)
        except DivergenceError as error:
            task = None if error.task is None else repr(job.tasks[error.task])
            raise DivergenceError(error.step, error.term, error.task, task) from None
        self.estimator.method_, self.estimator.settings_ = method, settings
        return fitted, seed

    def _keeper(self, job: FitJob, settings: Settings) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        facts = {
            **settings.to_json(),
            "method": asdict(get_method(self.estimator.method)),
            "estimator": type(self.estimator).__name__,
            "dtype": self.estimator.dtype,
            "early_stopping": bool(self.estimator.early_stopping),
        }
        run = fingerprint(facts, _arrays(job.rows))
        return Checkpoint(self.checkpoint, run, job.seed, free_seed=self.estimator.random_state is None)

    def _hooks(self, job: FitJob, keeper: Checkpoint | None) -> list[Hook]:
        hooks: list[Hook] = [] if keeper is None else [keeper]
        callback = self.callback
        if callback is not None:
            hooks.append(lambda trainer, progress: callback(progress))
        hooks.append(lambda trainer, progress: job.show(_terms(progress), progress.step, progress.total, "Training"))
        return hooks


def _arrays(rows: Rows) -> list[Array]:
    """What identifies training rows."""
    return [tensor.cpu().numpy() for tensor in (rows.x, rows.y, rows.task, rows.weight)]


def _terms(progress: Progress) -> str:
    """The terms of the objective at a step, for the progress bar."""
    return f"loss {progress.loss:.3f}  kl_z {progress.kl_z:.3g}  kl_w {progress.kl_w:.3g}"


def history_table(history: History, tasks: Array) -> pd.DataFrame:
    """Every term of the objective, one row per recorded step and task."""
    import pandas as pd

    n_tasks = len(tasks)
    numbers = {name: np.repeat(values, n_tasks) for name, values in history.numbers().items()}
    terms = {name: torch.stack(getattr(history, name)).cpu().numpy().ravel() for name in history.TERMS}
    names = np.tile(tasks, len(history.step))
    return pd.DataFrame({"step": numbers.pop("step"), "task": names, **terms, **numbers})


def facts_of_method(estimator: Estimator) -> dict[str, object]:
    """What a model file says of the method of an estimator."""
    name = method_id(estimator.method)
    facts: dict[str, object] = {"method": name, "settings": estimator.settings_.to_json()}
    if name not in BUILT_IN:  # another program may know another method by this id
        facts["method_choices"] = {choice: getattr(estimator.method_, choice) for choice in MODEL_CHOICES}
    return facts


def load_variational(estimator: Estimator, document: Document, tensors: dict[str, Tensor], path: str) -> FittedVMTL:
    """The fitted model of a file; ``method_`` and ``settings_`` are kept by the estimator."""
    name = document["method"]
    if not isinstance(name, str):
        raise ValueError("the method has no name")
    try:
        method = get_method(name)
    except UnknownMethodError:
        raise ModelFileError(
            f"{path} was fitted by the method {name[:80]!r}, which is not registered here; install the package that "
            f"declares it, or call vmtl.register_method({name[:80]!r}, ...) before you load the file."
        ) from None
    _check_declaration(name, document.get("method_choices"), path)
    settings = Settings.from_json(document["settings"])
    estimator.method_, estimator.settings_ = method, settings
    fitted = FittedVMTL.from_file(
        document["fitted"], tensors, is_classification=estimator._is_classifier, method=method, settings=settings
    )
    draws = settings.predict_z * (settings.predict_w * estimator._encoder.n_classes + settings.latent_dim)
    if draws > MAX_DRAWS:
        raise ValueError(f"{draws} random numbers per prediction")
    return fitted


def _check_declaration(name: str, declared: object, path: str) -> None:
    """A method from outside that has the id of the file's is also declared as the file's was."""
    if name in BUILT_IN or not isinstance(declared, dict):
        return
    for choice in MODEL_CHOICES:
        there, here = declared.get(choice), getattr(METHODS[name], choice)
        if choice in declared and there != here:
            raise ModelFileError(
                f"{path} was fitted by another method {name!r} than the one that is registered here: its {choice} is "
                f"{repr(there)[:80]}, not {here!r}; register the file's method with "
                f"vmtl.register_method({name!r}, ..., replace=True) before you load it."
            )
