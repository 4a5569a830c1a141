"""How methods are found: one file each, registered in a program, or installed with a package."""

import ast
import doctest
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import vmtl
from helpers.toys import toy
from vmtl import METHODS, Method, MultiTaskClassifier, MultiTaskRegressor, methods, register_method
from vmtl._utils.tensor_files import ModelFileError
from vmtl.methods import UnknownMethodError, discover, get_method, method_id, register_installed

PAPER = {"stl", "vstl", "bmtl", "vbmtl", "vmtl", "vmtl_ac", "bakker", "long", "kendall", "qian", "pooled"}


def test_all_methods_of_the_paper_are_found() -> None:
    assert set(METHODS) >= PAPER
    for method in METHODS.values():
        assert method.summary
        assert method.reference


def test_get_method() -> None:
    assert get_method("vmtl") is METHODS["vmtl"]
    assert get_method(METHODS["stl"]) is METHODS["stl"]
    with pytest.raises(ValueError, match="Unknown method 'nash'; choose one of bakker, bmtl") as caught:
        get_method("nash")
    again = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert isinstance(again, UnknownMethodError)
    assert (again.name, str(again)) == ("nash", str(caught.value))


GOOD = "from vmtl.model.method import Method\nMETHOD = Method(name='A', summary='s', reference='r')\n"


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("twelfth.py", GOOD.replace("METHOD =", "METHODE ="), "twelfth.py must define METHOD = .*it defines no METHOD"),
        ("twelfth.py", "METHOD = {'name': 'A'}\n", "must define METHOD = .*a METHOD of type dict"),
        ("twelfth.py", GOOD.replace("'r')", "'r', q_w='gaussian')"), "twelfth.py does not declare a method .*prior_w"),
        ("twelfth.py", GOOD.replace("name=", "names="), "twelfth.py does not declare a method .*names"),
        ("twelfth.py", "METHOD = Method(\n", "twelfth.py does not declare a method"),
        ("my-method.py", GOOD, "my-method.py is misnamed: .*rename it"),
        ("Twelfth.py", GOOD, "Twelfth.py is misnamed"),
        ("_twelfth.py", GOOD, "_twelfth.py is misnamed"),
    ],
)
def test_a_misnamed_or_malformed_file_fails_at_import(
    file: str, text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImportError, match=sentence):
        discover_in(tmp_path, {"first.py": GOOD, file: text}, monkeypatch)


def test_a_good_file_is_all_that_a_method_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discovered = discover_in(tmp_path, {"first.py": GOOD, "twelfth.py": GOOD}, monkeypatch)
    assert list(discovered) == ["first", "twelfth"]
    assert discovered["twelfth"].name == "A"


def discover_in(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Method]:
    package = folder / "own_methods"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in files.items():
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == "own_methods"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        return discover([str(package)], "own_methods")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "own_methods"]:
            del sys.modules[name]


def test_no_method_is_named_outside_its_file() -> None:
    """The id of a method never appears as a string in the engine, except as the estimators' default."""
    root = Path(vmtl.__file__).parent
    rooms = ("_utils", "data", "config", "model", "inference", "estimators")
    for path in [path for room in rooms for path in (root / room).rglob("*.py")]:
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        named = {node.value for node in nodes if isinstance(node.value, str)} & set(METHODS)
        assert named <= {"vmtl"}, f"{path.name} names {named}"


# -- from outside ----------------------------------------------------------------------------------------

MINE = Method("Mine", "deterministic z, Bayesian w", "a test", q_w="gaussian", prior_w="gumbel_mixture")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("estimator", [MultiTaskClassifier, MultiTaskRegressor])
def test_a_registered_method_fits_saves_and_loads(estimator: type, tmp_path: Path) -> None:
    problem = toy([8, 9, 7], classes=2 if estimator is MultiTaskClassifier else 0)
    register_method("mine", MINE)
    by_name, by_value = (
        estimator(method, encoder="linear", max_steps=2, random_state=0).fit(problem.X, problem.y, tasks=problem.task)
        for method in ("mine", MINE)
    )
    expected = by_name.predict(problem.X, tasks=problem.task)
    for model in (by_name, by_value):  # a declaration that has an id is saved by it
        model.save(tmp_path / "model")
        again = estimator.load(tmp_path / "model")
        assert (again.method, again.method_) == ("mine", MINE)
        np.testing.assert_array_equal(again.predict(problem.X, tasks=problem.task), expected)


