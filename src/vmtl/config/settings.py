"""Every number and choice of a fit, as plain data: what a preset is and what a model file keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from vmtl.config.choices import FORMS, EncoderName, Form, Mode, Predictive, PriorGradient
from vmtl.config.schedules import SCHEDULES, Schedule


@dataclass(frozen=True)
class Settings:
    """How a method is trained and read. Schedules are ``(name, *numbers)``, see ``vmtl.config.schedules``."""

    # model
    encoder: EncoderName = "kernel"
    latent_dim: int = 512
    hidden_dim: int = 512
    dropout: float = 0.0
    scale_input: bool = True
    select: bool = True  # kernel shares, task correlation and scales from the training rows
    relatedness: Literal["evidence", "uniform"] = "evidence"  # where the mixing weights start
    logit_scale: float | None = None  # None: selected
    initial_w_scale: float = 0.1
    # priors
    sharing: float | None = None  # None: inferred per task
    kl_form: Form = "bound"
    mixing: Mode = "gumbel"
    tie_mixing: bool = False  # beta is alpha
    prior_gradient_w: PriorGradient = "detached"
    prior_gradient_z: PriorGradient = "both"
    entropy_weight: float = 1.0
    bayesian_z: bool = True
    bayesian_w: bool = True
    # objective
    estimator: Literal["sampled", "moment"] = "moment"
    n_z: int = 2  # draws of z; the moment estimator integrates z and needs none
    n_w: int = 4  # draws of the logits given z, or given their moments
    tau: Schedule = ("linear", 1.0, 0.5, 1.0)
    kl_scale_w: Schedule = ("constant", 1.0)
    kl_scale_z: Schedule = ("constant", 1e-4)
    task_weight: Literal["tasks", "rows"] = "rows"
    all_classes: bool = True
    # optimisation
    max_steps: int = 150
    learning_rate: Schedule = ("cosine", 0.1, 0.02)
    network_rate: float = 0.04  # learning rates of single groups, as a multiple of the schedule
    mixing_rate: float = 0.6
    scale_rate: float = 0.6
    adam_betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    decay_everything: bool = False
    batch_rows: int = 0  # rows per class and task (ten times as many per task in regression); 0 is all
    # prediction
    predictive: Predictive = "moment"
    predict_z: int = 10
    predict_w: int = 10

    def __post_init__(self) -> None:
        if self.sharing is not None:
            _between("sharing", self.sharing, 0, 1)
        _between("dropout", self.dropout, 0, 0.999)
        for name in ("latent_dim", "hidden_dim", "n_z", "n_w", "max_steps", "predict_z", "predict_w"):
            value = getattr(self, name)
            if int(value) != value or value < 1:
                raise ValueError(f"{name} must be a positive integer; got {value!r}.")
        if int(self.batch_rows) != self.batch_rows or self.batch_rows < 0:
            raise ValueError(f"batch_rows must be a positive integer, or 0 for all rows; got {self.batch_rows!r}.")
        for name in ("logit_scale", "initial_w_scale"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)!r}.")
        for name in ("entropy_weight", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative; got {getattr(self, name)!r}.")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                names = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} must be one of {names}; got {getattr(self, name)!r}.")
        for name in ("tau", "kl_scale_w", "kl_scale_z", "learning_rate"):
            if getattr(self, name)[0] not in SCHEDULES:
                raise ValueError(f"{name} must be a schedule, one of {', '.join(SCHEDULES)}.")

    def with_options(self, **options: Any) -> Settings:
        """These settings with every option that is not None."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
        return cls(**values)


_CHOICES: dict[str, tuple[str, ...]] = {
    "encoder": ("kernel", "linear", "noisy-linear", "mlp"),
    "kl_form": FORMS,
    "mixing": ("gumbel", "learnable", "mean"),
    "prior_gradient_w": ("detached", "both"),
    "prior_gradient_z": ("detached", "both"),
    "relatedness": ("evidence", "uniform"),
    "estimator": ("sampled", "moment"),
    "task_weight": ("tasks", "rows"),
    "predictive": ("monte-carlo", "moment", "mean"),
}


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}; got {value!r}.")
