"""Gaussian process of GPyTorch with a coregionalised task kernel.

k((x, t), (x', t')) = (1 + B[t, t']) k(x, x') with B = w w' + diag(v) (Bonilla et al. 2008); k is the sum of a
Matern kernel with one length scale per column, a linear kernel and a constant. Priors keep tasks close and columns
smooth unless rows speak against it. Regression is exact, by the marginal likelihood; classification is variational,
with inducing rows taken from the training rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Peer, Prediction, Shape
from benchmarks.peers.sets import Rows

STEPS, RATE = {"regression": 100, "classification": 300}, {"regression": 0.1, "classification": 0.03}
MOST_INDUCING = 256
N_DRAWS = 256


class GaussianProcess(Peer):
    key = "gp"
    title = "Gaussian process with a task kernel"
    short = "GP"
    packages = ("gpytorch",)

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        import torch

        torch.manual_seed(seed)
        scaler = StandardScaler().fit(train.X)
        a, b = (
            (torch.as_tensor(scaler.transform(rows.X)), torch.as_tensor(rows.task)[:, None]) for rows in (train, test)
        )
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return _classify(a, train.y, b, shape) if shape.is_classification else _regress(a, train.y, b, shape)
        finally:
            torch.set_default_dtype(before)


def _regress(a: Any, y: np.ndarray, b: Any, shape: Shape) -> Prediction:
    import gpytorch
    import torch

    centre, spread = y.mean(), y.std() or 1.0
    target = torch.as_tensor((y - centre) / spread)

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(a, target, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = task_kernel(a[0].shape[1], shape.n_tasks)

        def forward(self, x: Any, task: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x, task))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_prior=gpytorch.priors.GammaPrior(1.1, 0.05))
    model = Exact(likelihood)
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    _maximise(model, lambda: bound(model(*a), target), "regression")
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
        found = likelihood(model(*b))
    return Prediction(mean=centre + spread * found.mean.numpy(), std=spread * found.variance.sqrt().numpy())


def _classify(a: Any, y: np.ndarray, b: Any, shape: Shape) -> Prediction:
    import gpytorch
    import torch

    batch = torch.Size([] if shape.n_classes == 2 else [shape.n_classes])
    chosen = torch.randperm(len(y))[:MOST_INDUCING]
    inducing = torch.cat([a[0], a[1].to(a[0])], dim=1)[chosen].expand(*batch, -1, -1)

    class Variational(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(len(chosen), batch_shape=batch)
            strategy = gpytorch.variational.VariationalStrategy(self, inducing, q, learn_inducing_locations=False)
            if batch:
                strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, shape.n_classes)
            super().__init__(strategy)
            self.mean = gpytorch.means.ConstantMean(batch_shape=batch)
            self.kernel = task_kernel(a[0].shape[1], shape.n_tasks)

        def forward(self, both: Any) -> Any:
            x, task = both[..., :-1], both[..., -1:].long()
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x, task))

    model, likelihood = Variational(), _likelihood(shape)
    target = torch.as_tensor(y) if batch else torch.as_tensor(y, dtype=torch.float64)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, len(y))
    rows = torch.cat([a[0], a[1].to(a[0])], dim=1)
    _maximise(model, lambda: bound(model(rows), target), "classification")
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(N_DRAWS):
        p = likelihood(model(torch.cat([b[0], b[1].to(b[0])], dim=1))).probs
    found = p.mean(dim=0).numpy() if batch else torch.stack([1 - p, p], dim=1).numpy()
    return Prediction(p=found)


def _likelihood(shape: Shape) -> Any:
    import gpytorch

    if shape.n_classes == 2:
        return gpytorch.likelihoods.BernoulliLikelihood()
    return gpytorch.likelihoods.SoftmaxLikelihood(num_classes=shape.n_classes, mixing_weights=False)


def task_kernel(n_columns: int, n_tasks: int) -> Any:
    """A kernel of (x, task) that all classes share; it starts with closely related tasks."""
    import gpytorch
    import torch
    from gpytorch.kernels import ConstantKernel, IndexKernel, LinearKernel, MaternKernel, ScaleKernel
    from gpytorch.priors import GammaPrior, LogNormalPrior, NormalPrior
    from linear_operator import to_linear_operator

    middle = 2**0.5 + math.log(n_columns) / 2  # Hvarfner et al. (2024): longer length scales with more columns

    class Coregionalised(gpytorch.Module):
        def __init__(self) -> None:
            super().__init__()
            prior = LogNormalPrior(middle, 1.0)
            matern = MaternKernel(2.5, ard_num_dims=n_columns, lengthscale_prior=prior)
            smooth = ScaleKernel(matern, outputscale_prior=GammaPrior(2.0, 2.0))
            linear = LinearKernel(variance_prior=GammaPrior(2.0, 2.0 * n_columns))
            constant = ConstantKernel()
            smooth.base_kernel.lengthscale, smooth.outputscale = math.exp(middle - 1), 0.5
            linear.variance, constant.constant = 0.5 / n_columns, torch.tensor(0.1)
            self.by_column = smooth + linear + constant
            self.by_task = IndexKernel(num_tasks=n_tasks, rank=1)
            self.by_task.covar_factor.data.normal_(0, 0.3)
            self.by_task.var = torch.full((n_tasks,), 0.1)
            self.register_prior("w", NormalPrior(0.0, 0.5), lambda module: module.by_task.covar_factor)
            self.register_prior("v", GammaPrior(1.1, 3.0), lambda module: module.by_task.var)

        def forward(self, x: Any, task: Any) -> Any:
            dense = self.by_column(x).to_dense() * (1 + self.by_task(task).to_dense())  # lazy sums are slower
            return to_linear_operator(dense)

    return Coregionalised()


def _maximise(model: Any, bound: Any, kind: str) -> None:
    import torch

    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE[kind])
    for _ in range(STEPS[kind]):
        optimizer.zero_grad()
        (-bound()).backward()
        optimizer.step()
    model.eval()
