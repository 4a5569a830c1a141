"""Every awkward input works or raises its documented error; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.reliable import Toy, make_toy
from vmtl import MultiTaskClassifier, MultiTaskRegressor
from vmtl._utils.tensor_files import ModelFileError

pytestmark = pytest.mark.usefixtures("inference")

OPTIONS: dict[str, Any] = {"max_steps": 3, "random_state": 0}


@dataclass(frozen=True)
class Case:
    """An input: what it changes of the toy problem, and the error it must raise (None: it works)."""

    change: Callable[[Toy], dict[str, Any]]
    error: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    kind: type[Exception] = ValueError


def with_value(value: float) -> Callable[[Toy], dict[str, Any]]:
    def change(toy: Toy) -> dict[str, Any]:
        X = toy.X.copy()
        X[4, 2] = value
        return {"X": X}

    return change


def as_frame(toy: Toy, **columns: Any) -> dict[str, Any]:
    frame = pd.DataFrame(toy.X, columns=[f"c{j}" for j in range(toy.X.shape[1])])
    return {"X": frame.assign(**columns)}


def strided(toy: Toy) -> dict[str, Any]:
    wide = np.zeros((2 * len(toy.X), 3 * toy.X.shape[1]))
    wide[::2, ::3] = toy.X
    return {"X": wide[::2, ::3]}


def read_only(toy: Toy) -> dict[str, Any]:
    X = toy.X.astype(np.float32)
    X.setflags(write=False)
    return {"X": X}


def dates(toy: Toy) -> Any:
    return pd.Timestamp("2024-02-28") + pd.to_timedelta(np.arange(len(toy.X)), unit="D")


LONG_NAME = "task " * 20_000
X_CASES: dict[str, Case] = {
    "NaN": Case(with_value(np.nan), r"X contains NaN in column 2; .*missing='impute'"),
    "NaN filled": Case(with_value(np.nan), options={"missing": "impute"}),
    "infinity": Case(with_value(np.inf), r"X contains infinity \(inf\) in column 2; replace it by a number or a gap"),
    "minus infinity": Case(with_value(-np.inf), r"X contains infinity \(inf\) in column 2"),
    "infinity filled": Case(with_value(np.inf), "infinite value", {"missing": "impute"}),
    "NaN in a named column": Case(
        lambda toy: as_frame(toy, c1=np.where(np.arange(len(toy.X)) == 3, np.nan, 1.0)), "NaN in column 'c1'"
    ),
    "two columns with NaN": Case(lambda toy: {"X": np.where(np.arange(6) < 2, np.nan, toy.X)}, r"column 0 and 1 more"),
    "huge": Case(with_value(1e30), r"beyond 1e\+15 in column 2, too large for dtype='float32'"),
    "huge in float64": Case(with_value(1e30), options={"dtype": "float64"}),
    "the largest double": Case(with_value(1.7e308), r"beyond 1e\+100 in column 2", {"dtype": "float64"}),
    "large": Case(with_value(1e9)),
    "tiny": Case(lambda toy: {"X": toy.X * 1e-30}),
    "denormal": Case(lambda toy: {"X": toy.X * 1e-310}),
    "constant column": Case(lambda toy: {"X": np.where(np.arange(6) == 1, 7.0, toy.X)}),
    "all columns constant": Case(lambda toy: {"X": np.ones_like(toy.X)}),
    "all zero": Case(lambda toy: {"X": np.zeros_like(toy.X)}),
    "duplicate columns": Case(lambda toy: {"X": np.hstack([toy.X, toy.X])}),
    "columns with one name": Case(lambda toy: {"X": pd.DataFrame(toy.X, columns=list("aabcde"))}, "'a' occurs twice"),
    "text columns with one name": Case(
        lambda toy: {"X": pd.DataFrame(toy.X, columns=list("aabcde")).astype(object).map(str)}, "'a' occurs twice"
    ),
    "one feature": Case(lambda toy: {"X": toy.X[:, :1]}),
    "no feature": Case(lambda toy: {"X": toy.X[:, :0]}, "0 feature"),
    "more features than rows": Case(lambda toy: {"X": np.tile(toy.X, (1, 40))}),
    "one dimension": Case(lambda toy: {"X": toy.X[:, 0]}, "Reshape your data"),
    "three dimensions": Case(lambda toy: {"X": toy.X[..., None]}, "dim 3"),
    "complex": Case(lambda toy: {"X": toy.X + 1j}, "Complex data not supported"),
    "objects that are numbers": Case(lambda toy: {"X": toy.X.astype(object)}),
    "objects that are not": Case(lambda toy: {"X": np.full(toy.X.shape, object())}, "float", kind=TypeError),
    "text that is not a number": Case(lambda toy: {"X": np.full(toy.X.shape, "a")}, "could not convert"),
    "dictionaries": Case(lambda toy: {"X": [{"a": 1}] * len(toy.X)}, "float", kind=TypeError),
    "booleans": Case(lambda toy: {"X": toy.X > 0}),
    "int8": Case(lambda toy: {"X": (toy.X * 10).astype(np.int8)}),
    "int64 beyond float32": Case(
        lambda toy: {"X": np.full(toy.X.shape, np.iinfo(np.int64).max)}, r"beyond 1e\+15 in column 0 and 5 more"
    ),
    "integers beyond int64": Case(lambda toy: {"X": np.full(toy.X.shape, 2**70, dtype=object)}, r"beyond 1e\+15"),
    "float16": Case(lambda toy: {"X": toy.X.astype(np.float16)}),
    "float64 in Fortran order": Case(lambda toy: {"X": np.asfortranarray(toy.X)}),
    "big-endian": Case(lambda toy: {"X": toy.X.astype(">f8")}),
    "long double": Case(lambda toy: {"X": toy.X.astype(np.longdouble)}),
    "not contiguous": Case(strided),
    "reversed": Case(lambda toy: {"X": toy.X[:, ::-1]}),
    "read-only": Case(read_only),
    "lists": Case(lambda toy: {"X": toy.X.tolist()}),
    "masked array": Case(lambda toy: {"X": np.ma.masked_array(toy.X)}),
    "sparse csr": Case(lambda toy: {"X": sparse.csr_matrix(toy.X)}),
    "sparse coo": Case(lambda toy: {"X": sparse.coo_array(toy.X)}),
    "sparse csc, filled": Case(lambda toy: {"X": sparse.csc_matrix(toy.X)}, options={"missing": "impute"}),
    "sparse with NaN": Case(lambda toy: {"X": sparse.csr_matrix(with_value(np.nan)(toy)["X"])}, "NaN in column 2"),
    "DataFrame": Case(lambda toy: as_frame(toy)),
    "DataFrame with text": Case(lambda toy: as_frame(toy, ward=np.where(toy.X[:, 0] > 0, "a", "é"))),
    "DataFrame with categories": Case(lambda toy: as_frame(toy, ward=pd.Categorical(np.where(toy.X[:, 0] > 0, 1, 2)))),
    "DataFrame with a text gap": Case(
        lambda toy: as_frame(toy, ward=np.where(toy.X[:, 0] > 0, "a", None)), "Values are missing in 'ward'"
    ),
    "DataFrame with dates": Case(lambda toy: as_frame(toy, seen=dates(toy))),
    "DataFrame with time spans": Case(
        lambda toy: as_frame(toy, spent=dates(toy) - pd.Timestamp("2024-01-01")), "time spans"
    ),
    "DataFrame with nullable integers": Case(
        lambda toy: as_frame(toy, n=pd.array(np.arange(len(toy.X)), dtype="Int64"))
    ),
    "DataFrame with a nullable gap": Case(
        lambda toy: as_frame(toy, n=pd.array([None, *range(len(toy.X) - 1)], dtype="Int64")), "NaN in column 'n'"
    ),
    "array of dates": Case(lambda toy: {"X": np.asarray(dates(toy))[:, None]}, "array of dates"),
    "array of time spans": Case(lambda toy: {"X": np.arange(len(toy.X)).astype("m8[D]")[:, None]}, "array of dates"),
    "all rows equal": Case(lambda toy: {"X": np.tile(toy.X[:1], (len(toy.X), 1))}),
    "no rows": Case(lambda toy: {"X": toy.X[:0], "y": toy.values[:0], "tasks": toy.tasks[:0]}, "0 sample"),
}
TASK_CASES: dict[str, Case] = {
    "none": Case(lambda toy: {"tasks": None}),
    "one row each": Case(lambda toy: {"tasks": np.arange(len(toy.X))}),
    "one row in one": Case(lambda toy: {"tasks": np.where(np.arange(len(toy.X)) == 0, "a", "b")}),
    "unicode": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "西 \u202e🏥\n", "été")}),
    "a very long name": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", LONG_NAME, "b")}),
    "formula and path": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "=cmd|'/c calc'!A0", "../../etc")}),
    "empty text": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "", "b")}),
    "numbers": Case(lambda toy: {"tasks": (toy.tasks == "west").astype(float)}),
    "mixed types": Case(lambda toy: {"tasks": [1 if name == "west" else name for name in toy.tasks]}),
    "tuples": Case(lambda toy: {"tasks": [(name, 1) for name in toy.tasks]}),
    "dates": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", "2024-01-01", "2024-01-02").astype("M8[D]")}),
    "int64 extremes": Case(lambda toy: {"tasks": np.where(toy.tasks == "west", -(2**63), 2**63 - 1)}),
    "categories": Case(lambda toy: {"tasks": pd.Series(pd.Categorical(toy.tasks))}),
    "an empty category": Case(
        lambda toy: {"tasks": pd.Series(pd.Categorical(toy.tasks, [*np.unique(toy.tasks), "z"]))}, "'z' has no rows"
    ),
    "weights that empty a task": Case(
        lambda toy: {"sample_weight": (toy.tasks != "west").astype(float)}, "'west' has no rows with a positive"
    ),
    "too few": Case(lambda toy: {"tasks": toy.tasks[:-1]}, "tasks has 89 labels but X has 90 rows"),
    "two dimensions": Case(lambda toy: {"tasks": toy.tasks[:, None]}, "one label per row"),
    "a word": Case(lambda toy: {"tasks": "west"}, "one label per row"),
    "a number": Case(lambda toy: {"tasks": 3}, "one label per row"),
    "missing label": Case(lambda toy: {"tasks": [None, *toy.tasks[1:]]}, "missing label"),
    "NaN label": Case(lambda toy: {"tasks": [np.nan, *range(len(toy.X) - 1)]}, "missing label"),
    "lists": Case(lambda toy: {"tasks": [[name] for name in toy.tasks]}, "hashable"),
}
WEIGHT_CASES: dict[str, Case] = {
    "negative": Case(lambda toy: {"sample_weight": -np.ones(len(toy.X))}, "[Nn]egative"),
    "NaN": Case(lambda toy: {"sample_weight": np.full(len(toy.X), np.nan)}, "NaN"),
    "all zero": Case(lambda toy: {"sample_weight": np.zeros(len(toy.X))}, "at least one non-zero"),
    "too few": Case(lambda toy: {"sample_weight": np.ones(3)}, "shape"),
    "a number": Case(lambda toy: {"sample_weight": 2.0}),
    "spread": Case(lambda toy: {"sample_weight": np.geomspace(1e-6, 1e6, len(toy.X))}),
}
LABEL_CASES: dict[str, Case] = {
    "one class": Case(lambda toy: {"y": np.zeros(len(toy.X), dtype=int)}),
    "a class of one row": Case(lambda toy: {"y": (np.arange(len(toy.X)) == 0).astype(int)}),
    "a class in one task only": Case(lambda toy: {"y": np.where(toy.tasks == "west", toy.labels, "low")}),
    "booleans": Case(lambda toy: {"y": toy.values > 0}),
    "negative numbers": Case(lambda toy: {"y": np.where(toy.values > 0, -7, 2**40)}),
    "numbers as text": Case(lambda toy: {"y": np.where(toy.values > 0, "10", "9")}),
    "unicode": Case(lambda toy: {"y": np.where(toy.values > 0, "ß\n", "漢" * 3000)}),
    "objects": Case(lambda toy: {"y": toy.labels.astype(object)}),
    "continuous": Case(lambda toy: {"y": toy.values}, "Unknown label type"),
    "missing text": Case(lambda toy: {"y": np.where(toy.values > 0, "a", None)}, "y contains a missing label"),
    "NaN": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.nan)}, "NaN"),
    "mixed types": Case(lambda toy: {"y": np.array([1, *toy.labels[1:]], dtype=object)}, "mixes text and numbers"),
    "dates": Case(lambda toy: {"y": np.where(toy.values > 0, "2024-01-01", "2024-01-02").astype("M8[D]")}),
    "two columns": Case(lambda toy: {"y": np.column_stack([toy.labels, toy.labels])}, "."),
    "too few": Case(lambda toy: {"y": toy.labels[:-1]}, "inconsistent numbers of samples"),
    "missing": Case(lambda toy: {"y": None}, "y"),
    "sparse": Case(lambda toy: {"y": sparse.csr_matrix(np.eye(len(toy.X)))}, "[Ss]parse", kind=TypeError),
}
TARGET_CASES: dict[str, Case] = {
    "constant": Case(lambda toy: {"y": np.full(len(toy.X), 5.0)}),
    "integers": Case(lambda toy: {"y": np.arange(len(toy.X))}),
    "large": Case(lambda toy: {"y": 1e60 * toy.values}),
    "too large": Case(lambda toy: {"y": 1e300 * toy.values}, "use a larger unit"),
    "tiny": Case(lambda toy: {"y": 1e-60 * toy.values}),
    "a large offset": Case(lambda toy: {"y": 1e12 + toy.values}),
    "NaN": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.nan)}, "NaN"),
    "infinity": Case(lambda toy: {"y": np.where(toy.values > 0, 1.0, np.inf)}, "inf"),
    "text": Case(lambda toy: {"y": toy.labels}, "use MultiTaskClassifier"),
    "numbers as text": Case(lambda toy: {"y": np.where(toy.values > 0, "1", "2")}, "."),
    "two columns": Case(lambda toy: {"y": np.column_stack([toy.values, toy.values])}, "one target per row"),
    "dates": Case(lambda toy: {"y": np.asarray(dates(toy))}, "y holds dates"),
    "complex": Case(lambda toy: {"y": toy.values + 1j}, "Complex"),
    "missing": Case(lambda toy: {"y": None}, "y"),
}
PARAMETER_CASES: dict[str, dict[str, Any]] = {
    "method": {"method": "none"},
    "preset": {"preset": "none"},
    "encoder": {"encoder": "none"},
    "latent_dim": {"latent_dim": 0},
    "latent_dim as text": {"latent_dim": "3"},
    "sharing": {"sharing": 1.5},
    "sharing NaN": {"sharing": np.nan},
    "kl_form": {"kl_form": "none"},
    "mixing": {"mixing": "none"},
    "n_z": {"n_z": -1},
    "max_steps": {"max_steps": 2.5},
    "batch_rows": {"batch_rows": -1},
    "batch_rows as a fraction": {"batch_rows": 0.5},
    "learning_rate": {"learning_rate": 0},
    "learning_rate as text": {"learning_rate": "fast"},
    "predictive": {"predictive": "none"},
    "unknown_task": {"unknown_task": "none"},
    "missing": {"missing": "none"},
    "dtype": {"dtype": "float16"},
    "device": {"device": "nowhere"},
    "n_threads": {"n_threads": 0},
    "n_threads as text": {"n_threads": "two"},
    "task_column": {"task_column": "none"},
    "random_state": {"random_state": "seed"},
}


def run(kind: Any, case: Case, toy: Toy) -> None:
    """Fit, and if that works predict the same rows: finite numbers, and the same with half of the rows."""
    inputs: dict[str, Any] = {"X": toy.X, "tasks": toy.tasks, **case.change(toy)}
    y = inputs.pop("y", toy.labels if kind is MultiTaskClassifier else toy.values)
    X, tasks = inputs.pop("X"), inputs.pop("tasks")
    model = kind(**OPTIONS, **case.options)
    if case.error is not None:
        with pytest.raises(case.kind, match=case.error) as caught:
            model.fit(X, y, tasks=tasks, **inputs)
        assert len(str(caught.value)) < 2000
        assert not hasattr(model, "tasks_")
        return
    model.fit(X, y, tasks=tasks, **inputs)
    assert np.isfinite(model.uncertainty(X, tasks=tasks).to_numpy()).all()
    found = model.predict(X, tasks=tasks)
    assert len(found) == len(toy.X)
    if kind is MultiTaskRegressor:
        assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("name", X_CASES)
def test_rows(name: str, kind: Any, toy: Toy) -> None:
    run(kind, X_CASES[name], toy)


@pytest.mark.parametrize("name", TASK_CASES)
def test_tasks(name: str, toy: Toy) -> None:
    run(MultiTaskClassifier, TASK_CASES[name], toy)


@pytest.mark.parametrize("name", WEIGHT_CASES)
def test_weights(name: str, toy: Toy) -> None:
    run(MultiTaskRegressor, WEIGHT_CASES[name], toy)


@pytest.mark.parametrize("name", LABEL_CASES)
def test_labels(name: str, toy: Toy) -> None:
    run(MultiTaskClassifier, LABEL_CASES[name], toy)


@pytest.mark.parametrize("name", TARGET_CASES)
def test_targets(name: str, toy: Toy) -> None:
    run(MultiTaskRegressor, TARGET_CASES[name], toy)


@pytest.mark.parametrize("kind", [MultiTaskClassifier, MultiTaskRegressor])
@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_parameters(name: str, kind: Any, toy: Toy) -> None:
    """A wrong parameter is named by a ValueError."""
    with pytest.raises(ValueError, match=next(iter(PARAMETER_CASES[name])).split("_")[0]):
        kind(**{**OPTIONS, **PARAMETER_CASES[name]}).fit(
            toy.X, toy.labels if kind is MultiTaskClassifier else toy.values
        )


# -- prediction ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(inference: None) -> MultiTaskClassifier:
    toy = make_toy()
    return MultiTaskClassifier(**OPTIONS).fit(toy.X, toy.labels, tasks=toy.tasks)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda toy: (with_value(np.nan)(toy)["X"], toy.tasks), "NaN in column 2"),
        (lambda toy: (with_value(1e30)(toy)["X"], toy.tasks), "beyond"),
        (lambda toy: (toy.X[:, :4], toy.tasks), "4 features"),
        (lambda toy: (toy.X[:0], toy.tasks[:0]), "0 sample"),
        (lambda toy: (toy.X, None), "3 tasks; pass tasks"),
        (lambda toy: (toy.X, np.where(toy.tasks == "west", "east", "north")), "Unknown task 'east'"),
        (lambda toy: (toy.X, toy.tasks[:5]), "5 labels but X has 90"),
    ],
)
def test_predicting_what_cannot_be(fitted: MultiTaskClassifier, change: Any, error: str, toy: Toy) -> None:
    X, tasks = change(toy)
    for ask in (fitted.predict, fitted.predict_proba, fitted.uncertainty, fitted.encode):
        with pytest.raises(ValueError, match=error):
            ask(X, tasks=tasks)


def test_far_away_rows_are_a_number_or_an_error(fitted: MultiTaskClassifier, toy: Toy) -> None:
    """A unit confused by a factor of up to 1e15 gives probabilities, or says that it overflows."""
    for scale in 10.0 ** np.arange(0, 15):
        try:
            found = fitted.predict_proba(toy.X * scale / 10, tasks=toy.tasks)
        except ValueError as error:
            if "overflows" not in str(error):
                raise
        else:
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)


def test_a_category_without_rows_is_no_error_at_prediction(fitted: MultiTaskClassifier, toy: Toy) -> None:
    some = pd.Series(pd.Categorical(["west"] * 5, categories=np.unique(toy.tasks)))
    assert len(fitted.predict(toy.X[:5], tasks=some)) == 5


def test_one_row(toy: Toy) -> None:
    for kind, y in ((MultiTaskClassifier, toy.labels), (MultiTaskRegressor, toy.values)):
        model = kind(**OPTIONS).fit(toy.X[:1], y[:1], tasks=["only"])
        assert np.isfinite(model.uncertainty(toy.X).to_numpy()).all()


def test_the_users_data_are_never_changed(toy: Toy) -> None:
    X, y, tasks = toy.X.astype(np.float32), toy.values.copy(), toy.tasks.copy()
    before = X.copy(), y.copy(), tasks.copy()
    model = MultiTaskRegressor(**OPTIONS).fit(X, y, tasks=tasks)
    expected = model.predict(X, tasks=tasks)
    assert all((a == b).all() for a, b in zip((X, y, tasks), before, strict=True))
    kept = X.copy()
    X[:] = 0
    assert (model.predict(kept, tasks=tasks) == expected).all()


def check_many_classes(n_classes: int) -> None:
    """Two rows of every class, a row in each of two tasks."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 2)
    X = rng.normal(size=(len(y), 8)) + y[:, None] % 7
    tasks = np.tile([0, 1], n_classes)
    options: dict[str, Any] = {"encoder": "linear", "latent_dim": 8, "n_z": 1, "n_w": 1, "max_steps": 1}
    model = MultiTaskClassifier(method="bmtl", random_state=0, **options).fit(X, y, tasks=tasks)
    found = model.predict_proba(X[:100], tasks=tasks[:100])
    assert found.shape == (100, n_classes)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-4)


def test_hundreds_of_classes() -> None:
    check_many_classes(300)


@pytest.mark.slow
def test_ten_thousand_classes() -> None:
    check_many_classes(10_000)


def test_a_failed_refit_keeps_the_model(toy: Toy) -> None:
    """Also what was learned of columns and classes."""
    model = MultiTaskClassifier(**OPTIONS).fit(toy.X, toy.labels, tasks=toy.tasks)
    before = model.predict(toy.X, tasks=toy.tasks)
    for change in ({"y": toy.labels[:-1]}, {"tasks": toy.tasks[:-1]}, {"X": toy.X[:, :2], "y": None}):
        inputs: dict[str, Any] = {"X": toy.X, "y": np.where(toy.values > 0, 1, 0), "tasks": toy.tasks, **change}
        with pytest.raises(ValueError):
            model.fit(inputs["X"], inputs["y"], tasks=inputs["tasks"])
        assert (model.predict(toy.X, tasks=toy.tasks) == before).all()


def test_a_model_file_error_is_a_value_error() -> None:
    assert issubclass(ModelFileError, ValueError)
