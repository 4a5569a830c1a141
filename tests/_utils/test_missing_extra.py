"""A missing package of an extra gives one sentence that says what to install; nothing else is asked of it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import vmtl.serving
from helpers.processes import PATIENCE
from vmtl._utils.missing_extra import require
from vmtl._utils.progress_bar import progress_bar

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_what_is_installed_is_accepted() -> None:
    require("cli", "Anything", "numpy", "vmtl")


def test_the_sentence_names_the_package_as_it_is_installed() -> None:
    with pytest.raises(ImportError, match=r'^Drawing needs no_such; run pip install "vmtl\[report\]"\.$') as caught:
        require("report", "Drawing", "numpy", "no_such")
    assert caught.value.name == "no_such"


def write_page() -> object:
    from vmtl.report import render

    return render(None, None)  # type: ignore[arg-type]


def read_parquet(folder: Path) -> object:
    from vmtl.datasets.table_files import read_frame

    (folder / "t.parquet").touch()
    return read_frame(folder / "t.parquet")


def open_parquet_folder(folder: Path) -> object:
    from vmtl.data.stored.parquet_folder import ParquetFolder

    return ParquetFolder.open(folder)


def use_ray() -> object:
    from vmtl._utils.ray_instance import import_ray

    return import_ray()


def serve() -> object:
    from vmtl.serving import make_app

    return make_app


def export() -> object:
    from vmtl.serving.onnx_export import _import_onnx

    return _import_onnx()


def decode() -> object:
    from vmtl.vision.transform import decode_image

    return decode_image(b"")


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("jinja2", "report", lambda folder: write_page()),
        ("pyarrow", "tables", read_parquet),
        ("pyarrow", "tables", open_parquet_folder),
        ("ray", "ray", lambda folder: use_ray()),
        ("starlette", "serve", lambda folder: serve()),
        ("onnxscript", "onnx", lambda folder: export()),
        ("PIL", "images", lambda folder: decode()),
    ],
)
def test_every_extra_is_asked_for_by_name(
    module: str, extra: str, use: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(vars(vmtl.serving), "make_app", raising=False)  # kept from an earlier use
    with pytest.raises(ImportError, match=rf'^[A-Z][^\n]* needs \w+; run pip install "vmtl\[{extra}\]"\.$'):
        use(tmp_path)
    assert extra in EXTRAS


def test_a_figure_asks_for_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    from vmtl.report import plot_relatedness

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'^A figure needs matplotlib; run pip install "vmtl\[report\]"\.$'):
        plot_relatedness(pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"]))


def test_work_goes_on_without_its_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.warns(UserWarning, match=r'run pip install "vmtl\[cli\]"'), progress_bar("Fits", 2) as show:
        show("first")


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_the_command_line_says_what_it_needs(module: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from vmtl.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    sentence = f'Error: The command line needs {module}; run pip install "vmtl[cli]".\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_all_is_every_extra_of_users() -> None:
    (everything,) = EXTRAS["all"]
    listed = re.fullmatch(r"vmtl\[([\w,]+)\]", everything)
    assert listed is not None
    assert set(listed[1].split(",")) == set(EXTRAS) - {"all", "docs", "test", "release", "fuzz"}
