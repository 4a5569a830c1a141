"""``vmtl features``: a folder of images becomes a feature file, or a sentence and no file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.images import write_images, write_network
from helpers.tables import Run
from vmtl.datasets import load_npz
from vmtl.vision import extract_features

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return write_images(tmp_path / "images")


@pytest.fixture
def network(tmp_path: Path) -> str:
    return f"onnx:{write_network(tmp_path / 'net.onnx')}"


def test_the_command_writes_a_feature_file(images: Path, run: Run, tmp_path: Path, network: str) -> None:
    out = tmp_path / "features.npz"
    command = ("features", images, "--backbone", network, "--cache", tmp_path / "cache", "--out", out)
    done = run(*command, "--scaling", "lite")
    assert done.exit_code == 0, done.output
    assert "12 images, 2 tasks, 2 classes, 3 features; 0 from the cache" in done.output
    problem = load_npz(out)
    assert problem.class_names == ("cat", "dog")
    expected = extract_features(images, network, cache=tmp_path / "other").problem
    assert problem.X.shape == expected.X.shape
    assert not np.allclose(problem.X, expected.X)  # the other scaling
    assert "0 from the cache" in run(*command).output
    np.testing.assert_array_equal(load_npz(out).X, expected.X)
    assert "12 from the cache" in run(*command).output


def test_the_command_explains_and_leaves_nothing_behind(images: Path, run: Run, tmp_path: Path, network: str) -> None:
    out = tmp_path / "features.npz"
    arguments = ("--out", out, "--backbone", network, "--cache", tmp_path / "cache", "--quiet")
    (images / "art" / "cat" / "1.png").write_bytes(b"")
    done = run("features", images, *arguments)
    assert done.exit_code == 2
    assert "art/cat/1.png cannot be read" in done.output
    assert not out.exists()
    done = run("features", images, *arguments, "--skip-broken")
    assert done.exit_code == 0
    assert "1.png: it cannot be read" in done.stderr
    assert load_npz(out).n_rows == 11
    for wrong in (("--backbone", "resnet"), ("--scaling", "x"), ("--out", tmp_path / "no" / "f.npz")):
        done = run("features", images, *arguments, *wrong)
        assert done.exit_code == 2
        assert "Error: There is no" in done.output
    assert run("features", tmp_path / "no", *arguments).exit_code == 2
