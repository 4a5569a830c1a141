"""Steps that the recipes share: features, a model to begin with, the exact solution as its means."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.inference.exact.calibration import Calibration
from vmtl.inference.exact.posterior import Solution
from vmtl.inference.exact.weight_prior import WeightPrior
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_selection import KernelSelection
from vmtl.inference.features.maps import feature_spread, learn_kernel_map
from vmtl.inference.forest.trees import Forest
from vmtl.inference.hyperparameters import Hyperparameters
from vmtl.inference.structure.known_tasks import KnownTasks
from vmtl.inference.structure.structure_posterior import Relatedness
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.model import Layout, Model
from vmtl.model.priors import W_PRIORS
from vmtl.results.relatedness import TaskStructure

#: Most rows whose representations the kept means of classes are made from.
MAX_KEPT_ROWS = 20_000


def relatedness_of(method: Method, settings: Settings) -> Relatedness:
    """What the tasks of a method may share through its priors.

    The mixing weights may be even (``mixing="mean"``), those of the most probable structure (``"learnable"``), or of a
    structure that is itself uncertain (``"gumbel"``): then it is averaged over. Weights that all come from one Gaussian
    (Bakker and Heskes) are those of tasks that are alike.
    """
    if method.prior_w is not None and W_PRIORS[method.prior_w].exact == "exchangeable":
        return "uniform"
    if not method.mixes:
        return "independent"
    if settings.relatedness == "uniform" or settings.mixing == "mean":
        return "uniform"
    return "averaged" if settings.mixing == "gumbel" else "most probable"


def learn_features(method: Method, settings: Settings, rows: Rows, kernel: KernelSelection, seed: int) -> FeatureMap:
    """The fixed features of the settings' encoder, learned on the raw columns ``rows.x``."""
    if settings.encoder == "kernel":
        return learn_kernel_map(
            rows,
            kernel.shares,
            standardise=kernel.standardise,
            relevance=kernel.relevance,
            size_out=settings.latent_dim,
            scale=kernel.feature_scale,
            per_task=method.encoder == "per task",
            seed=seed,
        ).to(rows.x)
    if settings.scale_input:
        return ScaledMap.fitted(rows.x, rows.weight).to(rows.x)
    return ScaledMap.identity(rows.x.shape[1]).to(rows.x)


def build_model(
    method: Method,
    settings: Settings,
    rows: Rows,
    structure: TaskStructure,
    *,
    logit_scale: float,
    noise: float,
    seed: int,
) -> Model:
    """The model of a method on feature rows, ready to train, at what was inferred before."""
    layout = Layout.of(rows, feature_spread(rows, method.encoder == "per task"), amortised=method.head != "direct")
    model = Model(method, settings, layout).to(rows.x)
    model.reset(torch.Generator(rows.x.device).manual_seed(seed))
    model.start_from(structure)
    model.log_logit_scale.copy_(torch.tensor(logit_scale).log())
    if isinstance(model.likelihood, GaussianNoise):
        torch.nn.init.constant_(model.likelihood.log_noise, math.log(noise))
    return model


@torch.no_grad()
def adopt(model: Model, solution: Solution) -> None:
    """The means of q(w) are those of the exact posterior."""
    assert isinstance(model.head, DirectHead)
    model.head.mean.copy_(solution.weights / float(model.logit_scale))


@torch.no_grad()
def know_tasks(model: Model, rows: Rows) -> KnownTasks | None:
    """What is kept of the representations of feature rows; nothing where each task has an encoder of its own."""
    if model.method.encoder == "per task":
        return None
    some = rows.take(subsample_evenly(rows.task, MAX_KEPT_ROWS, 0))
    shared = torch.zeros(1, dtype=torch.long, device=some.x.device)
    return KnownTasks.of(replace(some, x=model.encoder(some.x[None], shared).mean[0]))


def gather_hyperparameters(
    strategy: str,
    kernel: KernelSelection,
    prior: WeightPrior,
    model: Model,
    calibration: Calibration | None = None,
    forest: Forest | None = None,
    learning_rate_factor: float = 1.0,
) -> Hyperparameters:
    """What was inferred on the way to the fitted ``model``, as far as it is part of that model."""
    settings = model.settings
    infers_sharing = model.method.mixes and settings.sharing is None
    correlated = infers_sharing or (not model.method.mixes and relatedness_of(model.method, settings) == "uniform")
    has_kernel = settings.encoder == "kernel"
    return Hyperparameters(
        strategy=strategy,
        kernel_shares=kernel.named_shares() if has_kernel else None,
        standardise=kernel.standardise if has_kernel else None,
        relevance=None if kernel.relevance is None else tuple(kernel.relevance.tolist()),
        correlation=prior.correlation if correlated else None,
        scale=prior.scale if settings.logit_scale is None else None,
        unit=kernel.feature_scale if has_kernel else None,
        decay=prior.decay if infers_sharing else None,
        task_level=prior.task_level,
        noise=None if model.is_classification else prior.noise,
        logit_scale=float(model.logit_scale),
        width_factor=None if calibration is None else math.exp(calibration.log_width),
        forest_share=None if forest is None else float(forest.share),
        learning_rate_factor=learning_rate_factor,
        structure=_part_in(model, prior.structure) if infers_sharing else None,
    )


def _part_in(model: Model, structure: TaskStructure) -> TaskStructure:
    """The structure as the model has it: tied mixing weights are alpha, and what is not mixed has none."""
    if model.tied and structure.alpha is not None and structure.alpha_interval is not None:
        return replace(structure, beta=structure.alpha.clone(), beta_interval=structure.alpha_interval.clone())
    if not model.method.mixes_z:
        structure = replace(structure, beta=None, beta_interval=None)
    if not model.method.mixes_w:
        structure = replace(structure, alpha_interval=None, sharing_interval=None)
    return structure
