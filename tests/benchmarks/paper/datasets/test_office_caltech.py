"""Office-Caltech on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.datasets import load_office_caltech


def test_office_caltech_on_real_files(real_data: Path) -> None:
    assert load_office_caltech(real_data / "data" / "office_caltech_effnetlite0.npz").n_rows == 2533
    images = load_office_caltech(real_data / "data" / "office_caltech_images", allow_incomplete=True)
    assert images.n_rows == 240
    with pytest.raises(ValueError, match=r"found amazon \(10 classes, 60 images\)"):
        load_office_caltech(real_data / "data" / "office_caltech_images")
