"""One file of JSON and tensors: what comes back, and what is refused; damage is tested in tests/reliability."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from vmtl._utils import tensor_files


def test_payload_and_tensors_come_back_as_they_were(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6).reshape(2, 3), "b.c": torch.tensor([0.1, -0.0], dtype=torch.float64)}
    payload = {"names": ["ä", "b"], "number": 0.1, "nothing": None}
    tensor_files.save(tmp_path / "f", "model", payload, tensors)
    loaded, again = tensor_files.load(tmp_path / "f", "model")
    assert loaded == payload
    assert all(
        torch.equal(again[name], tensor) and again[name].dtype == tensor.dtype for name, tensor in tensors.items()
    )


def test_views_of_one_memory_are_stored_apart(tmp_path: Path) -> None:
    whole = torch.arange(4.0)
    tensor_files.save(tmp_path / "f", "model", {}, {"whole": whole, "half": whole[::2]})
    assert tensor_files.load(tmp_path / "f", "model")[1]["half"].tolist() == [0.0, 2.0]


def test_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    tensor_files.save(tmp_path / "f", "checkpoint", {}, {})
    with pytest.raises(tensor_files.ModelFileError, match="is a 'checkpoint' file; a 'model' file is needed here"):
        tensor_files.load(tmp_path / "f", "model")


def test_a_folder_and_a_foreign_file_are_explained(tmp_path: Path) -> None:
    with pytest.raises(tensor_files.ModelFileError, match="is a folder"):
        tensor_files.load(tmp_path, "model")
    (tmp_path / "f").write_bytes(b"PK\x03\x04 and so on, a long way")
    with pytest.raises(tensor_files.ModelFileError, match="is not a vmtl file"):
        tensor_files.load(tmp_path / "f", "model")
