"""Step 5 of the exact way: how sure each weight is, in closed form."""

from __future__ import annotations

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.inference.exact.output_prior import OutputPrior

#: Rows that are looked at together.
PART_ROWS = 20_000


def weight_widths(rows: Rows, curvature: Tensor, prior: OutputPrior) -> Tensor:
    """Posterior deviations of the weights of [z; 1] in units of the scale s, one feature at a time: (T, K + 1).

    Features that are principal components hardly correlate, so each has a posterior of its own across the tasks. With
    w_t = u + e_t, var u = rho, var e_t = 1 - rho, and what the rows of task t tell, d_t = s^2 sum_n h_n z_n^2:

        var u = 1 / (1 / rho + sum_t d_t / (1 + (1 - rho) d_t)),    var w_t = c_t + (c_t / (1 - rho))^2 var u

    where c_t = 1 / (1 / (1 - rho) + d_t), h = ``curvature`` (n,) of the rows' likelihood, rho = the mean correlation of
    B: tasks count as alike. The level has the prior variance (A^2 + tau^2) / s^2, of which A^2 is shared.
    """
    told = torch.zeros(rows.n_tasks, rows.x.shape[1] + 1, dtype=torch.float64)  # (T, K + 1)
    task, x = rows.task.cpu(), rows.x.cpu()
    for part in torch.arange(len(task)).split(PART_ROWS):
        h = curvature[part, None]
        told[:, :-1].index_add_(0, task[part], h * x[part].double().square())
        told[:, -1:].index_add_(0, task[part], h)
    told *= prior.scale**2  # d
    rho = prior.covariance.correlation
    shared, own = torch.full_like(told[0], rho), torch.full_like(told[0], 1 - rho)
    shared[-1], own[-1] = (prior.shared_level / prior.scale) ** 2, (prior.task_level / prior.scale) ** 2
    shared, own = shared.clamp_min(1e-9), own.clamp_min(1e-9)
    variance_u = 1 / (1 / shared + (told / (1 + own * told)).sum(0))
    alone = 1 / (1 / own + told)  # c
    return (alone + (alone / own).square() * variance_u).sqrt()
