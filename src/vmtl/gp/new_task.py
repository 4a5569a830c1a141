"""A task more, or further rows of a known one, without another fit: everything else stays as it is.

All weights are jointly Gaussian before any row is seen, so given those of the known tasks the weights of another are

    w ~ N(sum_i c_i w_i, v),    c = B^-1 b,    v = 1 - b' c

where b (T,) = its correlations with the known tasks: m exp(-gamma d) at its place among them, or 0 if its held-out rows
say that it is isolated. The known tasks' weights are themselves known up to their posterior, whose means and
covariances enter. Further rows of a known task are the same with c = 1 for that task and v = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from vmtl._utils.cholesky import cholesky
from vmtl.data.duplicates import merge_duplicates
from vmtl.data.folds import stratified_folds
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.gp.likelihoods.softmax import N_FOLDS, Labels, both_classes, dual_of_classes, solve
from vmtl.gp.posterior import Information, WeightPosterior, task_noise
from vmtl.gp.priors import log_prior_isolated
from vmtl.gp.relatedness import covariance_of, resemblance, structure_of
from vmtl.gp.surroundings import place_task
from vmtl.gp.task_covariance import TaskCovariance, squared_distances
from vmtl.results.relatedness import TaskStructure

if TYPE_CHECKING:
    from vmtl.gp.fitted import FittedGP

#: Most rows of a task that are solved with a table of all pairs; of more, a random part is used.
MAX_ROWS = 2000


@dataclass(frozen=True)
class Expectation:
    """The weights of the outputs of one task before its rows are seen."""

    mean: Tensor  # (C, K + 1)
    variance: Tensor  # (K + 1,) of all outputs alike

    @classmethod
    def of_new(cls, known: WeightPosterior, covariance: TaskCovariance, correlations: Tensor) -> Expectation:
        """Of a new task with these ``correlations`` b (T,) with the known tasks of B = ``covariance``."""
        scale, task_level, shared_level, _ = known.hyperparameters.tolist()
        n_tasks = len(correlations)
        c = covariance.solve(correlations)
        shares = c[:, None].repeat(1, known.mean.shape[2])
        level = shared_level**2 / (task_level**2 + n_tasks * shared_level**2)
        shares[:, -1] = level
        variance = torch.full_like(shares[0], scale**2 * max(1 - float(correlations @ c), 1e-9))
        variance[-1] = task_level**2 + shared_level**2 * (1 - n_tasks * level)
        mean = torch.einsum("tk,tck->ck", shares, known.mean)
        return cls(mean, known.variance_of(shares) + variance)

    @classmethod
    def of_known(cls, known: WeightPosterior, task: int) -> Expectation:
        """Of a task that is known itself."""
        return cls(known.mean[task], known.deviation[task].square())


@dataclass(frozen=True)
class Update:
    """The weights of one task after its rows are seen."""

    weights: Tensor  # (C, K + 1)
    held_out: Tensor  # (n, C) logits of held-out rows, or (n, 1) left-out predictions of a regression
    log_score: float  # how well held-out rows are predicted


def update(rows: Rows, expected: Expectation, noise: float, seed: int) -> Update:
    """The posterior of the feature rows of one task; ``noise`` = deviation of a regression's noise."""
    z = F.pad(rows.x.double(), (0, 1), value=1.0)  # (n, K + 1)
    x, before, weight = z * expected.variance.sqrt(), z @ expected.mean.T, rows.weight.double()
    kernel = x @ x.T
    if not rows.is_classification:
        kernel.diagonal().add_(noise**2 / weight)
        inverse = torch.cholesky_inverse(cholesky(kernel))
        dual = inverse @ (rows.y.double() - before[:, 0])
        variance = 1 / inverse.diagonal()
        errors = dual * variance
        log_score = -0.5 * float((errors.square() / variance + variance.log()).sum())
        weights = expected.mean + expected.variance * (dual @ z)
        return Update(weights, (rows.y.double() - errors)[:, None], log_score)
    fold = stratified_folds(rows.task, rows.y, N_FOLDS, seed)
    trained = torch.cat([torch.ones(len(z), 1, dtype=torch.bool), fold[:, None] != torch.arange(N_FOLDS)], 1)
    labels = Labels(rows.y, torch.ones(len(z), rows.n_classes, dtype=torch.bool))
    latent = before[:, 1:] - before[:, :1] if labels.n_latent == 1 else before
    modes, dual = solve(kernel, labels, weight[:, None] * trained, latent)
    held_out = both_classes(modes[torch.arange(len(z)), 1 + fold])
    log_score = -float(weight @ F.cross_entropy(held_out, rows.y, reduction="none"))
    weights = expected.mean + expected.variance * (dual_of_classes(dual[:, 0]).T @ z)
    return Update(weights, held_out, log_score)


