"""``released`` is the authors' code: one step of it, derived again with loops over tasks, rows and draws.

What that code computes for one task after the other is written down here a second time, with whole weight matrices and
nothing shared with the package but the parameters and the random numbers. The loss of the joint step is the sum of the
tasks' losses, since each of them detaches the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.paper_models import build
from helpers.toys import toy
from vmtl._utils.noise import Noise, antithetic
from vmtl.data.rows import Batch, Rows
from vmtl.paper.methods import METHODS
from vmtl.paper.model import Model
from vmtl.paper.objective import Objective, Scales
from vmtl.paper.presets import get_preset

T, C, D, K, DRAWS, TAU = 3, 2, 6, 5, 4, 0.7
SCALES = Scales(kl_z=0.03, kl_w=0.05)
ROWS = toy([8, 10, 6], classes=C, features=D).rows()


class Recorder(Noise):
    """Random numbers that are remembered in the order in which they were asked for."""

    def __init__(self) -> None:
        super().__init__(3, torch.device("cpu"), torch.float64)
        self.gumbels: list[Tensor] = []
        self.masks: list[Tensor] = []
        self.normals: list[Tensor] = []
        self.prior_seeds: list[int] = []

    def gumbel(self, *shape: int) -> Tensor:
        self.gumbels.append(super().gumbel(*shape))
        return self.gumbels[-1]

    def keep(self, shape: tuple[int, ...], dropout: float) -> Tensor:
        self.masks.append(super().keep(shape, dropout))
        return self.masks[-1]

    def seeds(self, count: int) -> list[int]:
        self.prior_seeds = super().seeds(count)
        return self.prior_seeds

    def halves(self, *shape: int, pairs: int = 1) -> Tensor:
        self.normals.append(super().halves(*shape, pairs=pairs))
        return self.normals[-1]


def noisy(x: Tensor, parameters: dict[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    """Mean and variance of a layer with random weights: (n, in) to (n, out) twice."""
    mean = x @ parameters[f"{name}.mean.weight"][0] + parameters[f"{name}.mean.bias"][0]
    own = F.softplus(parameters[f"{name}.rho_bias"][0]) ** 2
    return mean, x**2 @ F.softplus(parameters[f"{name}.rho"][0]) ** 2 + own


def noisy_mlp(x: Tensor, parameters: dict[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    for layer in ("layer1", "layer2"):
        x = F.elu(x @ parameters[f"{name}.{layer}.weight"][0] + parameters[f"{name}.{layer}.bias"][0])
    return noisy(x, parameters, f"{name}.last")


def kl(mean: Tensor, variance: Tensor, prior_mean: Tensor, prior_variance: Tensor) -> Tensor:
    """KL of two diagonal Gaussians, summed over the last axis, with the code's margin on both variances."""
    v, p = variance + 1e-6, prior_variance + 1e-6
    return 0.5 * (p.log() - v.log() - 1 + v / p + (prior_mean - mean) ** 2 / p).sum(-1)


def attended(rows: Rows, number: int, other: int) -> Tensor:
    """What task ``other`` says about a row: softmax over its rows of the class, divided by the range."""
    same = rows.x[(rows.task == other) & (rows.y == rows.y[number])]
    product = same @ rows.x[number]
    return torch.softmax(product / (product.max() - product.min() + 1e-9), 0) @ same


