"""A fitted estimator as one ONNX file, which needs neither Python nor torch where it runs."""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from vmtl import __version__
from vmtl._utils.atomic_files import write_atomically
from vmtl._utils.messages import quoted
from vmtl._utils.missing_extra import require
from vmtl._utils.types import Array
from vmtl.serving.facts import as_given, describe
from vmtl.serving.prediction_module import PredictionModule, in_double

if TYPE_CHECKING:
    from vmtl.serving.facts import Estimator

#: How far a file may be from the model: absolute, of probabilities and entropies, and of the target in units of its
#: deviation.
TOLERANCE = 1e-5
#: Rows that a file is tried on before it is written.
TRIED_ROWS = 64


def export_onnx(model: Estimator, path: str | Path) -> None:
    """Write a fitted estimator as one ONNX file.

    Its inputs are ``x`` (n, columns), float64, the raw numeric columns in the order of training with NaN for gaps, and
    ``task`` (n,), int64, places in ``tasks_``. Its outputs are ``probabilities`` (n, C) or ``prediction`` (n,), and
    ``total``, ``aleatoric`` and ``epistemic`` (n,) as in ``uncertainty``. Rows that the estimator would refuse are NaN.
    Columns, tasks and classes stand in the metadata of the file, as JSON.

    Parameters
    ----------
    model : MultiTaskClassifier or MultiTaskRegressor
        A fitted estimator, all of whose columns are numbers or dates (days since 1970-01-01).
    path : path
        The file to write; it appears only after onnxruntime has given the same predictions from it.

    Notes
    -----
    The file computes in double precision. If an estimator that computes in single precision is further from that than
    1e-5, there is a warning.
    """
    check_is_fitted(model)
    _check_columns(model)
    onnx, runtime = _import_onnx()
    module = PredictionModule(model).eval()
    program = _convert(module, _examples(model))
    content = _finish(onnx, program.model_proto, describe(model)).SerializeToString()
    _try_out(runtime, content, model)
    write_atomically(Path(path), content)


def _check_columns(model: Estimator) -> None:
    """Text cannot be exported."""
    kinds = {} if model.preprocessor_ is None else model.preprocessor_.kinds_
    text = [name for name, kind in kinds.items() if kind == "text"]
    if text:
        raise ValueError(
            f"An ONNX file takes numbers, but the model was fitted on text in {quoted(text)}; fit it without, or on "
            "numbers in its place, or use `vmtl serve`."
        )


def _import_onnx() -> tuple[Any, Any]:
    require("onnx", "Export", "onnx", "onnxruntime", "onnxscript")  # torch exports by onnxscript
    import onnx
    import onnxruntime

    return onnx, onnxruntime


def _examples(model: Estimator) -> tuple[Array, Array]:
    """Rows (n, columns) like those of training, and tasks; gaps where the model fills them."""
    rng = np.random.default_rng(0)
    fitted, n_columns = model._fitted, int(model.n_features_in_)
    if hasattr(fitted, "feature_map"):
        known = fitted.feature_map.landmarks.numpy()
        x = known[rng.integers(len(known), size=TRIED_ROWS)]
        x = x + 0.1 * known.std(axis=0) * rng.standard_normal(x.shape)
    else:
        x = rng.standard_normal((TRIED_ROWS, n_columns))  # the paper's methods keep no training rows
    if model.preprocessor_ is not None:
        _, arrays = model.preprocessor_.state()
        x = x[:, : len(arrays["mean"])] * arrays["scale"] + arrays["mean"]
        if model.preprocessor_.missing == "impute":
            x[::8, 0] = np.nan
    return x, np.arange(TRIED_ROWS) % len(model.tasks_)


def _convert(module: PredictionModule, examples: tuple[Array, Array]) -> torch.onnx.ONNXProgram:
    """The module as an ONNX program for any number of rows."""
    rows = torch.export.Dim("rows", min=1)
    arguments = tuple(torch.from_numpy(value) for value in examples)
    with _quiet(), torch.no_grad():
        with _Substitutes():
            traced = torch.export.export(module, arguments, dynamic_shapes=({0: rows}, {0: rows}), strict=False)
        program = torch.onnx.export(
            traced, dynamo=True, input_names=["x", "task"], output_names=list(module.outputs), verbose=False
        )
    assert program is not None
    return program


