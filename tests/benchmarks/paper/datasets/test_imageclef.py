"""ImageCLEF-DA as it is distributed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paper.datasets import load_imageclef
from helpers.image_files import touch
from vmtl.data.splits import random_split

#: The folders of Caltech in the published list, by label; the other domains number the classes alike.
IMAGECLEF_FOLDERS = (
    ("251.airplanes-101",),
    ("224.touring-bike", "146.mountain-bike"),
    ("113.hummingbird",),
    ("197.speed-boat",),
    ("246.wine-bottle",),
    ("178.school-bus",),
    ("252.car-side-101",),
    ("056.dog",),
    ("105.horse",),
    ("046.computer-monitor",),
    ("145.motorbikes-101",),
    ("159.people",),
)


def imageclef_lists() -> dict[str, list[str]]:
    """Lines like the published ones: class folders in Caltech and Bing, none in ImageNet and Pascal."""
    lines: dict[str, list[str]] = {letter: [] for letter in "cipb"}
    for label, folders in enumerate(IMAGECLEF_FOLDERS):
        for i in range(50):
            folder = folders[i % len(folders)]
            lines["c"].append(f"c/{folder}/{folder[:3]}_{i:04d}.jpg {label}")
            lines["b"].append(f"b/{folder}/{i:032X}.jpg {label}")
            lines["i"].append(f"i/n{label:08d}_{i}.JPEG {label}")
            lines["p"].append(f"p/{2000 + label}_{i:06d}.jpg {label}")
    lines["p"][6 * 50] = lines["p"][5 * 50].split()[0] + " 6"  # a bus that is a car as well
    return lines


def test_imageclef_as_distributed(tmp_path: Path) -> None:
    (tmp_path / "list").mkdir()
    for letter, lines in imageclef_lists().items():
        touch(tmp_path, *(line.split()[0] for line in lines))
        (tmp_path / "list" / f"{letter}List.txt").write_text("\n".join(lines))
    problem = load_imageclef(tmp_path)
    assert problem.task_names == ("caltech", "imagenet", "pascal", "bing")
    assert problem.class_names is not None
    assert np.array_equal(np.unique(problem.task * 12 + problem.y, return_counts=True)[1], np.full(48, 50))
    for label, word in enumerate(
        ["plane", "bike", "bird", "boat", "bottle", "bus", "car", "dog", "horse", "monitor", "motorbike", "people"]
    ):
        assert word in problem.class_names[label]
        assert word in IMAGECLEF_FOLDERS[label][0]
    assert problem.paths is not None
    twice = np.flatnonzero(problem.paths == "p/2005_000000.jpg")
    assert [problem.class_names[c] for c in problem.y[twice]] == ["bus", "car"]
    for seed in range(5):
        assert np.isin(twice, random_split(problem, 0.2, seed).train).sum() in (0, 2)
