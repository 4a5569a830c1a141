"""What both estimators share: fitting, predicting, saving and loading."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, TypeVar

import numpy as np
import torch
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from vmtl._utils import tensor_files
from vmtl._utils.threads import check_device, check_threads, threads
from vmtl._utils.types import Array
from vmtl.config.presets import get_preset
from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.estimators import model_file
from vmtl.estimators.fitted_attributes import Learned
from vmtl.estimators.inputs import check_prediction, column_or_error, encode_tasks, task_values, unique_tasks
from vmtl.estimators.progress import progress_bar
from vmtl.estimators.validation import Reader
from vmtl.inference import fitting
from vmtl.inference.fitted import Fitted
from vmtl.inference.prediction import Predictor
from vmtl.inference.variational.checkpoints import Checkpoint, fingerprint
from vmtl.inference.variational.early_stopping import EarlyStopping
from vmtl.inference.variational.training import DivergenceError, Progress, Trainer
from vmtl.methods import get_method
from vmtl.model.method import Method

OPTIONS = (
    "encoder",
    "latent_dim",
    "sharing",
    "kl_form",
    "mixing",
    "tie_mixing",
    "bayesian_z",
    "bayesian_w",
    "n_z",
    "n_w",
    "max_steps",
    "batch_rows",
    "predictive",
)
DTYPES = {"float32": torch.float32, "float64": torch.float64}
Prediction = TypeVar("Prediction")


class BaseMultiTask(Learned, Reader):
    """The estimators' common part."""

    __metadata_request__fit = {"checkpoint": UNUSED, "callback": UNUSED}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags

    # -- fitting ---------------------------------------------------------------------------------------

    def settings(self) -> Settings:
        """The preset with every option that is not None."""
        settings = get_preset(self.preset)
        options = {name: getattr(self, name) for name in OPTIONS}
        if self.learning_rate is not None:
            if not isinstance(self.learning_rate, Real) or not float(self.learning_rate) > 0:
                raise ValueError(f"learning_rate must be positive; got {self.learning_rate!r}.")
            name, _, *rest = settings.learning_rate
            options["learning_rate"] = (name, float(self.learning_rate), *rest)
        settings = settings.with_options(**options)
        draws = {"predict_z": self.n_z, "predict_w": self.n_w}
        return settings.with_options(**draws)

    def _encode_target(self, y: Any, sample_weight: Array) -> tuple[Array, Array, int]:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tasks: Any = None,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        callback: Callable[..., None] | None = None,
    ) -> Self:
        """Fit all tasks together.

        X : (n, D) array or DataFrame; y : (n,) targets; tasks : (n,) hashable task labels, None for one task.
        checkpoint : folder from which an interrupted call continues; callback : called with each step's Progress.
        """
        with all_or_nothing(self):
            self._fit(X, y, tasks, sample_weight, checkpoint, callback)
        return self

    def _fit(
        self, X: Any, y: Any, tasks: Any, sample_weight: Any, checkpoint: Any, callback: Callable[..., None] | None
    ) -> None:
        method, settings = get_method(self.method), self.settings()
        self._check_choices()
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        x, labels = self._features(X, tasks, y=y, reset=True)
        weight = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        known = unique_tasks(labels)
        codes = encode_tasks(labels, known, allow_unknown=False)
        y, weight, n_classes = self._encode_target(y, weight)
        total = np.bincount(codes, weights=weight, minlength=len(known))
        if (total <= 0).any():
            raise ValueError(f"Task {known[int(total.argmin())]!r} has no rows with a positive sample_weight; drop it.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = self._rows(x, y, codes, weight, len(known), n_classes)
        with threads(self.n_threads):
            try:
                run = self._train(method, settings, rows, seed, checkpoint, callback, (x, y, codes, weight))
            except DivergenceError as error:
                task = None if error.task is None else repr(known[error.task])
                raise DivergenceError(error.step, error.term, error.task, task) from None
        self.tasks_ = np.empty(len(known), dtype=object)
        self.tasks_[:] = known
        self._fitted, self.seed_ = run
        self.method_, self.settings_ = method, self._fitted.model.settings
        self._predictor = self._make_predictor()

    def _check_choices(self) -> None:
        for name, allowed in (
            ("unknown_task", ("error", "average")),
            ("missing", ("error", "impute")),
            ("dtype", tuple(DTYPES)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")
        check_threads(self.n_threads)
        check_device(self.device)
        if not isinstance(self.task_column, Hashable):
            raise ValueError(f"task_column must be the name of a column; got {self.task_column!r}.")

    def _rows(self, x: Array, y: Array, codes: Array, weight: Array, n_tasks: int, n_classes: int) -> Rows:
        dtype, device = DTYPES[self.dtype], torch.device(self.device)
        is_classification = self.__sklearn_tags__().estimator_type == "classifier"

        def tensor(value: Array, kind: torch.dtype) -> torch.Tensor:
            return torch.as_tensor(np.require(value, requirements=["C", "W"]), dtype=kind, device=device)

        return Rows(
            tensor(x, dtype),
            tensor(y, torch.int64 if is_classification else dtype),
            tensor(codes, torch.int64),
            tensor(weight, dtype),
            n_tasks,
            n_classes,
            is_classification,
        )

    def _train(
        self,
        method: Method,
        settings: Settings,
        rows: Rows,
        seed: int,
        checkpoint: Any,
        callback: Callable[..., None] | None,
        arrays: tuple[Array, ...],
    ) -> tuple[Fitted, int]:
        """The fitted model and the seed it came from, which an interrupted run's checkpoint may have chosen."""
        hooks: list[fitting.Hook] = []
        keeper: Any = nullcontext()
        if checkpoint is not None:
            kind = {"estimator": type(self).__name__, "dtype": self.dtype, "early_stopping": bool(self.early_stopping)}
            run = fingerprint({"method": asdict(method), **settings.to_json(), **kind}, list(arrays))
            keeper = Checkpoint(checkpoint, run, seed, free_seed=self.random_state is None)
            hooks.append(keeper)
        if callback is not None:
            hooks.append(lambda trainer, progress: callback(progress))
        with keeper, progress_bar(bool(self.verbose)) as show:
            hooks.append(lambda trainer, progress: show(progress))

            def after_step(trainer: Trainer, progress: Progress) -> None:
                for hook in hooks:
                    hook(trainer, progress)

            prepare = None
            if checkpoint is not None:
                prepare, seed = keeper.resume, keeper.seed
            stopper = EarlyStopping(rows, seed) if self.early_stopping else None
            return fitting.fit(method, settings, rows, seed, hook=after_step, prepare=prepare, stopper=stopper), seed

    # -- predicting ------------------------------------------------------------------------------------

    def _make_predictor(self) -> Predictor:
        return Predictor(self._fitted.feature_map, self._fitted.model, self.settings_.predictive, self.seed_)

    def _predict_known(
        self,
        x: Array,
        codes: Array,
        predict: Callable[[Array, Array], Prediction],
        average: Callable[[list[Prediction]], Prediction],
    ) -> Prediction:
        """Predict each row under its task; rows of unknown tasks under every task, averaged."""
        unknown = np.flatnonzero(codes < 0)
        with threads(self.n_threads):
            found = predict(x, np.maximum(codes, 0))
            if len(unknown):
                tasks = range(len(self.tasks_))
                mixed = average([predict(x[unknown], np.full(len(unknown), t)) for t in tasks])
                for name, values in vars(mixed).items():
                    getattr(found, name)[unknown] = values
        check_prediction(vars(found).values(), x)
        return found

    def predict(self, X: Any, *, tasks: Any = None) -> Any:
        raise NotImplementedError

    def encode(self, X: Any, *, tasks: Any = None) -> Array:
        """(n, K) the mean representation of every row, for use with other models."""

        def read(x: Array, codes: Array) -> SimpleNamespace:
            return SimpleNamespace(z=self._predictor.features(x, codes))

        def average(found: list[SimpleNamespace]) -> SimpleNamespace:
            return SimpleNamespace(z=np.mean([each.z for each in found], axis=0))

        return self._in_parts(X, tasks, lambda x, codes: self._predict_known(x, codes, read, average).z)

    def score_tasks(self, X: Any, y: Any, *, tasks: Any = None) -> Any:
        """Series with the score of every task present in X: accuracy, or R^2."""
        import pandas as pd

        check_is_fitted(self)
        prediction = self.predict(X, tasks=tasks)
        if self.task_column is not None and tasks is None:
            tasks = column_or_error(X, self.task_column)[1]
        labels = task_values([self.tasks_[0]] * len(prediction) if tasks is None else tasks, len(prediction))
        y, names = np.asarray(y), unique_tasks(labels)
        codes = encode_tasks(labels, names, allow_unknown=False)
        scores = [self._task_score(y[codes == t], prediction[codes == t]) for t in range(len(names))]
        return pd.Series(scores, index=pd.Index(names, tupleize_cols=False))

    def _task_score(self, y: Array, prediction: Array) -> float:
        raise NotImplementedError

    def _frame(self, X: Any, **columns: Array) -> Any:
        import pandas as pd

        return pd.DataFrame(columns, index=X.index if hasattr(X, "iloc") else None)

    # -- files -----------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, metadata: dict[str, Any] | None = None) -> None:
        """Write the fitted model to one file: safetensors with a JSON header, never pickle.

        metadata : anything JSON can hold that should travel with the model; ``load`` gives it as ``metadata_``.
        """
        check_is_fitted(self)
        payload, tensors = model_file.describe(self)
        payload["metadata"] = getattr(self, "metadata_", {}) if metadata is None else metadata
        tensor_files.save(path, "model", payload, tensors)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that ``save`` wrote; predictions are the same to the bit."""
        payload, tensors = tensor_files.load(path, "model")
        if payload.get("estimator") != cls.__name__:
            raise tensor_files.ModelFileError(f"{path} holds a {payload.get('estimator')}; load it with that class.")
        made: Self = model_file.rebuild(cls, payload, tensors, str(path))
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


@contextmanager
def all_or_nothing(estimator: BaseMultiTask) -> Iterator[None]:
    """An error in between leaves the estimator as it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