@dataclass
class Step:
    """The authors' step for every task, from a model's parameters and recorded noise."""

    model: Model
    batch: Batch
    noise: Recorder
    amortised: bool
    nll: list[Tensor] = field(default_factory=list)
    kl_w: list[Tensor] = field(default_factory=list)
    kl_z: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parameters = dict(self.model.named_parameters())
        classifiers = [self.classifier(t) for t in range(T)]
        for t in range(T):
            self.one_task(t, classifiers)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.amortised:
            return noisy_mlp(x, self.parameters, "encoder.network")
        return noisy(x, self.parameters, "encoder.layer")

    def classifier(self, t: int) -> tuple[Tensor, Tensor]:
        """Mean and variance of w, (C, K), or (C, K + 1) with the bias last."""
        if not self.amortised:
            return self.parameters["head.mean"][t], F.softplus(self.parameters["head.rho"][t]) ** 2
        centres = torch.stack([ROWS.x[(ROWS.task == t) & (ROWS.y == c)].mean(0) for c in range(C)])
        parts = [noisy_mlp(centres, self.parameters, name) for name in ("head.slopes", "head.bias")]
        return torch.cat([mean for mean, _ in parts], -1), torch.cat([variance for _, variance in parts], -1)

    def mixing(self, t: int, name: str, gumbel: Tensor) -> dict[int, Tensor]:
        others = [i for i in range(T) if i != t]
        logits = self.parameters[f"{name}.log_pi"][t][others]
        weights = torch.softmax((torch.log_softmax(logits, 0) + gumbel[t][others]) / TAU, 0)
        return dict(zip(others, weights, strict=True))

    def one_task(self, t: int, classifiers: list[tuple[Tensor, Tensor]]) -> None:
        alpha = self.mixing(t, "mixing_w", self.noise.gumbels[0])
        beta = self.mixing(t, "mixing_z", self.noise.gumbels[1])
        z_mean, z_variance = self.encode(self.batch.x[t] * self.noise.masks[0][t])
        self.nll.append(self.cross_entropy(t, z_mean, z_variance, *classifiers[t]))
        prior_mean, prior_variance = torch.zeros(()), torch.zeros(())
        for i, weight in alpha.items():
            mean, variance = (value.detach() for value in classifiers[i])
            if self.amortised:  # the slip: the bias's mean is its variance, and the variance stays 1
                mean = torch.cat([mean[:, :-1], variance[:, -1:]], -1)
                variance = torch.cat([variance[:, :-1], torch.ones(C, 1)], -1)
            prior_mean, prior_variance = prior_mean + weight * mean, prior_variance + weight**2 * variance
        self.kl_w.append(kl(*classifiers[t], prior_mean, prior_variance).sum())
        self.kl_z.append(self.kl_of_rows(t, z_mean, z_variance, beta))

    def cross_entropy(self, t: int, z_mean: Tensor, z_variance: Tensor, w_mean: Tensor, w_variance: Tensor) -> Tensor:
        """Ten draws of z there, one fresh weight matrix for each of their rows."""
        eps_z = antithetic(self.noise.normals[0], DRAWS)  # (L, T, N, K)
        eps_w = antithetic(self.noise.normals[1], DRAWS, axis=1)[0]  # (L, T, N, C)
        losses = []
        for draw in range(DRAWS):
            for n, label in enumerate(self.batch.y[t]):
                z = z_mean[n] + z_variance[n].sqrt() * eps_z[draw, t, n]
                if self.amortised:
                    z = torch.cat([z, torch.ones(1)])
                spread = (z * w_variance.sqrt()).detach()  # (C, K)
                unit = spread / spread.norm(dim=-1, keepdim=True)
                w = w_mean + w_variance.sqrt() * (eps_w[draw, t, n][:, None] * unit)
                losses.append(F.cross_entropy((w @ z)[None], label[None]))
        return torch.stack(losses).mean()

    def kl_of_rows(self, t: int, z_mean: Tensor, z_variance: Tensor, beta: dict[int, Tensor]) -> Tensor:
        size = self.batch.x.shape[1]
        masks = self.noise.with_seed(self.noise.prior_seeds[t]).keep((size, T - 1, D), 0.7)
        each = []
        for n in range(size):
            prior_mean, prior_variance = torch.zeros(()), torch.zeros(())
            for place, (i, weight) in enumerate(beta.items()):
                average = attended(ROWS, int(self.batch.index[t, n]), i) * masks[n, place]
                mean, variance = (value[0].detach() for value in self.encode(average[None]))
                prior_mean, prior_variance = prior_mean + weight * mean, prior_variance + weight**2 * variance
            each.append(kl(z_mean[n], z_variance[n], prior_mean, prior_variance))
        return torch.stack(each).mean()


@pytest.mark.parametrize("name", ["vmtl", "vmtl_ac"])
def test_loss_terms_and_gradients_of_one_step(name: str) -> None:
    method = METHODS[name]
    settings = replace(get_preset("released", method.head), latent_dim=K, hidden_dim=K, n_z=DRAWS)
    model = build(method, ROWS, settings)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    objective, noise = Objective(model, ROWS), Recorder()
    index = torch.tensor([[0, 1, 2, 3], [8, 9, 10, 9], [18, 19, 20, 23]])
    batch = ROWS.batch(index, torch.ones_like(index, dtype=torch.bool))
    terms = objective.terms(batch, TAU, noise)
    torch.set_default_dtype(torch.float64)
    try:
        step = Step(model, batch, noise, amortised=name == "vmtl_ac")
    finally:
        torch.set_default_dtype(torch.float32)
    for term in ("nll", "kl_w", "kl_z"):
        torch.testing.assert_close(getattr(terms, term), torch.stack(getattr(step, term)), rtol=1e-6, atol=1e-8)
    parameters = list(model.parameters())
    ours = objective.loss(terms, SCALES)
    theirs = sum(
        ce + SCALES.kl_w * w + SCALES.kl_z * z for ce, w, z in zip(step.nll, step.kl_w, step.kl_z, strict=True)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)
    for actual, expected, (path, _) in zip(
        torch.autograd.grad(ours, parameters),
        torch.autograd.grad(theirs, parameters),
        model.named_parameters(),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-8, msg=lambda text, p=path: f"{p}: {text}")


def test_numbers_of_the_preset() -> None:
    """What stands in the authors' programs, apart from the loss."""
    vmtl, amortised = get_preset("released"), get_preset("released", "amortised")
    assert (vmtl.encoder, vmtl.bias, amortised.encoder, amortised.bias) == ("noisy-linear", False, "noisy-mlp", True)
    assert vmtl.learning_rate == ("halving", 1e-4, 3000.0)
    assert (vmtl.dropout, vmtl.head_dropout, vmtl.weight_decay) == (0.7, 0.0, 5e-4)
    assert (vmtl.n_z, vmtl.n_w, vmtl.batch_rows, vmtl.max_steps, vmtl.predictive) == (10, 1, 4, 15_000, "mean")
    model = build("vmtl", ROWS, replace(vmtl, latent_dim=64))
    width, means = model.head().scale, model.head().mean
    torch.testing.assert_close(width, F.softplus(torch.tensor(-3.0)).double().expand_as(width), rtol=1e-3, atol=0)
    assert 0.08 < float(means.detach().std()) < 0.12
    assert (model.mixing_w.log_pi == 0).all()  # which matters, since it decays
