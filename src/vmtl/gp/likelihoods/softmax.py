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

#: Folds of held-out rows. Few rows of few classes are divided several times, at most as the last number says, until
#: rows times latent outputs make the other.
N_FOLDS, SCORED_OUTPUTS, MOST_DIVISIONS = 5, 800, 5
#: A typical curvature p (1 - p), by which the search for the mode is preconditioned.
CURVATURE = 0.02
#: Iterations at most, and the change of the loss in nats, per row and set of rows, below which they end.
ITERATIONS, LEAST_CHANGE = 100, 1e-5
#: Values of log omega, and nats that a unit of -log omega costs.
LOG_OMEGA, OMEGA_COST = [-0.5 * step for step in range(17)], 6.0
#: Values of delta, and the deviation of its prior.
DELTA, DELTA_DEVIATION = [0.25 * step for step in range(17)], 2.0


class SoftmaxLikelihood:
    """The labels of feature rows.

    Of two classes only the difference d = f_1 - f_0 ~ N(0, 2 K) matters, so that they have one latent output.

    With more than two classes, the cross-entropy of a row runs over the classes that its task has training rows of, so
    that a class that a task lacks is learned from the tasks that have it. In predictions its odds are multiplied by

    - omega <= 1, whether such a class comes up at all, which held-out rows choose. Where each task has classes of its
      own omega is small; where tasks lack a class by chance, or one class is missing in one task, it stays near 1;
    - exp(delta), which makes up for what other tasks know less well than the task itself. Held-out cells choose it: all
      rows of a class in a task, as they are predicted without them.

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
        divisions = max(1, min(MOST_DIVISIONS, SCORED_OUTPUTS // (n * n_latent(rows.n_classes))))
        folds = [stratified_folds(rows.task, rows.y, N_FOLDS, seed + d) for d in range(divisions)]
        self.left_out_of = torch.stack([1 + d * N_FOLDS + fold for d, fold in enumerate(folds)], 1)  # (n, R)
        sets = torch.arange(1 + divisions * N_FOLDS)
        trained = (self.left_out_of[:, :, None] != sets).all(1)  # (n, S), all rows in the first set
        self.weight = rows.weight.double()[:, None] * trained
        self.labels = Labels(rows.y, rows.n_classes, absent_classes(rows, self.weight))

    def evaluate(self, prior: LatentPrior) -> Evaluation:
        """The mode of all rows, and the log likelihood of each row at the modes without its fold."""
        modes, dual = solve(self.gram.kernel(prior), self.labels, self.weight)
        index = self.left_out_of[:, :, None].expand(-1, -1, modes.shape[2])
        latent = both_classes(modes.gather(1, index), self.n_classes)  # (n, R, C)
        log_omega, log_prior = self._odds_of_absent_classes(latent)
        log_p = self._log_probabilities(latent, log_omega)
        by_row = self.gram.rows.weight.double() * self._of_labels(log_p)
        return Evaluation(
            log_score=float(by_row.sum()) + log_prior,
            by_row=by_row,
            held_out=log_p.exp().mean(1),
            prior=prior,
            dual=dual_of_classes(dual[:, 0], self.n_classes),
        )

    def offset_of_absent_classes(self, prior: LatentPrior) -> float:
        """delta + log omega, by which logits of classes change that a task has no rows of.

        For delta, a fifth of the cells of tasks and classes is held out at a time, and a fifth of the other rows. These
        count as often as makes the held-out cells a fifth of all; where cells have one row each there are none, and
        nothing is learned about delta.
        """
        rows = self.gram.rows
        if self.labels.absent is None or rows.n_tasks < 2:
            return 0.0
        cell = (rows.task + rows.y) % N_FOLDS
        sets = torch.arange(N_FOLDS)
        own_cell, own_fold = cell[:, None] == sets, self.left_out_of[:, :1] - 1 == sets  # (n, F)
        weight = rows.weight.double()[:, None] * ~(own_cell | own_fold)
        absent = absent_classes(rows, weight)
        if absent is None:
            return 0.0
        modes, _ = solve(self.gram.kernel(prior), Labels(rows.y, rows.n_classes, absent), weight)
        label = rows.y[:, None, None].expand(-1, N_FOLDS, 1)
        known = own_fold & ~own_cell & ~absent.gather(-1, label)[..., 0]
        of_cells, of_known = (rows.weight.double()[:, None] * which for which in (own_cell, known))
        ratio = float(of_cells.sum() / of_known.sum().clamp_min(1e-12))
        counts, scores = of_cells + (N_FOLDS - 1) * ratio * of_known, []
        for delta in DELTA if bool(known.any()) else DELTA[:1]:
            right = (modes + delta * absent).log_softmax(-1).gather(-1, label)[..., 0]
            scores.append(float((counts * right).sum()) - 0.5 * (delta / DELTA_DEVIATION) ** 2)
        delta = DELTA[scores.index(max(scores))]
        modes, _ = solve(self.gram.kernel(prior), self.labels, self.weight)
        index = self.left_out_of[:, :, None].expand(-1, -1, modes.shape[2])
        return delta + self._odds_of_absent_classes((modes + delta * self.labels.absent).gather(1, index))[0]

    def _odds_of_absent_classes(self, latent: Tensor) -> tuple[float, float]:
        """log omega that suits held-out rows best, and its log prior; ``latent`` (n, R, C)."""
        if self.labels.absent is None:
            return 0.0, 0.0
        scores = []
        for log_omega in LOG_OMEGA:
            right = self._of_labels(self._log_probabilities(latent, log_omega))
            scores.append(float(self.gram.rows.weight.double() @ right) + OMEGA_COST * log_omega)
        log_omega = LOG_OMEGA[scores.index(max(scores))]
        return log_omega, OMEGA_COST * log_omega

    def _log_probabilities(self, latent: Tensor, log_omega: float) -> Tensor:
        """(n, R, C) of held-out rows."""
        if self.labels.absent is not None and log_omega:
            index = self.left_out_of[:, :, None].expand(-1, -1, latent.shape[2])
            latent = latent + log_omega * self.labels.absent.gather(1, index)
        return latent.log_softmax(-1)

    def _of_labels(self, log_p: Tensor) -> Tensor:
        """(n,) the log probability of each label, on average over the divisions; ``log_p`` (n, R, C)."""
        return log_p.gather(-1, self.labels.y[:, None, None].expand(-1, log_p.shape[1], 1))[..., 0].mean(1)


class Labels:
    """Labels, and the classes over which the cross-entropy of each row does not run.

    Parameters
    ----------
    y : Tensor of shape (n,)
        The class of each row.
    n_classes : int
        C.
    absent : Tensor of shape (n, S, C), optional
        Which classes the task of each row has no rows of, in each set of rows.
    """

    def __init__(self, y: Tensor, n_classes: int, absent: Tensor | None = None) -> None:
        self.y, self.n_classes, self.absent = y, n_classes, absent
        self.n_latent = n_latent(n_classes)
        self.sign = 2.0 * y.double() - 1

    def loss(self, f: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """sum weight * cross-entropy of latent outputs f (n, S, L), and its slope in f; ``weight`` (n, S)."""
        if self.n_classes == 2:
            margin = self.sign[:, None, None] * f
            loss = (weight[..., None] * F.softplus(-margin)).sum()
            return loss, -(weight * self.sign[:, None])[..., None] * torch.sigmoid(-margin)
        if self.absent is not None:
            f = f.masked_fill(self.absent, -torch.inf)
        log_p = f.log_softmax(-1)
        index = self.y[:, None, None].expand(-1, f.shape[1], 1)
        right = log_p.gather(-1, index)[..., 0].masked_fill(weight == 0, 0.0)
        slope = log_p.exp().scatter_add(-1, index, -torch.ones_like(index, dtype=f.dtype))
        return -(weight * right).sum(), slope.mul_(weight[..., None])


def n_latent(n_classes: int) -> int:
    """L: two classes have one latent output, their difference."""
    return 1 if n_classes == 2 else n_classes


def absent_classes(rows: Rows, weight: Tensor) -> Tensor | None:
    """(n, S, C) which classes the task of each row has no rows of, in sets of rows with ``weight`` (n, S) above 0.

    None of two classes, and where there are none. A task without any row in a set lacks nothing.
    """
    if rows.n_classes == 2:
        return None
    seen = weight.new_zeros(rows.n_tasks * rows.n_classes, weight.shape[1])
    seen.index_add_(0, rows.task * rows.n_classes + rows.y, weight)
    present = seen.view(rows.n_tasks, rows.n_classes, -1).mT > 0  # (T, S, C)
    absent = ~present & present.any(-1, keepdim=True)
    return absent[rows.task] if bool(absent.any()) else None


def solve(kernel: Tensor, labels: Labels, weight: Tensor, expected: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The modes of several sets of rows: f (n, S, L) = f0 + K a, and the dual solutions a (n, S, L).

        a_s = argmin  sum_n weight_ns CE(f_ns, y_n) + 1/2 sum_l a_sl' K a_sl

    By L-BFGS in v, where K a = M v and M M' = (K^-1 + c I)^-1, c about the curvature of the likelihood, so that the
    number of iterations does not grow with the scale of K. The search begins at f0, not at the mode of a similar
    kernel: where it ends then depends on the kernel alone.

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
    kernel = 2 * kernel if labels.n_classes == 2 else kernel
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


def both_classes(latent: Tensor, n_classes: int) -> Tensor:
    """(..., C) of latent outputs (..., L): the difference of two classes is half of each."""
    return torch.cat([-latent / 2, latent / 2], -1) if n_classes == 2 else latent


def dual_of_classes(dual: Tensor, n_classes: int) -> Tensor:
    """(n, C) under the kernel K of one class: the difference of two classes is d = 2 K a, so that f_1 = K a."""
    return torch.cat([-dual, dual], 1) if n_classes == 2 else dual