class _Substitutes(TorchFunctionMode):
    """What ONNX or its runtime does not have in double precision, or not for one column, by what it has."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        ours = {
            torch.searchsorted: search_sorted,
            F.elu: exponential_unit,
            F.softplus: soft_plus,
            Tensor.clamp: clamp,
        }
        return ours.get(func, func)(*args, **(kwargs or {}))


def exponential_unit(x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``torch.nn.functional.elu``, which onnxruntime has in single precision only."""
    return torch.where(x > 0, x, alpha * (x.clamp_max(0).exp() - 1))


def soft_plus(x: Tensor) -> Tensor:
    """``torch.nn.functional.softplus``, which onnxruntime has in single precision only."""
    return x.clamp_min(0) + (1 + (-x.abs()).exp()).log()


def clamp(x: Tensor, low: Any, high: Any) -> Tensor:
    """``torch.clamp`` between two bounds: the exporter loses bounds that are tensors of one number."""
    return torch.where(x < low, low, torch.where(x > high, high, x))


def search_sorted(column: Tensor, x: Tensor, *, right: bool = False) -> Tensor:
    """``torch.searchsorted`` without it: the places of x (..., n) in sorted columns (..., m), by halving.

    After the step of 2^b the place is right but for its last b bits.
    """
    size = column.shape[-1]
    place = torch.zeros_like(x, dtype=torch.int64)
    for bit in reversed(range(size.bit_length())):
        further = place + 2**bit
        value = column.gather(-1, (further - 1).clamp_max(size - 1))
        passed = value <= x if right else value < x
        place = torch.where(passed & (further <= size), further, place)
    return place


def _finish(onnx: Any, document: Any, facts: Mapping[str, object]) -> Any:
    """The document with ``facts`` as its metadata, and the number of rows by that name."""
    onnx.helper.set_model_props(document, {name: json.dumps(value, default=str) for name, value in facts.items()})
    document.producer_name, document.producer_version = "vmtl", __version__
    del document.graph.value_info[:]  # shapes in between, which runtimes infer
    for value in (*document.graph.input, *document.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    return document


def run_file(runtime: Any, content: bytes, x: Array, task: Array) -> dict[str, Array]:
    """The outputs of an ONNX document by their names."""
    try:
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        values = session.run(None, {"x": x, "task": task})
    except Exception as error:  # onnxruntime's own errors share no base class
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"onnxruntime cannot run this model ({reason}); report this.") from error
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))


def _try_out(runtime: Any, content: bytes, model: Estimator) -> None:
    """The file says what the estimator says, or an error."""
    x, task = _examples(model)
    outputs = run_file(runtime, content, x, task)
    exact = copy.copy(model)
    exact._fitted = in_double(model._fitted)
    off = _distance(outputs, exact, x, task)
    if not off <= TOLERANCE:
        raise ValueError(f"The ONNX file would differ from the model by {off:.1g}, so it was not written; report this.")
    off = _distance(outputs, model, x, task)
    if off > TOLERANCE:
        warnings.warn(
            f"The model computes in single precision and differs by {off:.1g} from its ONNX file, which computes in "
            "double; fit with dtype='float64' to have both alike.",
            stacklevel=3,
        )


def _distance(outputs: dict[str, Array], model: Estimator, x: Array, task: Array) -> float:
    """The largest difference between outputs of a file and what a model says of the same rows."""
    X, tasks = as_given(model, x), model.tasks_[task]
    expected, scale = {**model.uncertainty(X, tasks=tasks)}, 1.0
    if hasattr(model, "classes_"):
        expected["probabilities"] = model.predict_proba(X, tasks=tasks)
    else:
        expected["prediction"], scale = model.predict(X, tasks=tasks), model.y_scale_
    return max(float(np.abs(outputs[name] - np.asarray(values)).max()) for name, values in expected.items()) / scale


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks on its own code."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
