"""Every input of the corpus, and every seed with a few mutations, gives a result or one sentence."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from run import HERE, TARGETS

pytest.importorskip("pyarrow", reason="Parquet is an extra: pip install vmtl[tables]")
pytest.importorskip("starlette", reason="Serving is an extra: pip install vmtl[serve]")

#: Mutations of every seed, in the short form and in the long one.
FEW, MANY = 5, 200


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"targets.{request.param}")


def test_there_is_a_target_per_file() -> None:
    assert set(TARGETS) == {path.stem for path in (HERE / "targets").glob("*.py")} - {"small_models"}


def test_the_corpus_is_answered(target: ModuleType) -> None:
    for path in files(target):
        target.one_input(path.read_bytes())


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_mutated_seeds_are_answered(target: ModuleType, number: int) -> None:
    for seed in target.SEEDS:
        target.one_input(seed)
        data = seed
        for draw in range(number):
            data = (target.mutate(data, draw) if hasattr(target, "mutate") else None) or seed
            target.one_input(data)


def files(target: ModuleType) -> list[Path]:
    return sorted((HERE / "corpus" / target.__name__.removeprefix("targets.")).glob("*"))
