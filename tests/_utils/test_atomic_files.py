"""Files that are written all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtl._utils.atomic_files import temporary_prefix, write_atomically, written_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "model.vmtl"
    file.write_bytes(b"before")
    write_atomically(file, b"af", b"ter")
    assert file.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "model.vmtl"
    file.write_bytes(b"before")

    def fail() -> None:
        with written_atomically(file) as stream:
            stream.write(b"half")
            beside = [path.name for path in tmp_path.iterdir() if path != file]
            assert [name.startswith(temporary_prefix(file)) for name in beside] == [True]
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        fail()
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_long_name_has_room_for_the_temporary_one(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 250)
    write_atomically(file, b"x")
    assert file.read_bytes() == b"x"
