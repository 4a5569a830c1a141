"""Published image sets: complete, incomplete, or something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.datasets import load_domainnet, load_imageclef, load_office_caltech, load_office_home
from benchmarks.paper.datasets.domainnet import DOMAINNET
from benchmarks.paper.datasets.image_sets import ImageSet, load_image_set
from benchmarks.paper.datasets.imageclef import IMAGECLEF
from benchmarks.paper.datasets.office_caltech import OFFICE_CALTECH
from benchmarks.paper.datasets.office_home import OFFICE_HOME
from helpers.image_files import make_set, touch
from vmtl.data.problem import Problem
from vmtl.datasets import save_npz

LOADERS = [
    (OFFICE_HOME, load_office_home),
    (OFFICE_CALTECH, load_office_caltech),
    (IMAGECLEF, load_imageclef),
    (DOMAINNET, load_domainnet),
]


@pytest.mark.parametrize(("spec", "load"), LOADERS)
def test_folders(spec: ImageSet, load: Callable[..., Problem], tmp_path: Path) -> None:
    make_set(tmp_path, spec)
    problem = load(tmp_path, allow_incomplete=True)
    assert problem.task_names == tuple(sorted(domain.name for domain in spec.domains))
    assert problem.n_classes == spec.n_classes
    assert problem.n_rows == 2 * spec.n_classes * len(spec.domains)
    assert problem.paths is not None
    assert Path(problem.X[0, 0]) == tmp_path / str(problem.paths[0])


@pytest.mark.parametrize(("spec", "load"), LOADERS)
def test_an_incomplete_folder_is_explained(spec: ImageSet, load: Callable[..., Problem], tmp_path: Path) -> None:
    make_set(tmp_path, spec, n_classes=3)
    first = spec.domains[0]
    expected = rf"expected {first.name} \({spec.n_classes} classes, {first.n_images:,} images\)"
    found = rf"found .*{first.name} \(3 classes, 6 images\).*allow_incomplete"
    with pytest.raises(ValueError, match=f"{expected}.*{found}"):
        load(tmp_path)


@pytest.mark.parametrize(("spec", "load"), LOADERS)
def test_wrong_places_are_explained(spec: ImageSet, load: Callable[..., Problem], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=spec.domains[0].name):
        load(tmp_path / "nowhere")
    touch(tmp_path, "holiday/beach/1.jpg")
    with pytest.raises(ValueError, match="found 'holiday'"):
        load(tmp_path, allow_incomplete=True)


def test_a_small_set_that_is_complete_passes(tmp_path: Path) -> None:
    whole = ImageSet("Tiny-Set", tuple(type(d)(d.name, 4, d.aliases) for d in OFFICE_CALTECH.domains), 2)
    make_set(tmp_path, whole)
    (tmp_path / "caltech10").rename(tmp_path / "Caltech")
    touch(tmp_path, "notes/readme/1.jpg", "amazon/class_000/.hidden.jpg", "amazon/class_000/list.txt")
    problem = load_image_set(whole, tmp_path)
    assert problem.name == "tiny_set"
    assert problem.task_names == ("caltech10", "amazon", "dslr", "webcam")
    assert problem.class_names == ("class_000", "class_001")
    (tmp_path / "dslr" / "class_001" / "1.jpg").unlink()
    with pytest.raises(ValueError, match=r"dslr \(2 classes, 3 images\)"):
        load_image_set(whole, tmp_path)
    touch(tmp_path, "dslr/class_001/1.jpg", "dslr/class_002/1.jpg")
    with pytest.raises(ValueError, match=r"dslr \(3 classes, 5 images\).*check the path"):
        load_image_set(whole, tmp_path, allow_incomplete=True)


def test_domain_folders_are_found_under_any_spelling(tmp_path: Path) -> None:
    for folder in ("Art", "clipart", "Product", "Real_World"):
        touch(tmp_path, f"{folder}/Mug/1.png")
    assert load_office_home(tmp_path, allow_incomplete=True).task_names[2:] == ("Real World", "Clipart")


def test_lists_that_were_written_elsewhere_serve(tmp_path: Path) -> None:
    """Published lists start at the author's root, write Real_World for the folder Real World, and differ in case."""
    (tmp_path / "image_list").mkdir()
    for folder, file in {"Art": "art", "Clipart": "clipart", "Product": "Product", "Real World": "Real_World"}.items():
        touch(tmp_path, f"{folder}/Mug/00001.jpg", f"{folder}/Alarm_Clock/00001.jpg")
        lines = [f"/home/them/office-home/{folder.replace(' ', '_')}/{c}/00001.jpg" for c in ("Mug", "Alarm_Clock")]
        (tmp_path / "image_list" / f"{file}.txt").write_text(f"{lines[0]} 0\n{lines[1]} 1\n")
    problem = load_office_home(tmp_path, allow_incomplete=True)
    assert problem.task_names == ("Art", "Clipart", "Product", "Real World")
    assert problem.class_names == ("Mug", "Alarm_Clock")
    assert problem.paths is not None
    assert problem.paths[-1] == "Real World/Alarm_Clock/00001.jpg"
    assert all(Path(file).is_file() for file in problem.X[:, 0])


def test_a_folder_without_list_files_is_explained(tmp_path: Path) -> None:
    make_set(tmp_path, OFFICE_HOME, n_classes=1)
    with pytest.raises(ValueError, match=r"put <domain>\.txt there"):
        load_office_home(tmp_path, lists=tmp_path)


def test_a_feature_file_takes_the_place_of_the_folder(tmp_path: Path) -> None:
    names = tuple(domain.name for domain in OFFICE_HOME.domains)
    n = 65 * 4
    task, y = np.repeat(np.arange(4), 65), np.tile(np.arange(65), 4)
    small = Problem("f", np.zeros((n, 3)), y, task, names, tuple(map(str, range(65))))
    save_npz(small, tmp_path / "f.npz")
    assert load_office_home(tmp_path / "f.npz", allow_incomplete=True).X.shape == (n, 3)
    with pytest.raises(ValueError, match=r"Art \(65 classes, 2,427.*found Art \(65 classes, 65 images\)"):
        load_office_home(tmp_path / "f.npz")
    with pytest.raises(ValueError, match="not all of Office-Caltech"):
        load_office_caltech(tmp_path / "f.npz")