def test_a_method_without_an_id_is_not_saved_and_says_what_to_do(tmp_path: Path) -> None:
    problem = toy([8, 9], classes=2)
    model = MultiTaskClassifier(MINE, encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    with pytest.raises(ValueError, match=r"give yours an id first: vmtl\.register_method\(name, method\)"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_file_of_a_method_that_is_not_registered_says_what_to_do(
    registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = toy([8, 9], classes=2)
    register_method("mine", MINE)
    model = MultiTaskClassifier("mine", encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    model.save(tmp_path / "model")
    monkeypatch.delitem(methods._REGISTERED, "mine")
    sentence = r"fitted by the method 'mine', which is not registered here; .*vmtl\.register_method\('mine', \.\.\.\)"
    with pytest.raises(ModelFileError, match=sentence):
        MultiTaskClassifier.load(tmp_path / "model")


@pytest.mark.usefixtures("registry")
def test_a_file_of_another_method_with_the_same_id_says_what_to_do(tmp_path: Path) -> None:
    problem = toy([8, 9], classes=2)
    register_method("mine", MINE)
    model = MultiTaskClassifier("mine", encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    model.save(tmp_path / "model")
    register_method("mine", replace(MINE, prior_w="standard_normal"), replace=True)
    sentence = (
        r"another method 'mine' than the one that is registered here: its prior_w is 'gumbel_mixture', not "
        r"'standard_normal'; register the file's method with vmtl\.register_method\('mine', \.\.\., replace=True\)"
    )
    with pytest.raises(ModelFileError, match=sentence):
        MultiTaskClassifier.load(tmp_path / "model")
    register_method("mine", replace(MINE, summary="the same in other words"), replace=True)
    again = MultiTaskClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(problem.X, tasks=problem.task), model.predict_proba(problem.X, tasks=problem.task)
    )


@pytest.mark.usefixtures("registry")
def test_what_may_be_registered() -> None:
    for name in ("Mine", "my-method", "_mine", "", 3):
        with pytest.raises(ValueError, match="id has lower-case letters, digits and _; got"):
            register_method(name, MINE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a vmtl\.Method; got dict"):
        register_method("mine", {"name": "Mine"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'vmtl' is already the method VMTL; choose another id\\."):
        register_method("vmtl", MINE, replace=True)
    register_method("mine", MINE)
    register_method("mine", MINE)  # a cell of a notebook, run again
    other = Method("Other", "s", "r")
    with pytest.raises(ValueError, match=r"'mine' is already the method Mine; .* or pass replace=True"):
        register_method("mine", other)
    register_method("mine", other, replace=True)
    assert METHODS["mine"] is other
    assert method_id(other) == "mine"
    with pytest.raises(TypeError):
        METHODS["mine"] = MINE  # type: ignore[index]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("broken", "nowhere:MINE", "No module named 'nowhere'"), ("vmtl", "helpers.toys:SMALL", "takes a vmtl.Method")],
)
def test_a_package_that_cannot_be_used_is_left_out(name: str, value: str, reason: str) -> None:
    before = dict(METHODS)
    with pytest.warns(RuntimeWarning, match=f"The method '{name}' of an unknown package is left out .*{reason}"):
        register_installed([EntryPoint(name, value, "vmtl.methods")])
    assert dict(METHODS) == before


DECLARATION = """
from vmtl import Method
MINE = Method("Mine", "deterministic z, Bayesian w", "a test", q_w="gaussian", prior_w="gumbel_mixture")
"""
USE = """
import sys, vmtl
from helpers.toys import toy
problem = toy([8, 9, 7], classes=2)
model = vmtl.MultiTaskClassifier("mine", encoder="linear", max_steps=1, random_state=0)
model.fit(problem.X, problem.y, tasks=problem.task).save(sys.argv[1])
print(vmtl.MultiTaskClassifier.load(sys.argv[1]).method_.name)
"""


@pytest.mark.slow
def test_an_installed_package_brings_its_methods_everywhere(tmp_path: Path) -> None:
    """A distribution as pip leaves it, beside the module that it declares, in processes of their own."""
    site, info = tmp_path / "site", tmp_path / "site" / "own_methods-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "own_methods.py").write_text(DECLARATION)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-methods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[vmtl.methods]\nmine = own_methods:MINE\n")
    source, tests = Path(vmtl.__file__).parents[1], Path(__file__).parents[1]
    path = os.pathsep.join(map(str, (site, source, tests)))

    def run(*arguments: str, path: str = path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "error", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    listed = run("-m", "vmtl", "methods", "--json")
    assert json.loads(listed.stdout)["mine"]["name"] == "Mine", listed.stderr
    assert run("-c", USE, "model.vmtl").stdout == "Mine\n"
    without = run("-m", "vmtl", "info", "model.vmtl", path=os.pathsep.join(map(str, (source, tests))))
    assert without.returncode != 0
    assert "Traceback" not in without.stderr
    assert "fitted by the method 'mine', which is not registered here" in " ".join(without.stderr.split())
    names = "from vmtl.cli._support.options import method_names; print(method_names())"
    assert "'mine'" in run("-c", names).stdout


@pytest.mark.usefixtures("registry")
def test_the_example_in_the_docstring() -> None:
    result = doctest.testmod(methods)
    assert result.attempted >= 4
    assert result.failed == 0
