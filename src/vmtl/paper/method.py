"""A method is a row of independent choices; ``methods/`` holds one declaration per file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from vmtl.paper.priors import W_PRIORS, Z_PRIORS
from vmtl.paper.task_weighting import WEIGHTINGS


@dataclass(frozen=True)
class Method:
    """The parts of a method; how it is trained is a matter of ``Settings``.

    A meaningless combination, such as a KL prior on a point posterior, is a ``ValueError``.

    Parameters
    ----------
    name : str
        The name in tables and figures.
    summary : str
        One line of description.
    reference : str
        The publication.
    encoder : {"shared", "per task", "fixed"}, default="shared"
        One encoder for all tasks, one for each, or none: z = x.
    q_z : {"delta", "gaussian"}, default="delta"
        Posterior of the representation z of a row.
    q_w : {"delta", "gaussian"}, default="delta"
        Posterior of the classifier or regressor w of a task.
    prior_z : {None, "standard_normal", "gumbel_mixture", "bottleneck"}, default=None
        Prior of z; a Gaussian q_z needs one, a delta has none.
    prior_w : {None, "standard_normal", "gumbel_mixture", "learned_gaussian", "tensor_normal"}, default=None
        Prior of w; a Gaussian q_w needs one. "standard_normal" suits both posteriors (ridge, for a delta),
        "tensor_normal" a delta, the others a Gaussian.
    head : {"direct", "amortised"}, default="direct"
        Whether w has parameters of its own, or is inferred from class means (VMTL-AC).
    shared_head : bool, default=False
        One classifier for all tasks.
    weighting : {"equal", "uncertainty"}, default="equal"
        How the tasks' losses are summed: by the objective's shares, or by learned uncertainty (Kendall et al.).
    shared_noise : bool, default=False
        Regression with one noise for all tasks, a plain sum of squared errors.
    """

    name: str
    summary: str
    reference: str
    encoder: Literal["shared", "per task", "fixed"] = "shared"
    q_z: Literal["delta", "gaussian"] = "delta"
    q_w: Literal["delta", "gaussian"] = "delta"
    prior_z: str | None = None
    prior_w: str | None = None
    head: Literal["direct", "amortised"] = "direct"
    shared_head: bool = False
    weighting: str = "equal"
    shared_noise: bool = False

    def __post_init__(self) -> None:
        self._check_names()
        if self.q_z == "delta" and self.prior_z is not None:
            raise ValueError(f"{self.name}: prior_z={self.prior_z!r} is a KL and needs q_z='gaussian'; q_z is 'delta'.")
        if self.q_z == "gaussian" and self.prior_z is None:
            raise ValueError(f"{self.name}: q_z='gaussian' needs a prior_z, one of {', '.join(Z_PRIORS)}.")
        if self.q_w == "gaussian" and self.prior_w is None:
            raise ValueError(f"{self.name}: q_w='gaussian' needs a prior_w, one of {', '.join(W_PRIORS)}.")
        if self.prior_w is not None and self.q_w not in W_PRIORS[self.prior_w].posteriors:
            needed = W_PRIORS[self.prior_w].posteriors[0]
            raise ValueError(f"{self.name}: prior_w={self.prior_w!r} needs q_w={needed!r}; q_w is {self.q_w!r}.")
        if self.encoder == "fixed" and self.q_z == "gaussian":
            raise ValueError(f"{self.name}: features as they are have no width; q_z must be 'delta'.")
        if self.encoder == "per task" and (self.mixes_z or self.mixes_w):
            raise ValueError(f"{self.name}: a mixture of other tasks needs one shared encoder, not one per task.")
        if self.shared_head and self.prior_w not in (None, "standard_normal"):
            raise ValueError(f"{self.name}: one classifier for all tasks has no other tasks to take a prior from.")
        if self.shared_head and self.head == "amortised":
            raise ValueError(f"{self.name}: an amortised head infers one classifier per task; set shared_head=False.")

    def _check_names(self) -> None:
        choices: tuple[tuple[str, object, tuple[object, ...]], ...] = (
            ("encoder", self.encoder, ("shared", "per task", "fixed")),
            ("q_z", self.q_z, ("delta", "gaussian")),
            ("q_w", self.q_w, ("delta", "gaussian")),
            ("prior_z", self.prior_z, (None, *Z_PRIORS)),
            ("prior_w", self.prior_w, (None, *W_PRIORS)),
            ("head", self.head, ("direct", "amortised")),
            ("weighting", self.weighting, tuple(WEIGHTINGS)),
        )
        for field, value, allowed in choices:
            if value not in allowed:
                names = ", ".join(map(repr, allowed))
                raise ValueError(f"{self.name}: {field} must be one of {names}; got {value!r}.")

    @property
    def mixes(self) -> bool:
        """Whether the method learns mixing weights."""
        return self.mixes_z or self.mixes_w

    @property
    def mixes_z(self) -> bool:
        """Whether there are mixing weights beta."""
        return self.prior_z is not None and Z_PRIORS[self.prior_z].mixes

    @property
    def mixes_w(self) -> bool:
        """Whether there are mixing weights alpha."""
        return self.prior_w is not None and W_PRIORS[self.prior_w].mixes


#: The fields that decide what a model computes; the others describe it.
MODEL_CHOICES = tuple(field.name for field in fields(Method) if field.name not in ("name", "summary", "reference"))
