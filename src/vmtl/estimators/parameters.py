"""What both estimators are constructed with: stored by ``__init__``, checked by ``fit``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Literal

import numpy as np
import torch

from vmtl._utils.threads import check_device, check_threads
from vmtl.config.choices import EncoderName, KLForm, MixingMode, Predictive
from vmtl.config.presets import get_preset
from vmtl.config.settings import Settings
from vmtl.methods import get_method
from vmtl.model.method import Method

DTYPES = {"float32": torch.float32, "float64": torch.float64}
#: Parameters that are settings of the same name; None leaves the preset's value.
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
#: What the parameters that are no settings may be; ``Settings`` checks the others.
CHOICES: dict[str, tuple[str, ...]] = {
    "unknown_task": ("error", "average", "similar"),
    "missing": ("error", "impute"),
    "dtype": tuple(DTYPES),
}


@dataclass(eq=False, repr=False)
class Parameters:
    """The one constructor of both estimators; each of them describes every parameter."""

    method: str | Method = "vmtl"
    preset: str = "default"
    _: KW_ONLY
    encoder: EncoderName | None = None
    latent_dim: int | None = None
    sharing: float | None = None
    kl_form: KLForm | None = None
    mixing: MixingMode | None = None
    tie_mixing: bool | None = None
    bayesian_z: bool | None = None
    bayesian_w: bool | None = None
    n_z: int | None = None
    n_w: int | None = None
    max_steps: int | None = None
    learning_rate: float | None = None
    batch_rows: int | None = None
    predictive: Predictive | None = None
    task_column: Hashable | None = None
    unknown_task: Literal["error", "average", "similar"] = "error"
    missing: Literal["error", "impute"] = "error"
    early_stopping: bool = False
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"
    n_threads: int | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None

    @property
    def _options(self) -> tuple[str, ...]:
        """Names of all parameters that are settings."""
        return OPTIONS

    def settings(self) -> Settings:
        """The preset with every option that is not None."""
        head = get_method(self.method).head
        settings = get_preset(self.preset, head)
        options = {name: getattr(self, name) for name in self._options}
        if self.learning_rate is not None:
            if not isinstance(self.learning_rate, Real) or not float(self.learning_rate) > 0:
                raise ValueError(f"learning_rate must be positive; got {self.learning_rate!r}.")
            name, _, *rest = settings.learning_rate
            options["learning_rate"] = (name, float(self.learning_rate), *rest)
        return settings.with_options(**options, predict_z=self.n_z, predict_w=self.n_w)

    def _check_parameters(self) -> None:
        """Everything that ``settings`` does not check."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")
        check_threads(self.n_threads)
        check_device(self.device)
        if not isinstance(self.task_column, Hashable):
            raise ValueError(f"task_column must be the name of a column; got {self.task_column!r}.")
