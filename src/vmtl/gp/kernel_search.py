"""Which kernels suit the rows, and how much each column counts: gradients of least-squares scores.

The least-squares version of the model has y ~ N(0, A) with

    A = B . (sum_v share_v K_v + b) + lambda / weight,    B = (1 - rho) [t = t'] + rho

whose held-out predictions and evidence follow exactly from one factorisation:

    y_n - (A^-1 y)_n / (A^-1)_nn    is the prediction of row n without row n.

Left-out rows tell well which kinds of kernels suit. A number for every column can be overfitted to them; the evidence
pays for what it fits, and columns have a prior under which they count alike unless they earn it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky, working_precision
from vmtl._utils.minimise import Adam
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.gp.kernels import KERNELS, LEAST_VARIATION, centre, kernels_for
from vmtl.gp.views import Views, is_table, weigh_columns

#: Most rows on which kernels are compared, and on which the better ones are refined.
COMPARED_ROWS, REFINED_ROWS = 320, 500
#: Steps and first rate of Adam in either round.
COMPARING, REFINING = (15, 0.25), (20, 0.15)
#: Kernels with a smaller share are left out of the second round, and of the model.
LEAST_SHARE = 0.01
#: Nats that a column must earn to count e times as much, or as little; where |log relevance| is rounded off.
RELEVANCE_COST, CORNER = 4.0, 0.05
#: The least ridge, for rounding.
LEAST_RIDGE = 1e-4


class KernelPrior(NamedTuple):
    """Prior of kernel shares and of the numbers of least squares."""

    linear: float  # share of the linear kernels together
    strength: float  # nats per kernel of the divergence from these shares
    centre: tuple[float, ...]  # of logit rho, log lambda, log b and log temperature
    deviation: tuple[float, ...]

    def shares(self, numbers: list[int]) -> Tensor:
        """(V,) the prior shares of the kernels ``numbers``: the linear ones alike, the others alike."""
        linear = torch.tensor([KERNELS[v].form == "linear" for v in numbers])
        return torch.where(linear, self.linear / linear.sum(), (1 - self.linear) / (~linear).sum()).double()


CLASSES = KernelPrior(0.4, 0.5, (math.log(9), math.log(0.1), math.log(0.3), math.log(7)), (2.0, 2.5, 1.4, 0.7))
TARGETS = KernelPrior(0.7, 0.3, (math.log(9), math.log(0.5), math.log(0.3), math.log(7)), (1.0, 2.0, 1.4, 0.7))


@dataclass(frozen=True)
class KernelChoice:
    """The mixture of kernels, and where the search for the hyperparameters may begin."""

    shares: Tensor  # (V,) of all KERNELS
    relevance: Tensor | None  # (D,) of the columns of a table
    signal_to_noise: float  # s of the logits, or of targets in units of their noise


def choose_kernel(rows: Rows, seed: int) -> KernelChoice:
    """Kernel shares by left-out rows; of a table then refined by the evidence, with the relevance of its columns."""
    rows, numbers = rows.cpu(), kernels_for(rows.x.shape[1])
    few = rows.take(subsample_rows(rows, COMPARED_ROWS, seed))
    prior = CLASSES if rows.is_classification else TARGETS
    start = [prior.shares(numbers).log(), torch.tensor(prior.centre, dtype=torch.float64)]
    compared = _climb(LeastSquares(few, numbers, prior, by_evidence=False), start, *COMPARING)
    kept = compared.place[0].softmax(0) >= LEAST_SHARE
    numbers = [v for v, keep in zip(numbers, kept.tolist(), strict=True) if keep]
    start = [compared.place[0][kept], compared.place[1]]
    more = rows.take(subsample_rows(rows, REFINED_ROWS, seed))
    if is_table(rows.x.shape[1]):
        start.append(torch.zeros(rows.x.shape[1], dtype=torch.float64))
        refined = _climb(LeastSquares(more, numbers, prior, by_evidence=True), start, *REFINING)
    else:
        refined = _climb(LeastSquares(more, numbers, prior, by_evidence=False), start, *REFINING)
    shares = torch.zeros(len(KERNELS), dtype=torch.float64)
    shares[numbers] = refined.place[0].softmax(0)
    relevance = refined.place[2].exp() if len(refined.place) > 2 else None
    return KernelChoice(shares, relevance, refined.signal_to_noise)


class Peak(NamedTuple):
    """The best point of a climb."""

    loss: float
    place: list[Tensor]
    signal_to_noise: float


def _climb(score: LeastSquares, start: list[Tensor], steps: int, rate: float) -> Peak:
    """Adam from ``start``; the best of all points on the way."""
    place = [part.clone().requires_grad_() for part in start]
    optimiser, best = Adam(place, betas=(0.8, 0.9)), None
    for step in range(steps):
        loss, ratio = score(*place)
        value = float(loss.detach())
        if math.isfinite(value) and (best is None or value < best.loss):
            best = Peak(value, [part.detach().clone() for part in place], ratio)
        loss.backward()
        optimiser.step(rate * (1 - 0.8 * step / steps))
    if best is None:
        raise FloatingPointError("The features are too extreme to select a kernel; scale the columns of X.")
    return best


class _Inverse(torch.autograd.Function):
    """A^-1 y, the diagonal of A^-1 and log |A|, with the slope in A.

    That is log |A| A^-1 - (Q g_s s' + Q diag(g_d) Q), Q = A^-1. It only says where to go next, and single precision is
    enough for that.
    """

    @staticmethod
    def forward(ctx: Any, covariance: Tensor, target: Tensor, least: float) -> tuple[Tensor, Tensor, Tensor]:
        precision = working_precision(least, float(covariance.trace()))
        factor = cholesky(covariance.to(precision))
        inverse = torch.cholesky_inverse(factor)
        solved = (inverse @ target.to(precision)).double()
        ctx.save_for_backward(inverse, solved)
        ctx.set_materialize_grads(False)
        return solved, inverse.diagonal().double(), 2 * factor.diagonal().double().log().sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_solved: Tensor, by_diagonal: Tensor | None, by_log_det: Tensor | None) -> Any:
        inverse, solved = ctx.saved_tensors
        inverse = inverse.float()
        slope = -(inverse @ by_solved.float()) @ solved.T.float()
        if by_diagonal is not None:
            slope.addmm_(inverse * by_diagonal.float(), inverse, alpha=-1)
        if by_log_det is not None:
            slope.add_(inverse, alpha=float(by_log_det))
        return slope.double(), None, None


class LeastSquares:
    """Minus the log score of least squares, plus what departs from the prior.

    Parameters
    ----------
    rows : Rows
        Raw rows. Weights are taken in units of sum weight^2 / sum weight, so that they add up to the rows that count.
    numbers : list of int
        The kernels that shares are given for.
    prior : KernelPrior
        The prior of everything but relevance.
    by_evidence : bool
        Whether targets are scored by the evidence, all outputs together counting as one, or left out one by one: labels
        by softmax(temperature * prediction), numbers by their density with its scale profiled out.
    """

    def __init__(self, rows: Rows, numbers: list[int], prior: KernelPrior, *, by_evidence: bool) -> None:
        self.numbers, self.prior, self.by_evidence = numbers, prior, by_evidence
        self.unit = rows.unit
        self.weight = rows.weight.double() / rows.unit
        self.label = rows.y if rows.is_classification else None
        target = F.one_hot(rows.y, rows.n_classes).double() if rows.is_classification else rows.y.double()[:, None]
        self.target = target - (self.weight[:, None] * target).sum(0) / self.weight.sum()  # (n, C)
        self.same_task = (rows.task[:, None] == rows.task).double()
        self.kernel = MixedKernel(rows.x.double(), self.weight / self.weight.sum(), numbers)

    def __call__(
        self, log_shares: Tensor, numbers: Tensor, log_relevance: Tensor | None = None
    ) -> tuple[Tensor, float]:
        """The loss and the ratio of signal to noise, at log shares (V,), numbers (4,) and log relevances (D,)."""
        rho = numbers[0].sigmoid()
        ridge, bias, temperature = numbers[1:].exp()
        relevance = None if log_relevance is None else log_relevance.exp()
        kernel = self.kernel(log_shares.softmax(0), relevance).double() + bias
        between = (1 - rho) * self.same_task + rho
        noise = (ridge + LEAST_RIDGE) / self.weight
        covariance = between * kernel + torch.diag(noise)
        solved, diagonal, log_det = _Inverse.apply(covariance, self.target, float(noise.detach().min()))  # type: ignore[no-untyped-call]
        if self.by_evidence:
            loss = self._evidence_loss(solved, log_det, ridge + LEAST_RIDGE)
        else:
            loss = self._left_out_loss(solved, diagonal, temperature)
        loss = loss + self._cost(log_shares, numbers)
        if log_relevance is not None:
            loss = loss + RELEVANCE_COST * (log_relevance.square() + CORNER**2).sqrt().sum()
        return loss, self._signal_to_noise(solved.detach(), diagonal.detach(), ridge.detach(), temperature.detach())

    def _evidence_loss(self, solved: Tensor, log_det: Tensor, ridge: Tensor) -> Tensor:
        """-log N(y; 0, u^2 A) at the best u, of one output on average; a row of weight w stands for w rows."""
        count, outputs = self.weight.sum(), self.target.shape[1]
        square = ((self.target * solved).sum() / outputs).clamp_min(1e-30)
        absent = 0.5 * (len(self.target) - count) * ridge.log()
        loss: Tensor = 0.5 * count * (square / count).log() + 0.5 * log_det - absent
        return loss

    def _left_out_loss(self, solved: Tensor, diagonal: Tensor, temperature: Tensor) -> Tensor:
        if self.label is not None:
            logits = temperature * (self.target - solved / diagonal[:, None])
            return (self.weight * F.cross_entropy(logits, self.label, reduction="none")).sum()
        n = self.weight.sum()
        square = (self.weight * solved[:, 0].square() / diagonal).sum() / n
        return 0.5 * n * square.clamp_min(1e-12).log() - 0.5 * (self.weight * diagonal.log()).sum()

    def _cost(self, log_shares: Tensor, numbers: Tensor) -> Tensor:
        """Minus the log prior, up to a constant."""
        expected = self.prior.shares(self.numbers)
        divergence = (expected * (expected.log() - log_shares.log_softmax(0))).sum()
        centre, deviation = (torch.tensor(v, dtype=torch.float64) for v in (self.prior.centre, self.prior.deviation))
        return self.prior.strength * len(expected) * divergence + 0.5 * ((numbers - centre) / deviation).square().sum()

    def _signal_to_noise(self, solved: Tensor, diagonal: Tensor, ridge: Tensor, temperature: Tensor) -> float:
        """Of labels the scale of logits whose softmax is as curved as least squares."""
        if self.label is not None:
            p = (temperature * (self.target - solved / diagonal[:, None])).softmax(-1)
            curvature = (1 - p.square().sum(-1).mean()) / max(1, p.shape[1] - 1)
            return float((curvature * ridge).clamp_min(1e-6).rsqrt())
        return float((ridge + LEAST_RIDGE).rsqrt())


class MixedKernel:
    """sum_v share_v K_v / d_v among n rows, centred, d_v the mean diagonal of the centred K_v, in single precision.

    Parameters
    ----------
    x : Tensor of shape (n, D)
        The rows.
    p : Tensor of shape (n,)
        Their weights, which sum to 1.
    numbers : list of int
        The kernels that shares are given for.
    """

    def __init__(self, x: Tensor, p: Tensor, numbers: list[int]) -> None:
        views = Views.learn(x, p)
        self.kernels, self.p = [KERNELS[v] for v in numbers], p.float()
        names = dict.fromkeys(kernel.view for kernel in self.kernels)
        self.columns = {name: views.columns(name, x).float() for name in names}  # (n, D), of splines (n, D J)
        self.alike: Tensor | None = None  # (V, n, n) where all columns count alike

    def __call__(self, shares: Tensor, relevance: Tensor | None = None) -> Tensor:
        """The kernel (n, n) of ``shares`` (V,) if columns count by ``relevance`` (D,)."""
        if relevance is None and self.alike is None:
            self.alike = self._all(None)
        kernels = self.alike if relevance is None else self._all(relevance.float())
        mixed: Tensor = torch.tensordot(shares.float(), kernels, 1)
        return mixed

    def _all(self, relevance: Tensor | None) -> Tensor:
        """(V, n, n) the centred kernels with mean diagonal 1, or 0 where a kernel is constant."""
        geometry = {name: self._geometry(name, relevance) for name in self.columns}
        return torch.stack([self._normalised(_form(kernel.form, *geometry[kernel.view])) for kernel in self.kernels])

    def _geometry(self, view: str, relevance: Tensor | None) -> tuple[Tensor, Tensor]:
        """Inner products and squared distances (n, n) of the centred rows, scaled to a mean squared norm of 1."""
        columns = self.columns[view]
        if relevance is None:
            relevance = columns.new_ones(1).expand(columns.shape[-1])
        u = weigh_columns(view, columns, relevance)
        size = self.p @ u.detach().square().sum(-1)
        u = u - self.p @ u
        spread = self.p @ u.square().sum(-1)
        if float(spread.detach()) <= (10 * LEAST_VARIATION) ** 2 * float(size):  # rows that are alike but for rounding
            u, spread = torch.zeros_like(u), torch.ones_like(spread)
        products = u @ u.T / spread
        norms = products.diagonal()
        return products, (norms[:, None] + norms - 2 * products).clamp_min(0)

    def _normalised(self, kernel: Tensor) -> Tensor:
        size = self.p @ kernel.diagonal()
        centred = centre(kernel, self.p)
        variation = self.p @ centred.diagonal()
        if float(variation.detach()) <= 10 * LEAST_VARIATION * float(size.detach()):
            return torch.zeros_like(kernel)
        return centred / variation


def _form(form: str, products: Tensor, distances: Tensor) -> Tensor:
    """A kernel with a slope at distance 0."""
    if form == "linear":
        return products
    if form == "gauss":
        return torch.exp(distances / -2)
    return torch.exp(-(distances / 8 + 1e-7).sqrt())
