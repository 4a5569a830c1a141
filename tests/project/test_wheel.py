"""The built wheel: what it holds and says, and what it does alone in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.processes import PATIENCE
from vmtl import __version__

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: What an empty environment must not hold: the packages of extras that nothing else brings.
ONLY_IN_EXTRAS = {"matplotlib", "onnx", "openpyxl", "pillow", "pyarrow", "ray", "rich", "starlette", "typer", "uvicorn"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel in the folder that VMTL_DIST names, as `make release-check` built it; else one of its own."""
    if "VMTL_DIST" in os.environ:
        (built,) = (ROOT / os.environ["VMTL_DIST"]).glob("*.whl")
        return built
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(folder), "."]
    found = subprocess.run(command, cwd=copied(folder), capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    (built,) = folder.glob("*.whl")
    return built


def copied(folder: Path) -> Path:
    """The sources in a place of their own: a build writes beside them."""
    import shutil

    place = folder / "source"
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / name)
    return place


def test_the_wheel_holds_every_module_and_marker_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kinds = ("*.py", "report/*.html", "report/*.css", "report/*.js", "py.typed")
    sources = {path for kind in kinds for path in (ROOT / "src" / "vmtl").rglob(kind)}
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in sources}


def test_the_metadata_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("METADATA")]
        metadata = archive.read(name).decode()
    needed = [line.split(":", 1)[1].strip() for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert {line for line in needed if "extra ==" not in line} == set(PROJECT["dependencies"])
    assert not ONLY_IN_EXTRAS & {re.split(r"\W", line)[0] for line in PROJECT["dependencies"]}
    assert "Requires-Python: >=3.11" in metadata
    assert f"\nVersion: {__version__}\n" in metadata


@dataclass(frozen=True)
class Environment:
    """A virtual environment away from the sources."""

    folder: Path

    @property
    def programs(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in its folder; nothing of the process of the tests is on its path."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            env={**kept, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def install(self, wheel: Path, extras: str = "") -> None:
        constraints = str(ROOT / "constraints.txt")
        done = self.run(
            "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", constraints, f"{wheel}{extras}"
        )
        assert done.returncode == 0, done.stderr

    def python(self, code: str) -> str:
        """What a program prints; warnings are errors."""
        done = self.run("python", "-W", "error", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment that holds the wheel and what it depends on, without extras."""
    environment = Environment(tmp_path_factory.mktemp("empty"))
    venv.create(environment.folder, with_pip=True)
    environment.install(wheel)
    return environment


def installed(environment: Environment) -> set[str]:
    listed = environment.run("python", "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check")
    return {line.partition("==")[0].lower() for line in listed.stdout.splitlines()}


FIT_AND_PREDICT = """
import sys
import numpy as np
import vmtl

assert vmtl.__file__.startswith(sys.prefix), vmtl.__file__
x = np.random.default_rng(0).standard_normal((40, 3))
tasks = np.arange(40) % 2
for estimator, y in ((vmtl.MultiTaskClassifier, x[:, 0] > 0), (vmtl.MultiTaskRegressor, x[:, 0])):
    model = estimator(random_state=0).fit(x, y, tasks=tasks)
    model.save("model.vmtl")
    assert (vmtl.load("model.vmtl").predict(x, tasks=tasks) == model.predict(x, tasks=tasks)).all()
assert not {"matplotlib", "pyarrow", "rich", "starlette", "typer"} & set(sys.modules)
"""

DRAW = """
import pandas as pd
from vmtl.report import plot_relatedness, render

for use in (lambda: plot_relatedness(pd.DataFrame([[0.0]])), lambda: render(None, None)):
    try:
        use()
    except ImportError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.release
class TestEmptyEnvironment:
    """In the order of the file: the last test installs two extras."""

    def test_it_holds_the_core_only(self, empty: Environment) -> None:
        assert empty.run("python", "-m", "pip", "check").returncode == 0
        assert not installed(empty) & ONLY_IN_EXTRAS

    def test_both_estimators_fit_save_load_and_predict(self, empty: Environment) -> None:
        empty.python(FIT_AND_PREDICT)

    def test_the_python_of_the_readme_runs(self, empty: Environment) -> None:
        first, *_ = readme("python")  # the others need data that is not part of the package
        assert empty.python(first)

    def test_the_command_line_says_what_to_install(self, empty: Environment) -> None:
        done = empty.run("vmtl", "--version")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == 'Error: The command line needs typer; run pip install "vmtl[cli]".\n'

    def test_figures_and_the_page_say_what_to_install(self, empty: Environment) -> None:
        figure, page = empty.python(DRAW).splitlines()
        assert figure == 'A figure needs matplotlib; run pip install "vmtl[report]".'
        assert page == 'The report needs matplotlib; run pip install "vmtl[report]".'

    def test_with_two_extras_the_commands_of_the_readme_run(self, empty: Environment, wheel: Path) -> None:
        empty.install(wheel, "[cli,report]")
        (empty.folder / "examples").symlink_to(ROOT / "examples")
        lines = "\n".join(readme("bash")).splitlines()
        run = [line.partition(" #")[0].split() for line in lines if line.startswith(("vmtl ", "python "))]
        assert len(run) >= 4
        for program, *arguments in run:
            done = empty.run(program, *arguments)
            assert done.returncode == 0, f"{arguments}\n{done.stderr}"
        assert (empty.folder / "report.html").stat().st_size > 10_000


def readme(language: str) -> list[str]:
    """The blocks of README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.M)
