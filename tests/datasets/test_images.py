"""Images on disk: folders and list files."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.image_files import touch
from vmtl.datasets import (
    image_folder,
    image_lists,
)


def test_lists_that_name_absent_images_are_explained(tmp_path: Path) -> None:
    touch(tmp_path, "a/cat/1.jpg")
    (tmp_path / "a.txt").write_text("a/cat/1.jpg 0\na/dog/7.jpg 1\n")
    with pytest.raises(ValueError, match=r"1 of the 2 images .* 'a/dog/7\.jpg'"):
        image_lists(tmp_path, {"a": [tmp_path / "a.txt"]})
    touch(tmp_path, "a/dog/7.jpg")
    assert image_lists(tmp_path, {"a": [tmp_path / "a.txt"]}).class_names == ("cat", "dog")
    with pytest.raises(ValueError, match="more than the 1 known classes"):
        image_lists(tmp_path, {"a": [tmp_path / "a.txt"]}, class_names=["cat"])


@pytest.mark.parametrize("path", ["a/../../secret.jpg", "../secret.jpg", "{outside}"])
def test_a_list_does_not_lead_out_of_the_folder(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "images"
    touch(inside, "a/cat/1.jpg")
    touch(tmp_path, "secret.jpg")
    (inside / "a.txt").write_text(f"{path.format(outside=tmp_path / 'secret.jpg')} 0\n")
    with pytest.raises(ValueError, match="are not below"):
        image_lists(inside, {"a": [inside / "a.txt"]})


def test_a_folder_of_the_wrong_depth_is_explained(tmp_path: Path) -> None:
    touch(tmp_path, "cat/1.jpg")
    with pytest.raises(ValueError, match="<Domain>/<Class>"):
        image_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        image_folder(tmp_path / "x")