def add_rows(fitted: FittedGP, rows: Rows, task: int, seed: int) -> FittedGP:
    """The model with the raw ``rows`` of one task: more of a known one, or of number T, a new one."""
    z = fitted.feature_map.of(merge_duplicates(rows))
    if len(z.y) > MAX_ROWS:
        z = z.take(subsample_rows(z, MAX_ROWS, seed))
    z = replace(z, task=torch.zeros_like(z.task), n_tasks=1)
    noise = fitted.hyperparameters.noise or 1.0
    if task < fitted.n_tasks:
        expected = Expectation.of_known(fitted.weights, task)
        return _finish(fitted, z, task, expected, update(z, expected, noise, seed), noise)
    covariance = covariance_of(fitted.structure)
    near, points = place_task(fitted.known, fitted.hyperparameters, z)
    related = Expectation.of_new(fitted.weights, covariance, near)
    apart = Expectation.of_new(fitted.weights, covariance, torch.zeros_like(near))
    joined, alone = update(z, related, noise, seed), update(z, apart, noise, seed)
    is_isolated = alone.log_score + log_prior_isolated(fitted.n_tasks + 1) > joined.log_score
    wider = covariance.with_task(torch.zeros_like(near) if is_isolated else near)
    known = fitted.known.classes.append(fitted.known.class_means(z))
    longer = replace(
        fitted,
        weights=_with_room(fitted.weights),
        noise=torch.cat([fitted.noise, torch.ones(1, dtype=torch.float64)]),
        class_mask=torch.cat([fitted.class_mask, torch.zeros_like(fitted.class_mask[:1])]),
        task_rows=torch.cat([fitted.task_rows, torch.zeros(1, dtype=torch.float64)]),
        structure=_structure(wider, points, fitted.structure.beta is not None),
        known=fitted.known.replaced(
            **vars(known),
            points=points,
            isolated=torch.cat([fitted.known.isolated, torch.tensor([is_isolated])]),
            errors=torch.cat([fitted.known.errors, torch.zeros(1, 2, dtype=torch.float64)]),
        ),
    )
    return _finish(longer, z, task, apart if is_isolated else related, alone if is_isolated else joined, noise)


def _structure(covariance: TaskCovariance, points: Tensor, has_beta: bool) -> TaskStructure:
    """Who learns from whom under B of one task more, without intervals."""
    structure = replace(structure_of(covariance), positions=points)
    if not has_beta or structure.alpha is None:
        return structure
    return replace(structure, beta=resemblance(squared_distances(points @ points.T)))


def _with_room(weights: WeightPosterior) -> WeightPosterior:
    """The weights with one task more, whose numbers are 0."""
    tensors = weights.to_tensors()
    for name in ("mean", "deviation", "information"):
        tensors[name] = torch.cat([tensors[name], torch.zeros_like(tensors[name][:1])])
    return WeightPosterior(**tensors)


def _finish(fitted: FittedGP, z: Rows, task: int, expected: Expectation, found: Update, noise: float) -> FittedGP:
    """The model with the updated weights of a task, and what follows from them."""
    tensors = {name: tensor.clone() for name, tensor in fitted.weights.to_tensors().items()}
    scale = float(fitted.weights.hyperparameters[0])
    (information,) = z.total(Information(found.weights[None], scale, noise))
    tensors["mean"][task] = found.weights
    tensors["information"][task] += information[0]
    tensors["deviation"][task] = (1 / (1 / expected.variance.clamp_min(1e-18) + information[0] / scale**2)).sqrt()
    weights = WeightPosterior(**tensors)
    mask, total = fitted.class_mask.clone(), fitted.task_rows.clone()
    mask[task] |= z.class_mask[0]
    total[task] += z.weight.sum()
    _, variance = weights.outputs(z.x, torch.full_like(z.task, task))
    noises, errors, weight = fitted.noise.clone(), fitted.known.errors.clone(), z.weight.double()
    if fitted.is_classification:
        score = 1 - found.held_out.softmax(-1).gather(1, z.y[:, None])[:, 0]
    else:
        off = z.y.double() - found.held_out[:, 0]
        errors[task] += torch.stack([weight @ off.square(), weight.sum()]) / z.unit
        explained = errors[:, 1] * (weight @ variance / weight.sum())
        noises[task] = task_noise(errors[:, 0], explained, errors[:, 1])[task]
        score = off.abs() / (noises[task].square() + variance).sqrt()
    return replace(
        fitted,
        weights=weights,
        noise=noises,
        class_mask=mask,
        task_rows=total,
        left_out=fitted.left_out.append(score, task, weight),
        known=fitted.known.replaced(errors=errors),
    )
