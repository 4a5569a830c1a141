"""The paper's system (``vmtl.paper``): variational multi-task learning and the methods that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from torch import Tensor

from vmtl._utils.json_values import Document
from vmtl._utils.types import Array, MatrixLike, VectorLike
from vmtl.data.rows import Rows
from vmtl.estimators.all_or_nothing import all_or_nothing
from vmtl.estimators.base import Missing
from vmtl.estimators.classification import BaseTaskClassifier
from vmtl.estimators.inputs.target_encoding import ClassWeight, TargetEncoder
from vmtl.estimators.inputs.training_rows import make_rows
from vmtl.estimators.regression import BaseTaskRegressor
from vmtl.estimators.variational_fit import (
    VariationalFit,
    check_variational,
    facts_of_method,
    history_table,
    load_variational,
    settings_of,
)
from vmtl.paper.choices import EncoderName, KLForm, MixingMode, Predictive
from vmtl.paper.fitted import FittedVMTL
from vmtl.paper.method import Method
from vmtl.paper.settings import Settings
from vmtl.paper.training.training import Progress

if TYPE_CHECKING:
    import pandas as pd


class VMTLClassifier(BaseTaskClassifier):
    """The paper's classification of several related tasks, and the methods that it compares with.

    A network is trained by gradient steps on the variational objective of Eq. 11. For data of your own,
    ``MultiTaskClassifier`` is the better start.

    Parameters
    ----------
    method : str or Method, default="vmtl"
        A name in ``vmtl.METHODS``, or a ``Method`` of your own.
    preset : {"paper", "literal", "released"}, default="paper"
        Where every option that is None takes its value from: the paper, Eq. 11 as printed, or the authors' code.
    encoder : {"linear", "noisy-linear", "mlp", "noisy-mlp"}, default=None
        The network q(z | x) of Eq. 8, or a simpler map.
    latent_dim : int, default=None
        K, the size of z.
    sharing : float in [0, 1], default=None
        r, how strongly the prior of w (Eq. 6) follows the other tasks: 1 is the paper, 0 is N(0, I).
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default=None
        How the KL to the mixture prior (Eq. 10) is computed.
    mixing : {"gumbel", "learnable", "mean"}, default=None
        How the mixing weights are found: by the Gumbel-Softmax (Eq. 7), by a softmax without noise, or all alike.
    tie_mixing : bool, default=None
        The same mixing weights for w and z.
    bayesian_z : bool, default=None
        False makes the representation z deterministic.
    bayesian_w : bool, default=None
        False makes the weights w deterministic.
    n_z : int, default=None
        L, the number of draws of z in training (Eq. 11) and prediction (Eq. 12).
    n_w : int, default=None
        M, the number of draws of w for each draw of z.
    max_steps : int, default=None
        Training steps.
    learning_rate : float, default=None
        First learning rate; the schedule of the preset stays.
    batch_rows : int, default=None
        Rows per class and task in a step, in regression ten times as many per task; 0 is all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default=None
        How predictions average over the posterior: by draws (Eq. 12), by moments in closed form, or not at all.
    class_weight : dict or "balanced", default=None
        Weight of every class, which multiplies ``sample_weight``; "balanced" gives all classes the same total.
    early_stopping : bool, default=False
        Stop when the likelihood of a hold-out of the training rows no longer improves.
    task_column : hashable, default=None
        Take the task from this column of X instead of ``tasks``: the name of a column of a DataFrame, or the position
        of a column.
    unknown_task : {"error", "average"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    device : str, default="cpu"
        Where torch computes during ``fit``.
    dtype : {"float32", "float64"}, default="float32"
        Numbers of all computations.
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
        Learned mixing weights for w and z (Eq. 7): row t says how much task t takes from each other task.
    sharing_ : Series of shape (T,)
        How strongly each task follows its mixture.
    history_ : DataFrame
        Every term of the objective at every recorded step and task.
    method_ : Method
        The method that was fitted.
    settings_ : Settings
        The settings of the fit: the preset with all options.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are text.

    Examples
    --------
    >>> from vmtl import VMTLClassifier
    >>> from vmtl.datasets import load_digits_domains
    >>> digits = load_digits_domains().subset(range(0, 1797, 9))
    >>> model = VMTLClassifier(encoder="linear", max_steps=20, random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict_proba(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2, 10)
    """

    _system: ClassVar[Literal["gp", "paper"]] = "paper"
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"tasks": True, "checkpoint": UNUSED, "callback": UNUSED}

    def __init__(
        self,
        method: str | Method = "vmtl",
        preset: str = "paper",
        *,
        encoder: EncoderName | None = None,
        latent_dim: int | None = None,
        sharing: float | None = None,
        kl_form: KLForm | None = None,
        mixing: MixingMode | None = None,
        tie_mixing: bool | None = None,
        bayesian_z: bool | None = None,
        bayesian_w: bool | None = None,
        n_z: int | None = None,
        n_w: int | None = None,
        max_steps: int | None = None,
        learning_rate: float | None = None,
        batch_rows: int | None = None,
        predictive: Predictive | None = None,
        class_weight: ClassWeight = None,
        early_stopping: bool = False,
        task_column: Hashable | None = None,
        unknown_task: Literal["error", "average"] = "error",
        missing: Missing = "error",
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.preset = preset
        self.encoder = encoder
        self.latent_dim = latent_dim
        self.sharing = sharing
        self.kl_form = kl_form
        self.mixing = mixing
        self.tie_mixing = tie_mixing
        self.bayesian_z = bayesian_z
        self.bayesian_w = bayesian_w
        self.n_z = n_z
        self.n_w = n_w
        self.max_steps = max_steps
        self.learning_rate = learning_rate
        self.batch_rows = batch_rows
        self.predictive = predictive
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.task_column = task_column
        self.unknown_task = unknown_task
        self.missing = missing
        self.device = device
        self.dtype = dtype
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        checkpoint: str | Path | None = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Fit all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Training rows of all tasks. Columns of a DataFrame may hold numbers, text and dates.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row, any hashable label; None for one task, or with ``task_column``.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts; a row of weight 2 is a row twice.
        checkpoint : path, default=None
            A folder from which an interrupted call continues.
        callback : callable, default=None
            Called with the ``Progress`` of each step.

        Returns
        -------
        self
            The fitted estimator; after an error it is as it was before.
        """
        fit = VariationalFit(self, checkpoint, callback)
        with all_or_nothing(self):
            self._fit(X, y, tasks, sample_weight, fit.run)
        return self

    def settings(self) -> Settings:
        """The preset with every option that is not None."""
        return settings_of(self)

    @property
    def history_(self) -> pd.DataFrame:
        """DataFrame, one row per recorded step and task: raw terms, their scales, tau, learning rate and seconds."""
        return history_table(self._fitted.history, self.tasks_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_variational(self)

    def _make_rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, encoder: TargetEncoder) -> Rows:
        return make_rows(x, y, codes, weight, n_tasks, encoder, dtype=self.dtype, device=self.device)

    def _load_fitted(self, document: Document, tensors: dict[str, Tensor], path: str) -> FittedVMTL:
        return load_variational(self, document, tensors, path)

    def _file_facts(self) -> dict[str, object]:
        return facts_of_method(self)


class VMTLRegressor(BaseTaskRegressor):
    """The paper's regression of several related tasks, and the methods that it compares with.

    A network is trained by gradient steps on the variational objective of Eq. 11. For data of your own,
    ``MultiTaskRegressor`` is the better start.

    Parameters
    ----------
    method : str or Method, default="vmtl"
        A name in ``vmtl.METHODS``, or a ``Method`` of your own.
    preset : {"paper", "literal", "released"}, default="paper"
        Where every option that is None takes its value from: the paper, Eq. 11 as printed, or the authors' code.
    encoder : {"linear", "noisy-linear", "mlp", "noisy-mlp"}, default=None
        The network q(z | x) of Eq. 8, or a simpler map.
    latent_dim : int, default=None
        K, the size of z.
    sharing : float in [0, 1], default=None
        r, how strongly the prior of w (Eq. 6) follows the other tasks: 1 is the paper, 0 is N(0, I).
    kl_form : {"bound", "monte-carlo", "moment-matched", "weighted-sum"}, default=None
        How the KL to the mixture prior (Eq. 10) is computed.
    mixing : {"gumbel", "learnable", "mean"}, default=None
        How the mixing weights are found: by the Gumbel-Softmax (Eq. 7), by a softmax without noise, or all alike.
    tie_mixing : bool, default=None
        The same mixing weights for w and z.
    bayesian_z : bool, default=None
        False makes the representation z deterministic.
    bayesian_w : bool, default=None
        False makes the weights w deterministic.
    n_z : int, default=None
        L, the number of draws of z in training (Eq. 11) and prediction (Eq. 12).
    n_w : int, default=None
        M, the number of draws of w for each draw of z.
    max_steps : int, default=None
        Training steps.
    learning_rate : float, default=None
        First learning rate; the schedule of the preset stays.
    batch_rows : int, default=None
        Rows per class and task in a step, in regression ten times as many per task; 0 is all rows.
    predictive : {"monte-carlo", "moment", "mean"}, default=None
        How predictions average over the posterior: by draws (Eq. 12), by moments in closed form, or not at all.
    early_stopping : bool, default=False
        Stop when the likelihood of a hold-out of the training rows no longer improves.
    task_column : hashable, default=None
        Take the task from this column of X instead of ``tasks``: the name of a column of a DataFrame, or the position
        of a column.
    unknown_task : {"error", "average"}, default="error"
        A task at prediction that was not in training is an error, or predicted as the average of all tasks.
    missing : {"error", "impute"}, default="error"
        Gaps in X are refused, or filled with the column's mean beside an indicator.
    device : str, default="cpu"
        Where torch computes during ``fit``.
    dtype : {"float32", "float64"}, default="float32"
        Numbers of all computations.
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
        Learned mixing weights for w and z (Eq. 7): row t says how much task t takes from each other task.
    sharing_ : Series of shape (T,)
        How strongly each task follows its mixture.
    history_ : DataFrame
        Every term of the objective at every recorded step and task.
    method_ : Method
        The method that was fitted.
    settings_ : Settings
        The settings of the fit: the preset with all options.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are text.

    Examples
    --------
    >>> from vmtl import VMTLRegressor
    >>> from vmtl.datasets import load_rotated_digits
    >>> digits = load_rotated_digits().subset(range(0, 1797, 9))
    >>> model = VMTLRegressor(encoder="linear", max_steps=20, random_state=0)
    >>> model.fit(digits.X, digits.labels, tasks=digits.tasks).predict(digits.X[:2], tasks=digits.tasks[:2]).shape
    (2,)
    """

    _system: ClassVar[Literal["gp", "paper"]] = "paper"
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"tasks": True, "checkpoint": UNUSED, "callback": UNUSED}

    def __init__(
        self,
        method: str | Method = "vmtl",
        preset: str = "paper",
        *,
        encoder: EncoderName | None = None,
        latent_dim: int | None = None,
        sharing: float | None = None,
        kl_form: KLForm | None = None,
        mixing: MixingMode | None = None,
        tie_mixing: bool | None = None,
        bayesian_z: bool | None = None,
        bayesian_w: bool | None = None,
        n_z: int | None = None,
        n_w: int | None = None,
        max_steps: int | None = None,
        learning_rate: float | None = None,
        batch_rows: int | None = None,
        predictive: Predictive | None = None,
        early_stopping: bool = False,
        task_column: Hashable | None = None,
        unknown_task: Literal["error", "average"] = "error",
        missing: Missing = "error",
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.preset = preset
        self.encoder = encoder
        self.latent_dim = latent_dim
        self.sharing = sharing
        self.kl_form = kl_form
        self.mixing = mixing
        self.tie_mixing = tie_mixing
        self.bayesian_z = bayesian_z
        self.bayesian_w = bayesian_w
        self.n_z = n_z
        self.n_w = n_w
        self.max_steps = max_steps
        self.learning_rate = learning_rate
        self.batch_rows = batch_rows
        self.predictive = predictive
        self.early_stopping = early_stopping
        self.task_column = task_column
        self.unknown_task = unknown_task
        self.missing = missing
        self.device = device
        self.dtype = dtype
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        tasks: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        checkpoint: str | Path | None = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Fit all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, D)
            Training rows of all tasks. Columns of a DataFrame may hold numbers, text and dates.
        y : array-like of shape (n,)
            Their targets.
        tasks : array-like of shape (n,) or a single label, default=None
            The task of each row, any hashable label; None for one task, or with ``task_column``.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts; a row of weight 2 is a row twice.
        checkpoint : path, default=None
            A folder from which an interrupted call continues.
        callback : callable, default=None
            Called with the ``Progress`` of each step.

        Returns
        -------
        self
            The fitted estimator; after an error it is as it was before.
        """
        fit = VariationalFit(self, checkpoint, callback)
        with all_or_nothing(self):
            self._fit(X, y, tasks, sample_weight, fit.run)
        return self

    def settings(self) -> Settings:
        """The preset with every option that is not None."""
        return settings_of(self)

    @property
    def history_(self) -> pd.DataFrame:
        """DataFrame, one row per recorded step and task: raw terms, their scales, tau, learning rate and seconds."""
        return history_table(self._fitted.history, self.tasks_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_variational(self)

    def _make_rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, encoder: TargetEncoder) -> Rows:
        return make_rows(x, y, codes, weight, n_tasks, encoder, dtype=self.dtype, device=self.device)

    def _load_fitted(self, document: Document, tensors: dict[str, Tensor], path: str) -> FittedVMTL:
        return load_variational(self, document, tensors, path)

    def _file_facts(self) -> dict[str, object]:
        return facts_of_method(self)
