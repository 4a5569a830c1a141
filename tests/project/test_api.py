"""The public interface: what docs/api.md lists, no more and no less, and each parameter described."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, clone

import vmtl
from vmtl import MultiTaskClassifier, MultiTaskRegressor

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
PACKAGES = ("vmtl", "vmtl.data", "vmtl.datasets", "vmtl.serving", "vmtl.evaluation", "vmtl.report", "vmtl.vision")
ESTIMATORS = (MultiTaskClassifier, MultiTaskRegressor)


def listed() -> set[str]:
    """The names that the reference lists, with their packages."""
    blocks = re.findall(r"^::: (\S+)\n(?:.*\n)*?.*members: \[(.*)\]$", PAGE.read_text(), re.MULTILINE)
    return {f"{package}.{name.strip()}" for package, members in blocks for name in members.split(",")}


def described(docstring: str | None, section: str = "Parameters") -> dict[str, str]:
    """The names of a numpydoc section, each with its type and description in one line."""
    text = inspect.cleandoc(docstring or "")
    body = re.search(rf"^{section}\n-+\n((?:.+\n|\n(?!\w+\n-+\n))*)", text + "\n", re.MULTILINE)
    entries = re.findall(r"^(\w[\w, ]*) : (.+\n(?:[ ]{4}.+\n)+)", body[1] if body else "", re.MULTILINE)
    return {name: " ".join(words.split()) for names, words in entries for name in names.split(", ")}


def public_methods(estimator: type) -> list[str]:
    """The methods that this package defines, not those of scikit-learn."""
    members = inspect.getmembers(estimator, callable)
    return [name for name, member in members if not name.startswith("_") and member.__module__.startswith("vmtl")]


def test_the_reference_lists_exactly_what_is_public() -> None:
    public: dict[int, str] = {}  # an object that two packages have is listed once
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            public.setdefault(id(getattr(module, name)), f"{package}.{name}")
    assert listed() == set(public.values())


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_there_and_say_what_they_are(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{package}.{name} has no docstring"
        if inspect.isfunction(value):
            assert inspect.signature(value).return_annotation not in ("Any", inspect.Signature.empty), name


@pytest.mark.parametrize("module", ["vmtl", "vmtl.report", "vmtl.estimators.classifier", "vmtl.estimators.regressor"])
def test_examples_in_docstrings_run(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_every_public_name_can_be_listed_before_it_is_loaded() -> None:
    assert set(vmtl.__all__) <= set(dir(vmtl))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        vmtl.nothing  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_every_parameter_of_every_public_function_is_described(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function):
            parameters = list(inspect.signature(function).parameters)
            assert list(described(function.__doc__)) == parameters, f"{package}.{name} describes other parameters"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_of_the_constructor_is_described(estimator: type[BaseEstimator]) -> None:
    parameters = inspect.signature(estimator).parameters
    words = described(estimator.__doc__)
    assert sorted(words) == sorted(parameters)
    for name, parameter in parameters.items():
        default = re.search(r"default=(\S+)", words[name])
        assert default is not None, f"{name} states no default"
        assert default[1].strip('"') == str(parameter.default)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_of_every_method_is_described(estimator: type[BaseEstimator]) -> None:
    methods = public_methods(estimator)
    assert {"fit", "predict", "score", "uncertainty", "save", "load"} <= set(methods)
    for name in methods:
        method = getattr(estimator, name)
        parameters = set(inspect.signature(method).parameters) - {"self"}
        assert set(described(method.__doc__)) == parameters, f"{name} describes other parameters than it has"


def test_both_estimators_describe_their_common_parameters_alike() -> None:
    classifier, regressor = (described(estimator.__doc__) for estimator in ESTIMATORS)
    assert set(classifier) - set(regressor) == {"class_weight", "forest"}
    assert all(classifier[name] == words for name, words in regressor.items())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_survive_a_clone(estimator: type[BaseEstimator]) -> None:
    changed = {"method": "bmtl", "n_z": 3, "sharing": 0.5, "task_column": "site", "random_state": 7}
    copy = clone(estimator(**changed))
    assert copy.get_params() == estimator(**changed).get_params()
    assert {name: getattr(copy, name) for name in changed} == changed
    assert repr(copy).startswith(f"{estimator.__name__}(method='bmtl'")


def test_names_that_moved_still_come_with_a_warning() -> None:
    import vmtl.evaluation
    import vmtl.report

    with pytest.warns(FutureWarning, match=r"import gather from vmtl\.evaluation"):
        assert vmtl.report.gather is vmtl.evaluation.gather
