"""Step 3 of the exact way: the posterior of all tasks' weights, given the features and the structure of the tasks.

The weights are jointly Gaussian with covariance B across tasks. A Gaussian likelihood has its posterior mean in closed
form, a softmax its mode after some iterations (``vmtl.inference.exact.laplace``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl._utils.cholesky import cholesky
from vmtl.data.rows import Rows
from vmtl.inference.exact.laplace import posterior_mode


@dataclass(frozen=True)
class Dual:
    """The rows of positive weight, with the kernel of their outputs: K = scale^2 B . (x x' + 1)."""

    x: Tensor  # (n, K + 1), the last column 1
    y: Tensor  # (n,)
    task: Tensor  # (n,)
    weight: Tensor  # (n,)
    kernel: Tensor  # (n, n)
    covariance: Tensor  # (T, T) B
    scale: float

    @classmethod
    def of(cls, rows: Rows, covariance: Tensor, scale: float) -> Dual:
        counted = rows.weight.cpu() > 0
        x = torch.cat([rows.x.double().cpu(), torch.ones(len(rows.y), 1, dtype=torch.float64)], 1)[counted]
        task = rows.task.cpu()[counted]
        kernel = scale**2 * covariance[task][:, task] * (x @ x.T)
        return cls(x, rows.y.cpu()[counted], task, rows.weight.double().cpu()[counted], kernel, covariance, scale)

    def weights(self, solution: Tensor) -> Tensor:
        """w_tc = scale sum_n B_{t, t_n} [x_n; 1] a_nc of the dual solution a (n, C): (T, C, K + 1)."""
        shape = (len(self.covariance), solution.shape[1], self.x.shape[1])
        total = torch.zeros(shape, dtype=torch.float64)
        for t in self.task.unique().tolist():
            members = self.task == t
            total[t] = solution[members].T @ self.x[members]
        weights: Tensor = self.scale * torch.tensordot(self.covariance, total, 1)
        return weights


@dataclass(frozen=True)
class Solution:
    """What the exact model says of the weights."""

    means: Tensor  # (T, C, K + 1) posterior means of a regression, the mode of a classifier
    residuals: Tensor | None  # (n,) leave-one-out errors of a regression, 0 for rows of weight 0


def solve_regression(rows: Rows, covariance: Tensor, scale: float, noise: float) -> Solution:
    """E[w | rows] of y = scale w_t . [x; 1] + N(0, noise^2 / weight), cov(w_t, w_t') = B_tt' I.

    a = A^-1 y,    A = K + noise^2 / weight,    leave-one-out error of row n = a_n / (A^-1)_nn

    where B = ``covariance`` (T, T), a = the dual solution (n,), K = the kernel of the outputs (n, n).
    """
    dual = Dual.of(rows, covariance, scale)
    inverse = torch.cholesky_inverse(cholesky(dual.kernel + torch.diag(noise**2 / dual.weight)))
    solution = inverse @ dual.y.double()
    residuals = torch.zeros(len(rows.y), dtype=torch.float64)
    residuals[rows.weight.cpu() > 0] = solution / inverse.diagonal()
    return Solution(dual.weights(solution[:, None]), residuals)


def solve_classifier(rows: Rows, covariance: Tensor, scale: float) -> Solution:
    """argmax_w p(w | rows) of y ~ softmax(scale w_t . [x; 1]), cov(w_t, w_t') = B_tt' I.

    The dual solution is a = K^-1 f, f the logits at the mode.
    """
    dual = Dual.of(rows, covariance, scale)
    return Solution(dual.weights(posterior_mode(dual.kernel, dual.y, rows.n_classes, dual.weight)[1]), None)
