"""Same seed, same machine, same bits: between calls, processes, batches, row orders and containers."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.forms import some_in_the_short_form
from helpers.reliable import FIT, RUN, Toy, digest, run_python
from vmtl import METHODS, PRESETS, MultiTaskClassifier, MultiTaskRegressor, VMTLClassifier, VMTLRegressor
from vmtl.estimators.inputs import feature_table

CLASSIFIERS, DEFAULT, PAPER = (
    (MultiTaskClassifier, VMTLClassifier),
    (MultiTaskClassifier, MultiTaskRegressor),
    (VMTLClassifier, VMTLRegressor),
)
#: A small network, a few steps.
SMALL: dict[str, Any] = {"max_steps": 6, "latent_dim": 16}
#: What the place of a row among others may change in a probability, or in a value over the targets' deviation.
ROUNDING = {"float32": 1e-5, "float64": 1e-13}
#: The same of a training row: the square of its distance to itself is rounding, and a kernel takes the root.
KNOWN_ROUNDING = {"float32": 1e-4, "float64": 1e-9}


def fit(kind: Any, toy: Toy, **options: Any) -> Any:
    y = toy.labels if kind in CLASSIFIERS else toy.values
    small = SMALL if kind in PAPER else {}
    return kind(**{"random_state": 7, **small, **options}).fit(toy.X, y, tasks=toy.tasks)


def check_seed(kind: Any, toy: Toy, **options: Any) -> None:
    """Whatever was drawn from the global random states in between."""
    import torch

    first = fit(kind, toy, **options)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    assert digest(fit(kind, toy, **options)) == digest(first)


@pytest.mark.parametrize("kind", DEFAULT)
@pytest.mark.parametrize("relatedness", ["learned", "even", "none", "pooled"])
def test_a_seed_gives_the_same_bits(relatedness: str, kind: Any, toy: Toy) -> None:
    check_seed(kind, toy, relatedness=relatedness)


@pytest.mark.parametrize("kind", PAPER)
@pytest.mark.parametrize("method", some_in_the_short_form(METHODS, "vmtl", "bmtl"))
def test_a_seed_gives_the_same_bits_of_every_method(method: str, kind: Any, toy: Toy) -> None:
    check_seed(kind, toy, method=method)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_another_seed_gives_other_weights(kind: Any, toy: Toy) -> None:
    assert digest(fit(kind, toy, random_state=8)) != digest(fit(kind, toy))


@pytest.mark.parametrize("kind", DEFAULT)
def test_the_order_of_the_rows_does_not_matter(kind: Any, toy: Toy) -> None:
    """Not for what is drawn or dealt by number either; sums differ by rounding."""
    order = np.random.default_rng(1).permutation(len(toy.X))
    other = toy._replace(X=toy.X[order], labels=toy.labels[order], values=toy.values[order], tasks=toy.tasks[order])
    one, two = (fit(kind, each) for each in (toy, other))
    ask, unit = ("predict_proba", 1.0) if kind is MultiTaskClassifier else ("predict", one._encoder.scale)
    expected, found = (getattr(model, ask)(toy.X, tasks=toy.tasks) for model in (one, two))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * unit)


def test_fitting_leaves_the_global_random_states_alone(toy: Toy) -> None:
    import torch

    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index, union-attr]  # noqa: NPY002
    fit(MultiTaskClassifier, toy).predict(toy.X, tasks=toy.tasks)
    assert (torch.get_rng_state() == before[0]).all()
    assert (np.random.get_state()[1] == before[1]).all()  # type: ignore[index]  # noqa: NPY002


def test_another_process_gives_the_same_bits(toy: Toy) -> None:
    options: dict[str, Any] = {"latent_dim": 16, "max_steps": 20, "random_state": 3, "n_threads": 1}
    assert run_python(RUN, "", "c", repr(options), 5).split()[-1] == digest(fit(VMTLClassifier, toy, **options))
    assert run_python(FIT, 3).split() == [digest(fit(kind, toy, random_state=3)) for kind in DEFAULT]


@pytest.mark.parametrize("kind", DEFAULT)
def test_predictions_do_not_depend_on_their_company(kind: Any, toy: Toy) -> None:
    check_company(kind, toy, "float64")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", PAPER)
@pytest.mark.parametrize("dtype", some_in_the_short_form(ROUNDING, "float32"))
def test_predictions_of_the_paper_do_not_depend_on_their_company(kind: Any, preset: str, dtype: str, toy: Toy) -> None:
    check_company(kind, toy, dtype, preset=preset, dtype=dtype)


def check_company(kind: Any, toy: Toy, precision: str, **options: Any) -> None:
    """Alone, in any batches, in any order, beside other tasks: the same but for rounding."""
    model = fit(kind, toy, **options)
    ask = model.predict_proba if kind in CLASSIFIERS else model.predict
    unit = 1.0 if kind in CLASSIFIERS else model._encoder.scale
    rng = np.random.default_rng(1)
    order = rng.permutation(len(toy.X))
    for X, rounding in ((toy.X, KNOWN_ROUNDING), (rng.normal(size=toy.X.shape), ROUNDING)):
        whole = ask(X, tasks=toy.tasks)
        np.testing.assert_array_equal(ask(X, tasks=toy.tasks), whole)
        agrees = partial(np.testing.assert_allclose, rtol=0, atol=rounding[precision] * unit)
        for size in (1, 7, 33):
            cuts = [slice(start, start + size) for start in range(0, len(X), size)]
            agrees(np.concatenate([ask(X[cut], tasks=toy.tasks[cut]) for cut in cuts]), whole)
        agrees(ask(X[order], tasks=toy.tasks[order]), whole[order])
        agrees(ask(np.vstack([X, 1e3 * X]), tasks=np.tile(toy.tasks, 2))[: len(X)], whole)


def test_predictions_do_not_depend_on_the_parts_they_are_streamed_in(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays, sparse matrices and tables are read in parts; the seams leave no trace but rounding."""

    def agrees(actual: Any, expected: Any, unit: float = 1.0) -> None:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=KNOWN_ROUNDING["float64"] * unit)

    X, tasks = np.tile(toy.X, (30, 1)), np.tile(toy.tasks, 30)
    names = [f"c{j}" for j in range(X.shape[1])]
    model = fit(MultiTaskClassifier, toy)
    real = fit(MultiTaskRegressor, toy)
    expected, values, features = (f(X, tasks=tasks) for f in (model.predict_proba, real.predict, model.transform))
    spread = real.uncertainty(X, tasks=tasks)
    monkeypatch.setattr(feature_table, "PART_CELLS", 1)
    assert len(feature_table.row_slices(X)) > 2
    streamed = model.predict_proba(X, tasks=tasks)
    agrees(streamed, expected)
    assert (model.predict(X, tasks=tasks) == model.classes_[streamed.argmax(1)]).all()
    agrees(model.transform(X, tasks=tasks), features, np.abs(features).max())
    agrees(real.predict(X, tasks=pd.Series(tasks, index=range(len(X), 0, -1))), values, real._encoder.scale)
    again = real.uncertainty(X, tasks=tasks)
    agrees(again, spread, real._encoder.scale)
    assert again.columns.equals(spread.columns)
    agrees(model.predict_proba(sparse.coo_matrix(X), tasks=tasks), expected)
    with pytest.raises(ValueError, match=r"labels but X has 2700 rows"):
        model.predict(X, tasks=tasks[:-1])
    table = pd.DataFrame(X, columns=names).assign(where=tasks)
    by_column = MultiTaskClassifier(random_state=7, task_column="where").fit(table[:90], toy.labels)
    agrees(by_column.predict_proba(table), expected)


def test_containers_give_the_same_bits(toy: Toy) -> None:
    """Lists, sparse matrices, Fortran order, tables: the numbers count, not what holds them."""
    expected = digest(fit(MultiTaskClassifier, toy))
    for X in (toy.X.tolist(), np.asfortranarray(toy.X), sparse.csr_matrix(toy.X), pd.DataFrame(toy.X)):
        assert digest(fit(MultiTaskClassifier, toy._replace(X=X))) == expected


@pytest.mark.parametrize("kind", [*DEFAULT, *PAPER])
def test_a_copy_predicts_the_same_bits(kind: Any, toy: Toy) -> None:
    model = fit(kind, toy)
    copied = pickle.loads(pickle.dumps(model))
    assert (copied.predict(toy.X, tasks=toy.tasks) == model.predict(toy.X, tasks=toy.tasks)).all()


def test_the_names_of_tasks_do_not_matter(toy: Toy) -> None:
    """Renaming tasks without changing their order changes nothing."""
    renamed = np.array(["a", "b", "c"])[np.unique(toy.tasks, return_inverse=True)[1]]
    assert digest(fit(MultiTaskRegressor, toy._replace(tasks=renamed))) == digest(fit(MultiTaskRegressor, toy))
