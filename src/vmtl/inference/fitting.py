"""Arrays in, fitted model out: feature map, model, training."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vmtl.config.settings import Settings
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.inference.exact import closed_form
from vmtl.inference.exact.relatedness import mixture, similarity, uniform_similarity
from vmtl.inference.exact.selection import CLASSES, Selection, select
from vmtl.inference.features.feature_map import FeatureMap, ScaledMap
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.maps import apply_map, feature_spread
from vmtl.inference.fitted import Fitted
from vmtl.inference.variational.early_stopping import EarlyStopping, StopTraining
from vmtl.inference.variational.training import Progress, Trainer
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.method import Method
from vmtl.model.model import Layout, Model, effective_method

#: Landmarks of the kernel encoder at most.
MAX_LANDMARKS = 512
#: Rows up to which q(w) starts from the exact model.
SMALL = 5000
#: A classifier starts from the exact model up to this many classes times rows squared.
MAX_LOGITS = 2e8
#: Logit scale at most where the means of q(w) are trained: beyond it they do not get there in time.
MAX_TRAINED_SCALE = 10.0
#: What is assumed where nothing is selected: other encoders than the kernel, or one per task.
UNSELECTED = Selection(standardise=False, shares=CLASSES.shares(), correlation=0.9, scale=5.0, bias=1.0, noise=0.5)
Hook = Callable[[Trainer, Progress], None]


def make_feature_map(settings: Settings, method: Method, rows: Rows, found: Selection, seed: int) -> FeatureMap:
    """The fixed features of the settings' encoder, learned on the raw columns ``rows.x``."""
    if settings.encoder == "kernel":
        generator = torch.Generator().manual_seed(seed)

        def learn(own: Tensor) -> KernelMap:
            if len(own) > MAX_LANDMARKS:
                own = own[torch.randperm(len(own), generator=generator)[:MAX_LANDMARKS].sort().values]
            part = KernelMap.learn(rows.x.cpu()[own], rows.weight.cpu()[own], found.standardise)
            return part.mix(found.shares, settings.latent_dim, found.bias**-0.5)

        task = rows.task.cpu()
        if method.encoder == "shared":
            return learn(torch.arange(len(task)))
        return KernelMap.stack([learn((task == t).nonzero().flatten()) for t in range(rows.n_tasks)])
    if settings.scale_input:
        return ScaledMap.fitted(rows.x, rows.weight)
    return ScaledMap.identity(rows.x.shape[1])


@dataclass(frozen=True)
class Draft:
    """A model before its first step."""

    feature_map: FeatureMap
    features: Rows
    distinct: Rows  # the same without duplicates
    model: Model
    residual: Tensor | None  # leave-one-out residuals of a regression that starts from the exact model
    covariance: Tensor  # (T, T) B, of one weight across tasks
    tempers: bool  # whether a classifier is made as sure as left-out rows allow, after training


def affordable(rows: Rows) -> bool:
    """Whether the exact model takes seconds."""
    n = len(rows.y)
    return n <= SMALL and (not rows.is_classification or rows.n_classes * float(n) ** 2 <= MAX_LOGITS)


def draft(method: Method, settings: Settings, rows: Rows, seed: int) -> Draft:
    """Everything that is inferred from the raw rows before training: features, scales, relatedness, first means."""
    method, merged = effective_method(method, settings), merge_duplicates(rows)
    selected = settings.select and settings.encoder == "kernel" and method.encoder == "shared"
    found = select(merged, seed) if selected else UNSELECTED
    feature_map = make_feature_map(settings, method, merged, found, seed).to(rows.x)
    features, distinct = apply_map(feature_map, rows), apply_map(feature_map, merged)
    likeness = None
    if method.mixes:
        related = settings.relatedness == "evidence" and rows.n_tasks > 2
        likeness = similarity(distinct, seed) if related else uniform_similarity(rows.n_tasks)
    exact = selected and closed_form.applies(method, settings) and affordable(merged)
    if rows.is_classification and exact:
        found = closed_form.refine(distinct, found, likeness, seed)
    solved = exact and closed_form.solves(method, settings)
    if rows.is_classification and not solved:
        found = replace(found, scale=min(found.scale, MAX_TRAINED_SCALE))
    scale = found.scale * found.bias**0.5 if method.q_w == "gaussian" else UNSELECTED.scale
    tempers = exact and rows.is_classification and settings.logit_scale is None
    settings = settings.with_options(logit_scale=settings.logit_scale or scale)
    if not solved:  # the steps of logits grow with their scale
        settings = settings.slower(min(1.0, UNSELECTED.scale / found.scale))
    layout = Layout.of(features, feature_spread(features, method.encoder == "per task"))
    model = Model(method, settings, layout).to(rows.x)
    model.reset(torch.Generator(rows.x.device).manual_seed(seed))
    if likeness is not None:
        model.start_from(mixture(likeness, found.correlation))
    covariance = closed_form.task_covariance(likeness, rows.n_tasks, found.correlation)
    if isinstance(model.likelihood, GaussianNoise):
        torch.nn.init.constant_(model.likelihood.log_noise, math.log(found.noise))
    residual = closed_form.start(model, distinct, covariance) if exact else None
    return Draft(feature_map, features, distinct, model, residual, covariance, tempers)


def fit(
    method: Method,
    settings: Settings,
    rows: Rows,
    seed: int,
    *,
    hook: Hook | None = None,
    prepare: Callable[[Trainer], None] | None = None,
    stopper: EarlyStopping | None = None,
) -> Fitted:
    """Train ``method`` on raw rows; ``prepare`` may restore a checkpoint before the first step."""
    made = draft(method, settings, rows if stopper is None else stopper.train, seed)
    model = made.model
    trainer = Trainer(model, made.features, seed)
    if prepare is not None:
        prepare(trainer)
    hooks: list[Hook] = [hook] if hook is not None else []
    if stopper is not None:
        stopper.watch(made.feature_map)
        hooks.insert(0, stopper)
    with suppress(StopTraining):
        trainer.run(hooks)
    if stopper is not None:
        stopper.finish(trainer)
    if made.residual is not None:
        closed_form.calibrate(model, made.distinct, made.residual)
    elif made.tempers:
        closed_form.temper(model, made.distinct, made.covariance)
    trainer.check_weights()
    return Fitted(made.feature_map, model.requires_grad_(False), trainer.history)
