"""Image sets: folders, list files and feature files as published, and what is said when they are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vmtl.data.problem import Problem
from vmtl.data.splits import document_split, random_split, read_split_document
from vmtl.datasets import (
    image_folder,
    image_lists,
    load_domainnet,
    load_imageclef,
    load_office_caltech,
    load_office_home,
    save_npz,
)
from vmtl.datasets.domainnet import DOMAINNET, SIZES
from vmtl.datasets.image_sets import ImageSet, load_image_set
from vmtl.datasets.imageclef import IMAGECLEF
from vmtl.datasets.office_caltech import OFFICE_CALTECH
from vmtl.datasets.office_home import OFFICE_HOME

LOADERS = [
    (OFFICE_HOME, load_office_home),
    (OFFICE_CALTECH, load_office_caltech),
    (IMAGECLEF, load_imageclef),
    (DOMAINNET, load_domainnet),
]


def touch(root: Path, *places: str) -> None:
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).touch()


def make(root: Path, spec: ImageSet, n_classes: int | None = None) -> None:
    """Two images of every class of every domain."""
    for domain in spec.domains:
        for c in range(n_classes or spec.n_classes):
            touch(root, *(f"{domain.name}/class_{c:03d}/{i}.jpg" for i in range(2)))


@pytest.mark.parametrize(("spec", "load"), LOADERS)
def test_folders(spec: ImageSet, load: Callable[..., Problem], tmp_path: Path) -> None:
    make(tmp_path, spec)
    problem = load(tmp_path, allow_incomplete=True)
    assert problem.task_names == tuple(sorted(domain.name for domain in spec.domains))
    assert problem.n_classes == spec.n_classes
    assert problem.n_rows == 2 * spec.n_classes * len(spec.domains)
    assert problem.paths is not None
    assert Path(problem.X[0, 0]) == tmp_path / str(problem.paths[0])


@pytest.mark.parametrize(("spec", "load"), LOADERS)
def test_an_incomplete_folder_is_explained(spec: ImageSet, load: Callable[..., Problem], tmp_path: Path) -> None:
    make(tmp_path, spec, n_classes=3)
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
    make(tmp_path, whole)
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
IMAGECLEF_WORDS = ("plane", "bike", "bird", "boat", "bottle", "bus")
IMAGECLEF_WORDS += ("car", "dog", "horse", "monitor", "motorbike", "people")


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
    make(tmp_path, OFFICE_HOME, n_classes=1)
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


def test_office_caltech_on_real_files(real_data: Path) -> None:
    assert load_office_caltech(real_data / "data" / "office_caltech_effnetlite0.npz").n_rows == 2533
    images = load_office_caltech(real_data / "data" / "office_caltech_images", allow_incomplete=True)
    assert images.n_rows == 240
    with pytest.raises(ValueError, match=r"found amazon \(10 classes, 60 images\)"):
        load_office_caltech(real_data / "data" / "office_caltech_images")


def test_office_home_as_unpacked_matches_its_documents(real_data: Path, tmp_path: Path) -> None:
    """Empty files in place of the 15,588 images that the split documents name."""
    documents = real_data / "splits" / "office-home"
    for file in [*documents.glob("*/train_5.txt"), *documents.glob("*/test_5.txt")]:
        places = [place.replace("Real_World", "Real World") for place in read_split_document(file).paths]
        for folder in {Path(place).parent for place in places}:
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for place in places:
            (tmp_path / place).touch()
    problem = load_office_home(tmp_path)
    assert problem.n_rows == 15588
    for percent in (5, 10, 20):
        split = document_split(problem, documents, percent)
        assert len(split.train) + len(split.test) == problem.n_rows


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
