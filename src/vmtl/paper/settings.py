"""Every number and choice of a fit, as plain data: what a preset is and what a model file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from vmtl.paper.choices import (
    AttentionScale,
    EncoderName,
    KLForm,
    MixingMode,
    Predictive,
    PriorGradient,
    TaskWeight,
    WidthLink,
)
from vmtl.paper.schedules import SCHEDULES, Schedule


@dataclass(frozen=True)
class Settings:
    """How a method is trained, and how it predicts. The defaults are the preset ``paper``.

    Schedules are ``(name, *numbers)``, see ``vmtl.paper.schedules``. docs/presets.md lists the values of every preset.

    Parameters
    ----------
    encoder : {"linear", "noisy-linear", "mlp", "noisy-mlp"}, default="mlp"
        The network q(z | x). An amortised head is a network of the same kind as "mlp" or "noisy-mlp".
    latent_dim : int, default=512
        K, the size of z.
    hidden_dim : int, default=512
        Width of the layers of the mlp encoders and of the amortised head.
    dropout, head_dropout : float, default=0.7
        Probability that an input of the encoder, and of the amortised head, is left out of a training step.
    initial_w_scale, initial_w_deviation : float, default=0.1, 0.01
        Initial standard deviation of q(w), and the standard deviation of its initial means.
    width_link : {"exp", "softplus"}, default="exp"
        What makes the standard deviations of q(w) positive.
    bias : bool, default=True
        Whether outputs have a bias.
    sharing : float in [0, 1], default=1.0
        r, how strongly the prior of w follows the other tasks: 1 is the paper, 0 is N(0, I).
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default="bound"
        How the KL to a mixture is computed.
    mixing : {"gumbel", "learnable", "mean"}, default="gumbel"
        Mixing weights by the Gumbel-Softmax, by a softmax without noise, or even.
    tie_mixing : bool, default=False
        One set of mixing weights for w and z.
    prior_gradient_w, prior_gradient_z : {"detached", "both"}, default="detached", "both"
        Whether gradients pass through the mixture priors to the tasks that they are mixed from.
    prior_dropout : bool, default=True
        Whether ``dropout`` also applies after the cross attention, where the other tasks' rows are encoded for the
        prior of z, as the paper's table of the network phi has it.
    attention_scale : {"root", "range"}, default="root"
        What attention logits are divided by: the root of the number of features, or their range in a row.
    bias_slip : bool, default=False
        The prior of a bias as a slip of the authors' VMTL-AC has it: mean sum alpha var, variance sum alpha^2.
    bayesian_z, bayesian_w : bool, default=True
        False makes a Gaussian posterior of the method a point.
    n_z, n_w : int, default=10
        L and M of training: draws of z, and of the logits given z.
    tau : schedule
        Temperature of the Gumbel-Softmax.
    kl_scale_w, kl_scale_z : schedule
        Weights of the two KL terms.
    divide_kl_w : bool, default=False
        Whether KL_w is divided by the rows of its task, as in the lower bound per row, or added whole.
    task_weight : {"tasks", "rows", "sum"}, default="tasks"
        Whether tasks count alike in the objective, by their rows (Eq. 11), or whole: their losses are added.
    max_steps : int, default=15000
        Training steps.
    schedule_steps : int, optional
        Steps that the schedules are written for; a fit of fewer steps passes through them faster.
    learning_rate : schedule
        Learning rate of Adam.
    mixing_rate, weighting_rate : float, default=10.0, 100.0
        Learning rates of the mixing weights and of learned task weights, as multiples of the schedule.
    weight_decay : float, default=0.0
        Weight decay of all parameters.
    batch_rows : int, default=4
        Rows per class and task of a batch, ten times as many per task in regression; 0 takes all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default="monte-carlo"
        Whether a prediction averages over draws, uses the moments of the logits, or only posterior means.
    predict_z, predict_w : int, default=10
        L and M of predictions.
    """

    # model
    encoder: EncoderName = "mlp"
    latent_dim: int = 512
    hidden_dim: int = 512
    dropout: float = 0.7
    head_dropout: float = 0.7
    initial_w_scale: float = 0.1
    initial_w_deviation: float = 0.01
    width_link: WidthLink = "exp"
    bias: bool = True
    # priors
    sharing: float = 1.0
    kl_form: KLForm = "bound"
    mixing: MixingMode = "gumbel"
    tie_mixing: bool = False
    prior_gradient_w: PriorGradient = "detached"
    prior_gradient_z: PriorGradient = "both"
    prior_dropout: bool = True
    attention_scale: AttentionScale = "root"
    bias_slip: bool = False
    bayesian_z: bool = True
    bayesian_w: bool = True
    # objective
    n_z: int = 10
    n_w: int = 10
    tau: Schedule = ("jang", 3e-5, 1000.0, 0.5)
    kl_scale_w: Schedule = ("linear", 0.0, 0.006, 1.0)
    kl_scale_z: Schedule = ("linear", 0.0, 1e-7, 1.0)
    divide_kl_w: bool = False
    task_weight: TaskWeight = "tasks"
    # optimisation
    max_steps: int = 15_000
    schedule_steps: int | None = 15_000
    learning_rate: Schedule = ("halving", 1e-4, 3000.0)
    mixing_rate: float = 10.0
    weighting_rate: float = 100.0
    weight_decay: float = 0.0
    batch_rows: int = 4
    # prediction
    predictive: Predictive = "monte-carlo"
    predict_z: int = 10
    predict_w: int = 10

    def __post_init__(self) -> None:
        self._check_numbers()
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                names = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} must be one of {names}; got {getattr(self, name)!r}.")
        for name in ("tau", "kl_scale_w", "kl_scale_z", "learning_rate"):
            if getattr(self, name)[0] not in SCHEDULES:
                raise ValueError(f"{name} must be a schedule, one of {', '.join(SCHEDULES)}.")

    def _check_numbers(self) -> None:
        _between("sharing", self.sharing, 0, 1)
        for name in ("dropout", "head_dropout"):
            _between(name, getattr(self, name), 0, 0.999)
        for name in ("latent_dim", "hidden_dim", "n_z", "n_w", "max_steps", "predict_z", "predict_w"):
            value = getattr(self, name)
            if int(value) != value or value < 1:
                raise ValueError(f"{name} must be a positive integer; got {value!r}.")
        if int(self.batch_rows) != self.batch_rows or self.batch_rows < 0:
            raise ValueError(f"batch_rows must be a positive integer, or 0 for all rows; got {self.batch_rows!r}.")
        if not self.initial_w_scale > 0:
            raise ValueError(f"initial_w_scale must be positive; got {self.initial_w_scale!r}.")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay must not be negative; got {self.weight_decay!r}.")

    def with_options(self, **options: Any) -> Settings:
        """These settings with every option that is not None."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})

    def to_json(self) -> dict[str, object]:
        """The settings as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings of ``to_json``; a name that is no setting is an error."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**values)


_CHOICES: dict[str, tuple[str, ...]] = {
    "encoder": get_args(EncoderName),
    "width_link": get_args(WidthLink),
    "attention_scale": get_args(AttentionScale),
    "kl_form": get_args(KLForm),
    "mixing": get_args(MixingMode),
    "prior_gradient_w": get_args(PriorGradient),
    "prior_gradient_z": get_args(PriorGradient),
    "task_weight": get_args(TaskWeight),
    "predictive": get_args(Predictive),
}


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}; got {value!r}.")
