"""From the losses of the tasks to one scalar: the outer sum of Eq. 11.

loss = sum_t share_t loss_t

where
    loss_t = ``losses`` (T,), of ``vmtl.paper.objective``
    share_t = ``share`` (T,): tasks alike, by their rows (Eq. 11), or whole

Learned weights (Kendall et al., 2018) are the baselines', not the paper's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class EqualWeighting(nn.Module):
    """sum_t share_t loss_t; the shares come from the objective (tasks alike, or by their rows)."""

    def __init__(self, n_tasks: int) -> None:
        super().__init__()

    def forward(self, losses: Tensor, share: Tensor) -> Tensor:
        return (share * losses).sum()


class UncertaintyWeighting(nn.Module):
    """Homoscedastic uncertainty (Kendall et al., 2018): sum_t share_t [ exp(-s_t) loss_t + s_t / 2 ].

    where s_t = log sigma_t^2, learned, (T,). This is their classification form, in which a softmax with
    temperature sigma^2 is approximated; their regression form is the Gaussian likelihood with learned
    noise per task, so in regression the likelihood does this and the model weighs tasks equally.
    """

    def __init__(self, n_tasks: int) -> None:
        super().__init__()
        self.log_variance = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses: Tensor, share: Tensor) -> Tensor:
        return (share * ((-self.log_variance).exp() * losses + 0.5 * self.log_variance)).sum()


WEIGHTINGS: dict[str, type[EqualWeighting] | type[UncertaintyWeighting]] = {
    "equal": EqualWeighting,
    "uncertainty": UncertaintyWeighting,
}
