"""The default: a multi-task Gaussian process (``vmtl.gp``)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl.data.row_order import in_canonical_order
from vmtl.data.stored.stored_rows import StoredRows
from vmtl.estimators.base import FitJob, Missing, UnknownTask, check_choice
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.inputs.target_encoding import ClassWeight
from vmtl.estimators.regression import BaseTaskRegressor

if TYPE_CHECKING:
    from vmtl.gp.fitted import FittedGP

Relatedness: TypeAlias = Literal["learned", "even", "none", "pooled"]
RELATEDNESS = ("learned", "even", "none", "pooled")


class MultiTaskClassifier(BaseTaskClassifier):
    """Classification of several related tasks that share their classes.

    A multi-task Gaussian process: every task has a classifier of its own, and how much it takes from the classifiers of
    each other task is learned from the rows.

    Parameters
    ----------
    relatedness : {"learned", "even", "none", "pooled"}, default="learned"
        What tasks may share: what the rows say, task by task; the same with every other task; nothing, each task on its
        own; or everything, as if they were one.
    forest : bool, default=True
        Whether a random forest has a say in the predictions of small tables, as much as left-out rows give it
        (``hyperparameters_.forest_share``).
    class_weight : dict or "balanced", default=None
        Weight of every class, which multiplies ``sample_weight``; "balanced" gives all classes the same total.
    task_column : hashable, default=None
        Take the task from this column of X instead of ``tasks``: the name of a column of a DataFrame, or the position
        of a column.
    unknown_task : {"error", "average", "similar"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks, or of those
        that its rows resemble: then a prediction depends on the rows of that task in the same call.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    n_threads : int, default=None
        Threads for torch during ``fit`` and ``predict``; None leaves the process as it is.
    verbose : int, default=0
        1 shows a progress bar on standard error.
    random_state : int, RandomState instance or None, default=None
        The source of all random draws; an int makes a fit repeatable to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, in the order of the columns of ``predict_proba``.
    tasks_ : ndarray of shape (T,)
        The task labels, in the order of every axis of tasks.
    alpha_, beta_ : DataFrame of shape (T, T)
        Mixing weights: row t says how much the classifier, and the representation, of task t takes from each other
        task. With more than 1,000 tasks there is no such table; ``teachers(task)`` says from whom one of them learns.
    sharing_ : Series of shape (T,)
        How strongly each task follows its mixture: 0 is on its own.
    hyperparameters_ : dataclass
        What was inferred besides the weights.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are text.

    Examples
    --------
    >>> from vmtl import MultiTaskClassifier
    >>> from vmtl.datasets import load_digits_domains
    >>> digits = load_digits_domains().subset(range(0, 1797, 18))
    >>> model = MultiTaskClassifier(random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict_proba(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2, 10)
    """

    _unknown_task_choices: ClassVar[tuple[str, ...]] = ("error", "average", "similar")
    _system: ClassVar[Literal["gp", "paper"]] = "gp"

    def __init__(
        self,
        relatedness: Relatedness = "learned",
        *,
        forest: bool = True,
        class_weight: ClassWeight = None,
        task_column: Hashable | None = None,
        unknown_task: UnknownTask = "error",
        missing: Missing = "error",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.relatedness = relatedness
        self.forest = forest
        self.class_weight = class_weight
        self.task_column = task_column
        self.unknown_task = unknown_task
        self.missing = missing
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("relatedness", self.relatedness, RELATEDNESS)

    def _run(self, job: FitJob) -> tuple[FittedGP, int]:
        return fit_gp(self.relatedness, bool(self.forest), job)

    def _load_fitted(self, document: Document, tensors: dict[str, Tensor], path: str) -> FittedGP:
        return load_gp(document, tensors, is_classification=True)


class MultiTaskRegressor(BaseTaskRegressor):
    """Regression of several related tasks.

    A multi-task Gaussian process: every task has a function of its own, and how much it takes from the functions of
    each other task is learned from the rows.

    Parameters
    ----------
    relatedness : {"learned", "even", "none", "pooled"}, default="learned"
        What tasks may share: what the rows say, task by task; the same with every other task; nothing, each task on its
        own; or everything, as if they were one.
    task_column : hashable, default=None
        Take the task from this column of X instead of ``tasks``: the name of a column of a DataFrame, or the position
        of a column.
    unknown_task : {"error", "average", "similar"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks, or of those
        that its rows resemble: then a prediction depends on the rows of that task in the same call.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    n_threads : int, default=None
        Threads for torch during ``fit`` and ``predict``; None leaves the process as it is.
    verbose : int, default=0
        1 shows a progress bar on standard error.
    random_state : int, RandomState instance or None, default=None
        The source of all random draws; an int makes a fit repeatable to the bit.

    Attributes
    ----------
    tasks_ : ndarray of shape (T,)
        The task labels, in the order of every axis of tasks.
    alpha_, beta_ : DataFrame of shape (T, T)
        Mixing weights: row t says how much the regressor, and the representation, of task t takes from each other task.
        With more than 1,000 tasks there is no such table; ``teachers(task)`` says from whom one of them learns.
    sharing_ : Series of shape (T,)
        How strongly each task follows its mixture: 0 is on its own.
    hyperparameters_ : dataclass
        What was inferred besides the weights.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are text.

    Examples
    --------
    >>> from vmtl import MultiTaskRegressor
    >>> from vmtl.datasets import load_rotated_digits
    >>> digits = load_rotated_digits().subset(range(0, 1797, 18))
    >>> model = MultiTaskRegressor(random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2,)
    """

    _unknown_task_choices: ClassVar[tuple[str, ...]] = ("error", "average", "similar")
    _system: ClassVar[Literal["gp", "paper"]] = "gp"

    def __init__(
        self,
        relatedness: Relatedness = "learned",
        *,
        task_column: Hashable | None = None,
        unknown_task: UnknownTask = "error",
        missing: Missing = "error",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.relatedness = relatedness
        self.task_column = task_column
        self.unknown_task = unknown_task
        self.missing = missing
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("relatedness", self.relatedness, RELATEDNESS)

    def _run(self, job: FitJob) -> tuple[FittedGP, int]:
        return fit_gp(self.relatedness, False, job)

    def _load_fitted(self, document: Document, tensors: dict[str, Tensor], path: str) -> FittedGP:
        return load_gp(document, tensors, is_classification=False)


def fit_gp(relatedness: Relatedness, forest: bool, job: FitJob) -> tuple[FittedGP, int]:
    """Fit the Gaussian process; it is loaded when it is needed.

    Rows in memory are sorted first, so that their order does not matter, and a row of weight 2 is a row twice.
    """
    from vmtl.gp.fit import fit

    rows = job.rows if isinstance(job.rows, StoredRows) else in_canonical_order(job.rows)

    def on_phase(phase: str) -> None:
        job.show(phase, 0)

    fitted = fit(rows, relatedness=relatedness, forest=forest, seed=job.seed, on_phase=on_phase)
    return fitted, job.seed


def load_gp(document: Document, tensors: dict[str, Tensor], is_classification: bool) -> FittedGP:
    """The fitted Gaussian process of a file."""
    from vmtl.gp.fitted import FittedGP

    return FittedGP.from_file(document["fitted"], tensors, is_classification=is_classification)
