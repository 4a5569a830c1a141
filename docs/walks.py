"""The walks of the architecture page: functions in the order in which they are first called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What happens, and the function that does it."""

    what: str
    where: str  # dotted name below ``vmtl``


@dataclass(frozen=True)
class Walk:
    """Functions in the order in which they are first called."""

    title: str
    steps: tuple[Step, ...]


ENTER = Walk(
    "fit",
    (
        Step("You call", "estimators.base.BaseMultiTask.fit"),
        Step("Rows and tasks are checked", "estimators.inputs.validation.InputValidationMixin._features"),
        Step("Inference begins", "inference.strategy.fit"),
        Step("Duplicates are merged", "inference.training_data.TrainingData.of"),
        Step("One place decides", "inference.strategy.choose_strategy"),
    ),
)
EXACT = Walk(
    "Exact: the default",
    (
        Step("Kernel, and which columns count", "inference.features.kernel_selection.select_kernel"),
        Step("Fixed features of it", "inference.recipes.steps.learn_features"),
        Step("Who is like whom; scales", "inference.exact.weight_prior.infer_prior"),
        Step("Model at these values", "inference.recipes.steps.build_model"),
        Step("Means of q(w), solved", "inference.exact.weight_prior.solve"),
        Step("Widths, in closed form", "inference.recipes.exact.set_widths"),
        Step("A forest, for small tables", "inference.forest.growing.grow_forest"),
        Step("Confidence, by left-out rows", "inference.recipes.exact.calibrate"),
    ),
)
POINT = Walk(
    "Point: no posterior of w",
    (
        Step("Kernel, and which columns count", "inference.features.kernel_selection.select_kernel"),
        Step("Fixed features of it", "inference.recipes.steps.learn_features"),
        Step("s0; tasks share nothing", "inference.exact.weight_prior.infer_prior"),
        Step("Model at these values", "inference.recipes.steps.build_model"),
        Step("w, solved", "inference.exact.weight_prior.solve"),
        Step("The rest, trained", "inference.recipes.point.train_the_rest"),
        Step("Confidence, by left-out rows", "inference.recipes.point.calibrate"),
    ),
)
VARIATIONAL = Walk(
    "Variational: the paper",
    (
        Step("No kernel to choose", "inference.features.kernel_selection.assume_kernel"),
        Step("Scaled columns", "inference.recipes.steps.learn_features"),
        Step("Every task alike", "inference.recipes.variational.initial_structure"),
        Step("Model at its first weights", "inference.recipes.steps.build_model"),
        Step("The training loop", "inference.variational.run.train_model"),
        Step("Terms of Eq. 11", "model.objective.Objective.terms"),
    ),
)
LEAVE = Walk("fitted", (Step("The result, complete", "inference.fitted.Fitted.complete"),))
PREDICT = Walk(
    "predict_proba",
    (
        Step("You call", "estimators.classifier.MultiTaskClassifier.predict_proba"),
        Step("Part by part, if X is large", "estimators.inputs.validation.InputValidationMixin._in_parts"),
        Step("X and tasks as in fit", "estimators.inputs.validation.InputValidationMixin._prepare"),
        Step("Known and unknown tasks", "estimators.base.BaseMultiTask._predict_known"),
        Step("Probabilities of all rows", "inference.prediction.Predictor.probabilities"),
        Step("Blocks of one fixed shape", "inference.prediction.Predictor._blocks"),
        Step("Features of the rows", "inference.features.kernel_map.KernelMap.forward"),
        Step("q(z | x)", "model.encoders.Encoder.forward"),
        Step("Moments, draws or means", "inference.prediction.Predictor._class_block"),
        Step("Probabilities of a block", "inference.prediction.Predictor._moment_block"),
        Step("Mean and variance of logits", "model.logits.logit_moments"),
        Step("The forest's say, if it has one", "inference.forest.trees.Forest.forward"),
    ),
)
TABLE = Walk(
    "vmtl fit train.csv",
    (
        Step("You type", "cli.fit.fit"),
        Step("The file becomes a Problem", "datasets.table_files.read_table"),
        Step("Separator and cells", "datasets.frame_files.read_frame"),
        Step("Number, date or text?", "data.column_types.column_format"),
        Step("Warnings about odd columns", "cli._support.advice.warnings_about"),
        Step("The estimator is fitted", "estimators.base.BaseMultiTask.fit"),
        Step("Means, levels and gaps are learned", "data.preprocessing.TablePreprocessor.fit"),
        Step("Columns become numbers", "data.preprocessing.TablePreprocessor.transform"),
    ),
)
WALKS = {
    "fit": ENTER,
    "exact": EXACT,
    "point": POINT,
    "variational": VARIATIONAL,
    "predict": PREDICT,
    "table": TABLE,
}
