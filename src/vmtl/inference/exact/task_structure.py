"""Step 2 of the exact way: who learns from whom, how strongly, and how large the weights are.

Later steps see the result only: B, alpha, the strengths r and v, and the scale of the outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.exact.evidence import ALIKE, similarity_covariance
from vmtl.inference.exact.kernel_selection import KernelSelection
from vmtl.inference.exact.strength import choose_strength
from vmtl.inference.exact.task_similarity import Relatedness, similarity_of
from vmtl.model.mixing import TaskStructure

#: Mixing weights are the positive similarities to this power, so that weak ones vanish.
POWER = 4
#: A task whose correlation with its helpers falls below this part of the usual one opts out of sharing.
OPT_OUT = 0.5


@dataclass(frozen=True)
class WeightPrior:
    """The prior of all tasks' weights: cov(w_t, w_t') = scale^2 B_tt' I, in units of the kernel."""

    structure: TaskStructure
    correlation: float  # rho
    scale: float  # s0


def infer_structure(rows: Rows, kernel: KernelSelection, relatedness: Relatedness, seed: int) -> WeightPrior:
    """The structure of the tasks of the feature rows.

    In a regression the kernel's rho and s0 stand. A classifier chooses both once more: least squares finds the
    kernel, but not how sure a classifier may be, nor did it know who resembles whom.
    """
    similarity = similarity_of(rows, relatedness, seed)
    correlation, scale = kernel.correlation, kernel.scale
    if rows.is_classification:
        correlation, scale = choose_strength(rows, kernel, lambda rho: structure_of(similarity, rho).covariance, seed)
    return WeightPrior(structure_of(similarity, correlation), correlation, scale)


def structure_of(similarity: Tensor, correlation: float) -> TaskStructure:
    """Mixing weights alpha = S_+^4, normalised, and the law of w_t given its helpers.

    r_t = N rho_t / (1 + (N - 1) rho_t),    v_t = 1 - r_t rho_t,    B_ti = sqrt(rho_t rho_i) S_ti

    where S = ``similarity`` (T, T), N = 1 / sum_i alpha_ti^2 the number of helpers, rho_t = ``correlation`` as far as
    task t takes part (``_participation``). A task that resembles nobody has r = 0 and v = 1, the prior N(0, I). All
    tasks alike give B = (1 - rho) I + rho 11', of which r and v are exactly the conditional.
    """
    others = ~torch.eye(len(similarity), dtype=torch.bool)
    powered = torch.where(others, similarity.clamp_min(0) ** POWER + 1e-4, 0.0)
    alpha = powered / powered.sum(-1, keepdim=True).clamp_min(1e-12)
    rho = correlation * _participation(similarity, alpha)  # (T,)
    helpers = 1 / alpha.square().sum(-1).clamp_min(1e-12)
    sharing = torch.where(alpha.any(-1), helpers * rho / (1 + (helpers - 1) * rho), 0.0)
    covariance = torch.where(others, similarity * rho.sqrt() * rho.sqrt()[:, None], 1.0)
    return TaskStructure(alpha, sharing, (1 - sharing * rho).clamp_min(1e-3), covariance)


def _participation(similarity: Tensor, alpha: Tensor) -> Tensor:
    """(T,) from 0 to 1, min(1, kappa_t / OPT_OUT)^4.

    kappa_t is the correlation of task t with its helpers u_t = sum_i alpha_ti w_i, relative to that of tasks that are
    all alike.
    """
    b = similarity_covariance(similarity)
    spread = torch.einsum("ti,ij,tj->t", alpha, b, alpha).clamp_min(1e-12)
    usual = ALIKE / math.sqrt(ALIKE + (1 - ALIKE) / max(1, len(alpha) - 1))
    kappa = (alpha * b).sum(-1) / spread.sqrt() / usual
    return (kappa / OPT_OUT).clamp(0, 1) ** POWER
