"""A built wheel holds the whole package, says what it needs, and imports on its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from vmtl import __version__

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_the_wheel_holds_every_module_and_marker(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "vmtl").rglob("*.py")}
    assert sources <= names
    assert "vmtl/py.typed" in names


def test_the_metadata_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("METADATA")]
        metadata = archive.read(name).decode()
    needed = [line.split(":", 1)[1].strip() for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    for package in ("numpy", "scikit-learn", "torch", "pandas", "safetensors", "typer"):
        assert any(line.startswith(f"{package}>=") for line in needed), package
    assert "Requires-Python: >=3.11" in metadata
    assert f"\nVersion: {__version__}\n" in metadata


@pytest.mark.slow
def test_it_imports_and_fits_from_where_it_was_installed(wheel: Path, tmp_path: Path) -> None:
    """Installed without its dependencies into an empty folder, away from the sources."""
    place = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    code = (
        "import numpy as np, vmtl; print(vmtl.__file__);"
        "m = vmtl.MultiTaskClassifier(max_steps=1).fit(np.eye(6), [0, 1] * 3, tasks=[0, 0, 0, 1, 1, 1]);"
        "print(m.predict(np.eye(6), tasks=[0] * 6).shape)"
    )
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[0].startswith(str(place))
