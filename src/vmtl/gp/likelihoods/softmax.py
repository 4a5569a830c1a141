"""Class labels: the posterior mode of all rows and of every fold, from one factorisation.

    y_n ~ softmax(f_n),    f_c ~ N(0, K) for every class

The mode of all rows and those without each fold are one minimisation: they share the kernel, and so the factor that
preconditions them, and differ in which rows have weight.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl._utils.minimise import minimise_smooth
from vmtl.data.folds import stratified_folds
from vmtl.data.rows import Rows
from vmtl.gp.latent_prior import Gram, LatentPrior
from vmtl.gp.likelihoods.base import Evaluation

#: Folds of held-out rows. Few rows are divided several times, up to the last number, until that makes this many.
N_FOLDS, SCORED_ROWS, MOST_DIVISIONS = 5, 400, 5
#: A typical curvature p (1 - p), by which the search for the mode is preconditioned.
CURVATURE = 0.02
#: Iterations at most, and the change of the loss in nats, per row and set of rows, below which they end.
ITERATIONS, LEAST_CHANGE = 100, 1e-5


class SoftmaxLikelihood:
    """The labels of feature rows.

    Of two classes only the difference d = f_1 - f_0 ~ N(0, 2 K) matters, so that they have one latent output. The
    cross-entropy of a row runs over the classes that its task has training rows of: with more than two classes, a class
    that a task lacks is learned from the tasks that have it.

    Parameters
    ----------
    gram : Gram
        The rows.
    seed : int
        Of the folds.
    """

    def __init__(self, gram: Gram, seed: int) -> None:
        rows, n = gram.rows, len(gram.rows.y)
        self.gram, self.n_classes = gram, rows.n_classes
        divisions = max(1, min(MOST_DIVISIONS, SCORED_ROWS // n))
        folds = [stratified_folds(rows.task, rows.y, N_FOLDS, seed + d) for d in range(divisions)]
        self.left_out_of = torch.stack([1 + d * N_FOLDS + fold for d, fold in enumerate(folds)], 1)  # (n, R)
        sets = torch.arange(1 + divisions * N_FOLDS)
        trained = (self.left_out_of[:, :, None] != sets).all(1)  # (n, S), all rows in the first set
        self.weight = rows.weight.double()[:, None] * trained

    def evaluate(self, prior: LatentPrior) -> Evaluation:
        """The mode of all rows, and the log likelihood of each row at the modes without its fold."""
        rows = self.gram.rows
        modes, dual = solve(self.gram.kernel(prior), Labels.of(rows), self.weight)
        latent = modes.gather(1, self.left_out_of[:, :, None].expand(-1, -1, modes.shape[2]))  # (n, R, L)
        held_out = both_classes(latent).log_softmax(-1)  # (n, R, C)
        right = held_out.gather(-1, rows.y[:, None, None].expand(-1, held_out.shape[1], 1))[..., 0].mean(1)
        by_row = rows.weight.double() * right
        return Evaluation(
            log_score=float(by_row.sum()),
            by_row=by_row,
            held_out=held_out.exp().mean(1),
            prior=prior,
            dual=dual_of_classes(dual[:, 0]),
        )


class Labels:
    """Labels and the classes over which the cross-entropy of each row runs.

    Parameters
    ----------
    y : Tensor of shape (n,)
        The class of each row.
    classes : Tensor of shape (n, C)
        Which classes the task of each row has training rows of.
    """

    def __init__(self, y: Tensor, classes: Tensor) -> None:
        self.y, self.n_classes = y, classes.shape[1]
        self.n_latent = 1 if self.n_classes == 2 else self.n_classes
        self.sign = 2.0 * y.double() - 1
        self.absent = None if self.n_classes == 2 or bool(classes.all()) else ~classes

    @classmethod
    def of(cls, rows: Rows) -> Labels:
        return cls(rows.y, rows.class_mask[rows.task])

    def loss(self, f: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """sum weight * cross-entropy of latent outputs f (n, S, L), and its slope in f; ``weight`` (n, S)."""
        if self.n_latent == 1:
            margin = self.sign[:, None, None] * f
            loss = (weight[..., None] * F.softplus(-margin)).sum()
            return loss, -(weight * self.sign[:, None])[..., None] * torch.sigmoid(-margin)
        if self.absent is not None:
            f = f.masked_fill(self.absent[:, None], -torch.inf)
        log_p = f.log_softmax(-1)
        index = self.y[:, None, None].expand(-1, f.shape[1], 1)
        loss = -(weight * log_p.gather(-1, index)[..., 0]).sum()
        slope = log_p.exp().scatter_add(-1, index, -torch.ones_like(index, dtype=f.dtype))
        return loss, slope.mul_(weight[..., None])


def solve(kernel: Tensor, labels: Labels, weight: Tensor, expected: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The modes of several sets of rows: f (n, S, L) = f0 + K a, and the dual solutions a (n, S, L).

        a_s = argmin  sum_n weight_ns CE(f_ns, y_n) + 1/2 sum_l a_sl' K a_sl

    By L-BFGS in v, where K a = M v and M M' = (K^-1 + c I)^-1, c about the curvature of the likelihood, so that the number
    of iterations does not grow with the scale of K. The search begins at f0, not at the mode of a similar kernel: where it
    ends then depends on the kernel alone.

    With K = L L' and I + c L' L = R R', M = L R^-T.

    Parameters
    ----------
    kernel : Tensor of shape (n, n)
        K.
    labels : Labels
        The targets.
    weight : Tensor of shape (n, S)
        The weight of every row in every set.
    expected : Tensor of shape (n, L), optional
        f0, the mean of f before any label is seen.
    """
    kernel = 2 * kernel if labels.n_latent == 1 else kernel
    n, sets = weight.shape
    c = CURVATURE * float(weight.mean())
    root = cholesky(kernel)  # (n, n) L
    inner = cholesky((c * root.T @ root).add_(torch.eye(n, dtype=kernel.dtype)))  # (n, n) R
    factor = torch.linalg.solve_triangular(inner, root.T, upper=False).T.contiguous()  # (n, n) M
    offset = 0.0 if expected is None else expected[:, None]

    def evaluate(v: Tensor) -> tuple[float, Tensor]:
        f = factor @ v  # (n, S L)
        loss, slope = labels.loss(offset + f.view(n, sets, -1), weight)
        total = loss + 0.5 * v.square().sum() - 0.5 * c * f.square().sum()
        return float(total), v + factor.T @ (slope.reshape(n, -1) - c * f)

    v = kernel.new_zeros(n, sets * labels.n_latent)
    v = minimise_smooth(evaluate, v, iterations=ITERATIONS, least_change=LEAST_CHANGE * weight.numel())
    f = factor @ v
    dual = torch.linalg.solve_triangular(root.T, torch.linalg.solve_triangular(inner.T, v, upper=True), upper=True)
    return offset + f.view(n, sets, -1), dual.view(n, sets, -1)


def both_classes(latent: Tensor) -> Tensor:
    """(..., C) of latent outputs (..., L): the difference of two classes is half of each."""
    return torch.cat([-latent / 2, latent / 2], -1) if latent.shape[-1] == 1 else latent


def dual_of_classes(dual: Tensor) -> Tensor:
    """(n, C) under the kernel K of one class: the difference of two classes is d = 2 K a, so that f_1 = K a."""
    return torch.cat([-dual, dual], 1) if dual.shape[1] == 1 else dual
