"""What a fitted model becomes by the rows of a new task, or by more of a known one: others stay as they are.

The kernel and all scales stay as they were inferred. Rows that the features do not reach get features of their own
(``vmtl.inference.features.longer_map``), which others have no weights for. Where the new task lies follows from its
representations (``vmtl.inference.structure.newcomer``), how far it stands apart from its targets, and its weights from
those of all others and from its own rows (``vmtl.inference.added_tasks.new_weights``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_rows
from vmtl.inference.added_tasks.longer_model import longer_history, longer_model, wider_model
from vmtl.inference.added_tasks.new_weights import ExpectedWeights, NewWeights, Sources, solve_new
from vmtl.inference.added_tasks.wider_structure import wider_structure
from vmtl.inference.exact.calibration import LEAST_NOISE
from vmtl.inference.exact.error_variances import error_variances
from vmtl.inference.exact.laplace import shared_curvature
from vmtl.inference.exact.output_prior import OutputPrior
from vmtl.inference.exact.training_moments import TrainingMoments, training_loss
from vmtl.inference.exact.widths import WeightPosterior, information
from vmtl.inference.features.feature_parts import known_features
from vmtl.inference.features.kernel_map import KernelMap
from vmtl.inference.features.longer_map import longer_map
from vmtl.inference.features.maps import apply_map
from vmtl.inference.fitted import Fitted
from vmtl.inference.prediction import SHRINKAGE
from vmtl.inference.structure.covariance import TaskCovariance, alike
from vmtl.inference.structure.known_tasks import ExactEvidence, KnownTasks, StructureBelief
from vmtl.inference.structure.mixing_weights import covariance_of, structure_of
from vmtl.inference.structure.newcomer import Newcomer, distances_to_last, separation_belief
from vmtl.inference.structure.positions.task_positions import compares_classes
from vmtl.model.heads import DirectHead
from vmtl.model.likelihoods import GaussianNoise
from vmtl.model.model import Model
from vmtl.results.left_out_scores import LeftOutScores
from vmtl.results.relatedness import MAX_TASKS, TaskStructure

#: How far apart a new task may stand from where its representations place it: o, by which B falls as exp(-o).
APART = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Most of its rows whose targets are asked for that.
ASKED_ROWS = 200


def why_not(fitted: Fitted) -> str | None:
    """The reason why no task can be added to a fitted model, if there is one."""
    strategy = fitted.hyperparameters.strategy
    if fitted.model.method.encoder == "per task":
        return "its tasks share nothing, so that a new one learns nothing from them; fit a model of its rows alone"
    if fitted.model.method.shared_head:
        return "its tasks are one to it; rows of a new one are predicted with unknown_task='average', or fit again"
    if strategy is None or (strategy == "exact" and (fitted.known is None or fitted.known.exact is None)):
        return "its file is of a version that did not keep what this needs of the known tasks; fit it again"
    if strategy != "exact" or fitted.known is None:
        exact = "of method='vmtl', 'vbmtl' or 'bakker' with preset='default'"
        return f"only the exact posterior can be extended, {exact}; fit again"
    prior = fitted.model.prior_w
    if fitted.model.n_tasks == 1 and (fitted.model.method.mixes or (prior and prior.exact == "exchangeable")):
        return "it has one task, and how much tasks are alike is not known from one; fit two together first"
    return None


@torch.no_grad()
def add_rows(fitted: Fitted, rows: Rows, seed: int) -> Fitted:
    """The model with the raw ``rows`` of one task more: those of a known task, or of number T, a new one."""
    task, rows = int(rows.task[0]), merge_duplicates(rows)
    fitted, features = reach(fitted, rows, seed)
    alone = replace(features, task=torch.zeros_like(features.task), n_tasks=1)
    extension = _Extension(fitted, alone, None if fitted.forest is None else fitted.forest(rows.x.cpu()))
    if task == fitted.model.n_tasks:
        return extension.new_task(seed)
    return extension.known_task(task)


def reach(fitted: Fitted, rows: Rows, seed: int) -> tuple[Fitted, Rows]:
    """The model with the features that the raw ``rows`` need, and the rows with these."""
    unit, feature_map = fitted.hyperparameters.unit, fitted.feature_map
    if isinstance(feature_map, KernelMap) and unit is not None:
        feature_map = longer_map(feature_map, rows.x, unit, seed)
    features = apply_map(feature_map, rows).cpu()
    if feature_map is fitted.feature_map:
        return fitted, features
    assert fitted.known is not None
    model, more = wider_model(fitted.model, features), features.x.shape[1] - fitted.model.encoder.latent_dim
    return replace(fitted, feature_map=feature_map, model=model, known=fitted.known.with_features(more)), features


@dataclass(frozen=True)
class _Extension:
    fitted: Fitted
    rows: Rows  # feature rows of one task, number 0
    by_forest: Tensor | None  # (n, C) what the forest says of them, which has not seen them

    # -- what is known ---------------------------------------------------------------------------------

    @property
    def known(self) -> KnownTasks:
        assert self.fitted.known is not None
        return self.fitted.known

    @property
    def exact(self) -> ExactEvidence:
        assert self.known.exact is not None
        return self.known.exact

    @property
    def structure(self) -> TaskStructure | None:
        return self.fitted.hyperparameters.structure

    @property
    def covariance(self) -> TaskCovariance:
        """B of the known tasks."""
        known = None if self.structure is None else covariance_of(self.structure)
        if known is not None:
            return known
        return alike(self.fitted.model.n_tasks, self.fitted.hyperparameters.correlation or 0.0)

    @property
    def prior(self) -> OutputPrior:
        scale, task_level, shared_level, _ = self.exact.outputs.tolist()
        return OutputPrior(self.covariance, scale, task_level, shared_level)

    @property
    def noise(self) -> float:
        return float(self.exact.outputs[3])

    def expected(self, sources: Sources) -> ExpectedWeights:
        """The weights before the rows are seen."""
        prior, head = self.prior, self.fitted.model.head
        assert isinstance(head, DirectHead)
        weights = prior.scale * head.mean.double().cpu()  # (T, C, K + 1)
        return ExpectedWeights.of(sources, weights, WeightPosterior.of(self.exact.told, prior), prior.scale)

    @cached_property
    def knows(self) -> Tensor:
        """(T, K) who has a weight for which feature."""
        feature_map, q_w = self.fitted.feature_map, self.fitted.model.q_w()
        features = torch.arange(q_w.mean.shape[-1] - 1)
        if not isinstance(feature_map, KernelMap):
            return torch.ones(len(q_w.mean), len(features), dtype=torch.bool)
        return features < known_features(feature_map, q_w).cpu()[:, None]

    # -- the two ways ----------------------------------------------------------------------------------

    def new_task(self, seed: int) -> Fitted:
        wider, structure, belief = self.widen(seed)
        expected = self.expected(Sources.of_new(wider, self.prior, self.knows))
        solution = solve_new(self.rows, expected, self.noise)
        model = longer_model(self.fitted.model, self.rows, structure)
        hyperparameters = replace(self.fitted.hyperparameters, structure=structure, correlation=wider.correlation)
        kept = KnownTasks(
            self.known.classes.append(self.known.class_means(self.rows)),
            self.known.target_scale,
            belief,
            self.exact.append(self.told(solution), self.errors(solution)),
        )
        whole = replace(self.fitted, model=model, hyperparameters=hyperparameters, known=kept)
        return self.finish(whole, model.n_tasks - 1, expected, solution)

    def widen(self, seed: int) -> tuple[TaskCovariance, TaskStructure | None, StructureBelief | None]:
        """B with the new task as the last, who then learns from whom, and what a task after it follows from."""
        structure, belief, n_tasks = self.structure, self.known.belief, self.fitted.model.n_tasks
        if belief is None or structure is None or structure.positions is None:  # all are alike
            wider = alike(n_tasks + 1, self.covariance.correlation)
            return wider, None if structure is None else structure_of(wider), None
        by_class = compares_classes(len(structure.positions), self.rows.is_classification, self.rows.n_classes)
        newcomer = Newcomer(self.rows, self.known, structure.positions, by_class)
        points = newcomer.place()
        near = distances_to_last(points)
        asked = self.rows.take(subsample_rows(self.rows, ASKED_ROWS, seed))
        chance = self.sides(belief, near, asked)
        apart = self.apart(belief.correlations(near, chance=chance), asked)
        wider = self.covariance.with_task(belief.correlations(near, apart, chance))
        belief_after = belief.append(apart, chance)
        if n_tasks >= MAX_TASKS:  # no table of all pairs, and no intervals
            return wider, replace(structure_of(wider), positions=points), belief_after
        distances = newcomer.draws(seed)
        drawn = belief.correlations(distances[:, -1, :-1], apart, chance)
        return wider, wider_structure(structure, wider, points, drawn, distances), belief_after

    def known_task(self, task: int) -> Fitted:
        expected = self.expected(Sources.of_known(task, *self.knows.shape))
        solution = solve_new(self.rows, expected, self.noise)
        model = longer_model(self.fitted.model, self.rows, self.structure, task)
        kept = replace(
            self.known,
            classes=self.known.classes.merge(task, self.known.class_means(self.rows)),
            exact=self.exact.merge(task, self.told(solution), self.errors(solution)),
        )
        return self.finish(replace(self.fitted, model=model, known=kept), task, expected, solution)

    def sides(self, belief: StructureBelief, near: Tensor, asked: Rows) -> Tensor:
        """(R, G) how likely the new task is of which group in each reading, given its targets."""
        chance = belief.frequencies()
        for reading in (belief.gap > 0).nonzero().flatten().tolist():
            evidence = []
            for group in torch.eye(chance.shape[1], dtype=torch.float64):
                sure = torch.cat([chance[:reading], group[None], chance[reading + 1 :]])
                evidence.append(self.evidence_of(belief.correlations(near, chance=sure), asked))
            chance[reading] = (chance[reading].log() + torch.tensor(evidence, dtype=torch.float64)).softmax(0)
        return chance

    def evidence_of(self, row: Tensor, asked: Rows) -> float:
        """What the rows ``asked`` say of correlations ``row`` (T,) with the known tasks."""
        sources = Sources.of_new(self.covariance.with_task(row), self.prior, self.knows)
        return solve_new(asked, self.expected(sources), self.noise).log_evidence

    def apart(self, row: Tensor, asked: Rows) -> float:
        """o of the new task, the mean of exp(-o) over what its targets leave probable, as o.

        Before they are seen it is as ``separation_belief`` says.
        """
        assert self.known.belief is not None
        tried = torch.tensor(APART, dtype=torch.float64)
        belief = separation_belief(self.known.belief, tried)
        evidence = [self.evidence_of(math.exp(-o) * row, asked) for o in APART]
        probability = (belief.clamp_min(1e-300).log() + torch.tensor(evidence, dtype=torch.float64)).softmax(0)
        return -math.log(float(probability @ (-tried).exp()))

    # -- what follows from the solution ----------------------------------------------------------------

    def told(self, solution: NewWeights) -> Tensor:
        """(K + 1,) what the rows tell about each weight."""
        weight = self.rows.weight.double()
        if self.rows.is_classification:
            curvature = shared_curvature(solution.outputs.softmax(-1), weight)
        else:
            curvature = weight / self.noise**2
        return information(self.rows, curvature, self.prior.scale)[0]

    def errors(self, solution: NewWeights) -> Tensor:
        """(2,) sum of squared left-out errors and number of rows, of a regression."""
        if self.rows.is_classification:
            return torch.zeros(2, dtype=torch.float64)
        weight = self.rows.weight.double() / self.rows.unit
        off = self.rows.y.double() - solution.left_out[:, 0]
        return torch.stack([weight @ off.square(), weight.sum()])

    def finish(self, whole: Fitted, task: int, expected: ExpectedWeights, solution: NewWeights) -> Fitted:
        """Weights and widths, noise, left-out scores and training loss of the task in the longer model."""
        model, scale = whole.model, self.prior.scale
        assert isinstance(model.head, DirectHead)
        assert model.head.log_scale is not None
        model.head.mean.data[task] = (solution.weights / scale).to(model.head.mean)
        told = self.told(solution)
        before = (expected.variance / scale**2).clamp_min(1e-18)
        deviation = (1 / (1 / before + told)).sqrt() * (whole.hyperparameters.width_factor or 1.0)
        model.head.log_scale.data[task] = deviation.log().to(model.head.log_scale)
        at_task = replace(self.rows, task=torch.full_like(self.rows.task, task), n_tasks=model.n_tasks)
        moments = TrainingMoments.of(model, at_task)
        if not self.rows.is_classification:
            self.set_noise(whole, task, moments)
        loss = float(training_loss(model, at_task, moments)[task] / self.rows.weight.sum())
        history = longer_history(whole.history, model.n_tasks, task, loss)
        return replace(whole, history=history, left_out=self.scores(whole, task, solution, moments))

    def set_noise(self, whole: Fitted, task: int, moments: TrainingMoments) -> None:
        """As ``calibrate_regression``, from the errors of all tasks; others keep theirs."""
        assert isinstance(whole.model.likelihood, GaussianNoise)
        assert whole.known is not None
        assert whole.known.exact is not None
        likelihood, weight = whole.model.likelihood, self.rows.weight.double()
        error = error_variances(*whole.known.exact.errors.T)[task]
        explained = weight @ moments.variance[:, 0] / weight.sum()
        deviation = torch.maximum(error - explained, LEAST_NOISE * error).sqrt().clamp_min(likelihood.floor)
        if likelihood.log_own is not None:
            likelihood.log_own.data[task] = deviation.log().to(likelihood.log_own) - likelihood.log_noise[0]

    def scores(self, whole: Fitted, task: int, solution: NewWeights, moments: TrainingMoments) -> LeftOutScores | None:
        """All left-out scores, with those of these rows."""
        if whole.left_out is None:
            return None
        left_out, model = solution.left_out, whole.model
        if self.rows.is_classification:
            logits = float(model.logit_scale) / self.prior.scale * left_out
            p = (logits / (1 + SHRINKAGE * moments.variance).sqrt()).softmax(-1)
            if whole.forest is not None and self.by_forest is not None:
                p = whole.forest.join(p, self.by_forest)
            score = 1 - p.gather(1, self.rows.y[:, None])[:, 0]
        else:
            score = (self.rows.y.double() - left_out[:, 0]).abs() / self.deviation(model, task, moments)
        return whole.left_out.append(score, task, self.rows.weight.double())

    def deviation(self, model: Model, task: int, moments: TrainingMoments) -> Tensor:
        assert isinstance(model.likelihood, GaussianNoise)
        noise = model.likelihood.scale()[task].double().cpu()
        return (noise.square() + moments.variance[:, 0]).sqrt()
