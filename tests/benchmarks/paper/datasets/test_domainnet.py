"""DomainNet: list files, halves and published sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.datasets import load_domainnet
from benchmarks.paper.datasets.domainnet import DOMAINNET, SIZES
from helpers.image_files import touch


def test_domainnet_lists(tmp_path: Path) -> None:
    for d in DOMAINNET.domains:
        lines = [f"{d.name}/tiger/1.jpg 1", f"{d.name}/ant/1.jpg 0", f"{d.name}/tiger/2.jpg 1"]
        touch(tmp_path, *(line.split()[0] for line in lines))
        (tmp_path / f"{d.name}_train.txt").write_text("\n".join(lines[:2]))
        (tmp_path / f"{d.name}_test.txt").write_text(lines[2])
    problem = load_domainnet(tmp_path, allow_incomplete=True)
    assert problem.class_names == ("ant", "tiger")
    assert problem.n_rows == 18
    train, test = (load_domainnet(tmp_path, part=part, allow_incomplete=True) for part in ("train", "test"))
    assert (train.n_rows, test.n_rows) == (12, 6)
    assert test.class_names == ("0", "tiger")
    with pytest.raises(ValueError, match="choose one of train"):
        load_domainnet(tmp_path, part="val")


def test_domainnet_has_the_published_sizes(tmp_path: Path) -> None:
    """The numbers of the cleaned version's twelve list files, and what their sums are given as."""
    train, test = (sum(sizes[i] for sizes in SIZES.values()) for i in (0, 1))
    assert (train, test, train + test) == (409_832, 176_743, 586_575)
    assert SIZES["quickdraw"] == (345 * 350, 345 * 150)  # the one domain with equally many images per class
    (tmp_path / "image_list").mkdir()
    for d in DOMAINNET.domains:
        touch(tmp_path, f"{d.name}/ant/1.jpg")
        (tmp_path / "image_list" / f"{d.name}_test.txt").write_text(f"{d.name}/ant/1.jpg 0")
    with pytest.raises(ValueError, match=r"expected clipart \(345 classes, 14,604 images\).*found clipart \(1 classes"):
        load_domainnet(tmp_path, part="test")
    with pytest.raises(ValueError, match=r"no list files of DomainNet; put <domain>_train\.txt there"):
        load_domainnet(tmp_path, part="train")
