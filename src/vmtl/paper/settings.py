"""Every number and choice of a fit, as plain data: what a preset is and what a model file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args

from vmtl.paper.choices import (
    AttentionScale,
    EncoderName,
    InitialRelatedness,
    KLForm,
    LossEstimator,
    MixingMode,
    Predictive,
    PriorGradient,
    TaskWeight,
    WidthLink,
)
from vmtl.paper.schedules import SCHEDULES, Schedule


@dataclass(frozen=True)
class Settings:
    """How a method is trained, and how it predicts.

    Schedules are ``(name, *numbers)``, see ``vmtl.paper.schedules``. docs/presets.md lists the values of every preset.

    Parameters
    ----------
    encoder : {"kernel", "linear", "noisy-linear", "mlp", "noisy-mlp"}, default="kernel"
        What makes q(z | x). An amortised head is a network of the same kind as "mlp" or "noisy-mlp".
    latent_dim : int, default=512
        K, the size of z; with the kernel encoder the largest that it may be.
    hidden_dim : int, default=512
        Width of the layers of the mlp encoder and of the amortised head.
    dropout, head_dropout : float, default=0.0
        Probability that an input of the encoder, and of the amortised head, is left out of a training step.
    scale_input : bool, default=True
        Centre the columns and divide by the root mean square norm of the rows; the kernel encoder scales by itself.
    select : bool, default=True
        Choose kernel shares, task correlation and scales from the training rows.
    relatedness : {"evidence", "uniform"}, default="evidence"
        Whether who learns from whom is inferred from the training rows, or begins even.
    forest : bool, default=True
        Whether a random forest has a say in a classification of small tables, as much as left-out rows give it; where
        the posterior is solved and the prior of w is mixed.
    logit_scale : float, optional
        s0 in logits = s0 w . [z; 1]; selected if None.
    initial_w_scale, initial_w_deviation : float, default=0.1, 0.01
        Where the scale of q(w) starts, and the deviation of its means at the start.
    width_link : {"exp", "softplus"}, default="exp"
        What makes the scale of q(w) positive.
    bias : bool, default=True
        Whether outputs have a bias.
    ridge : bool, default=True
        Whether points of w have the prior N(0, I) as well.
    sharing : float in [0, 1], optional
        r, how strongly the prior of w follows the other tasks: 1 is the paper, 0 is N(0, I), None infers it per task.
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default="bound"
        How the KL to a mixture is computed.
    mixing : {"gumbel", "learnable", "mean"}, default="gumbel"
        Mixing weights by the Gumbel-Softmax, by a softmax without noise, or even. Where they are inferred from the
        rows: averaged over all structures of the tasks, those of the most probable structure, or even.
    tie_mixing : bool, default=False
        One set of mixing weights for w and z; where beta is trained on its own it prefers tasks with many rows.
    prior_gradient_w, prior_gradient_z : {"detached", "both"}, default="detached", "both"
        Whether the mixture priors also move the tasks that they are mixed from.
    prior_dropout : bool, default=False
        Dropout also where other tasks' rows are encoded for the prior of z; that prior must be detached.
    attention_scale : {"root", "range"}, default="root"
        What attention logits are divided by: the root of the number of features, or their range in a row.
    bias_slip : bool, default=False
        The prior of a bias as a slip of the authors' VMTL-AC has it: mean sum alpha var, variance sum alpha^2.
    entropy_weight : float, default=1.0
        Weight of the term that keeps the mixing weights near their start.
    bayesian_z, bayesian_w : bool, default=True
        False makes a Gaussian posterior of the method a point.
    estimator : {"sampled", "moment"}, default="moment"
        Whether the expected loss is taken over draws of z and w, or of logits with z integrated out.
    n_z, n_w : int, default=2, 4
        L and M of training: draws of z, which the moment estimator does not need, and of the logits given z.
    tau : schedule
        Temperature of the Gumbel-Softmax.
    kl_scale_w, kl_scale_z : schedule
        Multipliers of the two KL terms; other than 1 is tempering.
    divide_kl_w : bool, default=True
        Whether KL_w is divided by the rows of its task, as in the lower bound per row, or added whole.
    task_weight : {"tasks", "rows", "sum"}, default="rows"
        Whether tasks count alike in the objective, by their rows, or whole: their losses are added.
    all_classes : bool, default=True
        Cross-entropy over all classes; False leaves out those that a task never saw.
    refine : bool, default=False
        Whether gradient steps follow where the posterior means are known without them. Any option of training asks for
        it: ``kl_form``, ``n_z``, ``n_w``, ``max_steps``, ``learning_rate``, ``batch_rows``.
    max_steps : int, default=150
        Training steps.
    schedule_steps : int, optional
        Steps that the schedules are written for; a fit of fewer steps passes through them faster.
    learning_rate : schedule
        Learning rate of Adam.
    network_rate, mixing_rate, scale_rate, weighting_rate : float
        Learning rates of groups of parameters, as multiples of the schedule.
    adam_betas : tuple of two floats, default=(0.9, 0.99)
        How slowly Adam's averages of gradients and of their squares forget.
    weight_decay : float, default=0.0
        Weight decay of means and networks.
    decay_everything : bool, default=False
        Let scales and mixing logits decay as well.
    batch_rows : int, default=0
        Rows per class and task of a batch, ten times as many per task in regression; 0 takes all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default="moment"
        Whether a prediction averages over draws, uses the moments of the logits, or only posterior means.
    predict_z, predict_w : int, default=10
        L and M of Monte Carlo predictions.
    """

    # model
    encoder: EncoderName = "kernel"
    latent_dim: int = 512
    hidden_dim: int = 512
    dropout: float = 0.0
    head_dropout: float = 0.0
    scale_input: bool = True
    select: bool = True
    relatedness: InitialRelatedness = "evidence"
    forest: bool = True
    logit_scale: float | None = None
    initial_w_scale: float = 0.1
    initial_w_deviation: float = 0.01
    width_link: WidthLink = "exp"
    bias: bool = True
    # priors
    ridge: bool = True
    sharing: float | None = None
    kl_form: KLForm = "bound"
    mixing: MixingMode = "gumbel"
    tie_mixing: bool = False
    prior_gradient_w: PriorGradient = "detached"
    prior_gradient_z: PriorGradient = "both"
    prior_dropout: bool = False
    attention_scale: AttentionScale = "root"
    bias_slip: bool = False
    entropy_weight: float = 1.0
    bayesian_z: bool = True
    bayesian_w: bool = True
    # objective
    estimator: LossEstimator = "moment"
    n_z: int = 2
    n_w: int = 4
    tau: Schedule = ("linear", 1.0, 0.5, 1.0)
    kl_scale_w: Schedule = ("constant", 1.0)
    kl_scale_z: Schedule = ("constant", 1e-4)
    divide_kl_w: bool = True
    task_weight: TaskWeight = "rows"
    all_classes: bool = True
    # optimisation
    refine: bool = False
    max_steps: int = 150
    schedule_steps: int | None = None
    learning_rate: Schedule = ("cosine", 0.1, 0.02)
    network_rate: float = 0.04
    mixing_rate: float = 0.6
    scale_rate: float = 0.6
    weighting_rate: float = 0.6
    adam_betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    decay_everything: bool = False
    batch_rows: int = 0
    # prediction
    predictive: Predictive = "moment"
    predict_z: int = 10
    predict_w: int = 10

    def __post_init__(self) -> None:
        if self.sharing is not None:
            _between("sharing", self.sharing, 0, 1)
        for name in ("dropout", "head_dropout"):
            _between(name, getattr(self, name), 0, 0.999)
        for name in ("latent_dim", "hidden_dim", "n_z", "n_w", "max_steps", "predict_z", "predict_w"):
            value = getattr(self, name)
            if int(value) != value or value < 1:
                raise ValueError(f"{name} must be a positive integer; got {value!r}.")
        if int(self.batch_rows) != self.batch_rows or self.batch_rows < 0:
            raise ValueError(f"batch_rows must be a positive integer, or 0 for all rows; got {self.batch_rows!r}.")
        if self.prior_dropout and self.prior_gradient_z != "detached":
            raise ValueError("prior_dropout is for a detached prior of z; set prior_gradient_z='detached'.")
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
        """These settings with every option that is not None; options of training ask for training."""
        given = {name: value for name, value in options.items() if value is not None}
        if any(name in given for name in TRAINING_OPTIONS):
            given.setdefault("refine", True)
        return replace(self, **given)

    def to_json(self) -> dict[str, object]:
        """The settings as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings of ``to_json``; names that this version does not know are left out."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
        return cls(**values)


#: What only gradient steps depend on.
TRAINING_OPTIONS = ("kl_form", "n_z", "n_w", "max_steps", "learning_rate", "batch_rows")

_CHOICES: dict[str, tuple[str, ...]] = {
    "encoder": get_args(EncoderName),
    "width_link": get_args(WidthLink),
    "attention_scale": get_args(AttentionScale),
    "kl_form": get_args(KLForm),
    "mixing": get_args(MixingMode),
    "prior_gradient_w": get_args(PriorGradient),
    "prior_gradient_z": get_args(PriorGradient),
    "relatedness": get_args(InitialRelatedness),
    "estimator": get_args(LossEstimator),
    "task_weight": get_args(TaskWeight),
    "predictive": get_args(Predictive),
}


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}; got {value!r}.")
