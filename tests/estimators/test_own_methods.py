"""Methods of a user's own in the estimators and in model files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vmtl
from helpers.toys import toy
from vmtl import Method, VMTLClassifier, VMTLRegressor, register_method
from vmtl._utils.tensor_files import ModelFileError
from vmtl.paper import methods

MINE = Method("Mine", "deterministic z, Bayesian w", "a test", q_w="gaussian", prior_w="gumbel_mixture")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("estimator", [VMTLClassifier, VMTLRegressor])
def test_a_registered_method_fits_saves_and_loads(estimator: type, tmp_path: Path) -> None:
    problem = toy([8, 9, 7], classes=2 if estimator is VMTLClassifier else 0)
    register_method("mine", MINE)
    by_name, by_value = (
        estimator(method, encoder="linear", max_steps=2, random_state=0).fit(problem.X, problem.y, tasks=problem.task)
        for method in ("mine", MINE)
    )
    expected = by_name.predict(problem.X, tasks=problem.task)
    for model in (by_name, by_value):  # a declaration that has an id is saved by it
        model.save(tmp_path / "model")
        again = vmtl.load(tmp_path / "model")
        assert (again.method, again.method_) == ("mine", MINE)
        np.testing.assert_array_equal(again.predict(problem.X, tasks=problem.task), expected)


def test_a_method_without_an_id_is_not_saved_and_says_what_to_do(tmp_path: Path) -> None:
    problem = toy([8, 9], classes=2)
    model = VMTLClassifier(MINE, encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    with pytest.raises(ValueError, match=r"give yours an id first: vmtl\.register_method\(name, method\)"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_file_of_a_method_that_is_not_registered_says_what_to_do(
    registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = toy([8, 9], classes=2)
    register_method("mine", MINE)
    model = VMTLClassifier("mine", encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    model.save(tmp_path / "model")
    monkeypatch.delitem(methods._REGISTERED, "mine")
    sentence = r"fitted by the method 'mine', which is not registered here; .*vmtl\.register_method\('mine', \.\.\.\)"
    with pytest.raises(ModelFileError, match=sentence):
        vmtl.load(tmp_path / "model")


@pytest.mark.usefixtures("registry")
def test_a_file_of_another_method_with_the_same_id_says_what_to_do(tmp_path: Path) -> None:
    problem = toy([8, 9], classes=2)
    register_method("mine", MINE)
    model = VMTLClassifier("mine", encoder="linear", max_steps=1).fit(problem.X, problem.y, tasks=problem.task)
    model.save(tmp_path / "model")
    register_method("mine", replace(MINE, prior_w="standard_normal"), replace=True)
    sentence = (
        r"another method 'mine' than the one that is registered here: its prior_w is 'gumbel_mixture', not "
        r"'standard_normal'; register the file's method with vmtl\.register_method\('mine', \.\.\., replace=True\)"
    )
    with pytest.raises(ModelFileError, match=sentence):
        vmtl.load(tmp_path / "model")
    register_method("mine", replace(MINE, summary="the same in other words"), replace=True)
    again = vmtl.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(problem.X, tasks=problem.task), model.predict_proba(problem.X, tasks=problem.task)
    )


DECLARATION = """
from vmtl import Method
MINE = Method("Mine", "deterministic z, Bayesian w", "a test", q_w="gaussian", prior_w="gumbel_mixture")
"""
USE = """
import sys, vmtl
from helpers.toys import toy
problem = toy([8, 9, 7], classes=2)
model = vmtl.VMTLClassifier("mine", encoder="linear", max_steps=1, random_state=0)
model.fit(problem.X, problem.y, tasks=problem.task).save(sys.argv[1])
print(vmtl.load(sys.argv[1]).method_.name)
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
