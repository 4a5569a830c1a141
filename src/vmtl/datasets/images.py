"""Images on disk: folders ``<root>/<Domain>/<Class>/*.jpg`` or list files of ``path label`` lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vmtl.data.problem import Problem
from vmtl.data.splits import normalised_path, read_path_labels

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


def image_folder(root: str | Path, name: str | None = None) -> Problem:
    """All images below ``<root>/<Domain>/<Class>/``; X (n, 1) names the files for ``vmtl.vision``.

    Parameters
    ----------
    root : path
        A folder laid out as ``<Domain>/<Class>/*.jpg``.
    name : str, default=None
        The name of the problem; the folder's name if None.
    """
    base = existing_folder(root, "images as <Domain>/<Class>/*.jpg")
    rows: list[tuple[str, str, str]] = []
    for domain in subfolders(base):
        for category in subfolders(base / domain):
            files = sorted(name for name in os.listdir(base / domain / category) if _is_image(name))
            rows += [(f"{domain}/{category}/{file}", domain, category) for file in files]
    if not rows:
        raise ValueError(f"{base} holds no images; lay them out as <Domain>/<Class>/*.jpg or *.png.")
    return _problem(name or base.name, base, rows)


def image_lists(
    root: str | Path,
    lists: Mapping[str, Sequence[Path]],
    class_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Problem:
    """The images that the list files of each task name, as ``path label`` lines.

    A path counts from the first folder on that ``root`` holds, so lists that were written elsewhere serve as well;
    blanks and underscores in that folder's name are alike. An image listed under two labels is a row of each.
    Classes are named by ``class_names``, or by the folder that holds a label's images, or by their number.

    Parameters
    ----------
    root : path
        The folder below which the images are.
    lists : mapping of str to sequence of paths
        The list files of every task.
    class_names : sequence of str, default=None
        Names of the classes, in the order of their numbers.
    name : str, default=None
        The name of the problem; the folder's name if None.
    """
    base = existing_folder(root, "the images that the list files name")
    folders = {normalised_path(name): name for name in subfolders(base)}
    entries: list[tuple[str, str, int]] = []
    for task, files in lists.items():
        lines = dict.fromkeys(line for file in files for line in read_path_labels(file))
        entries += [(_below(folders, path), task, label) for path, label in lines]
    absent = [path for path, *_ in entries if _leads_out(path) or not (base / path).is_file()]
    if absent:
        raise ValueError(
            f"{len(absent)} of the {len(entries)} images that the list files name are not below {base}, "
            f"the first is {absent[0]!r}; give the folder that their paths start from."
        )
    names = class_names or _names_from_folders(entries)
    if entries and max(label for *_, label in entries) >= len(names):
        raise ValueError(f"The list files use more than the {len(names)} known classes; check the lists.")
    rows = [(path, task, names[c]) for path, task, c in entries]
    return _problem(name or base.name, base, rows, tuple(names), tuple(lists))


def _below(folders: Mapping[str, str], path: str) -> str:
    """A listed path from the first of ``folders`` on, spelled as on disk; the path itself where it holds none."""
    parts = path.replace("\\", "/").split("/")
    for i, part in enumerate(parts[:-1]):
        if normalised_path(part) in folders:
            return "/".join([folders[normalised_path(part)], *parts[i + 1 :]])
    return path


def _leads_out(path: str) -> bool:
    """Whether a listed path could name a file elsewhere than below the folder of the images."""
    return Path(path).is_absolute() or ".." in Path(path).parts


def _problem(
    name: str,
    base: Path,
    rows: Sequence[tuple[str, str, str]],
    class_names: tuple[str, ...] | None = None,
    task_names: tuple[str, ...] | None = None,
) -> Problem:
    tasks = task_names or tuple(sorted({task for _, task, _ in rows}))
    classes = class_names or tuple(sorted({category for *_, category in rows}))
    task_of = {task: t for t, task in enumerate(tasks)}
    class_of = {category: c for c, category in enumerate(classes)}
    return Problem(
        name=name,
        X=np.array([[str(base / path)] for path, *_ in rows], dtype=object),
        y=np.array([class_of[category] for *_, category in rows], dtype=np.int64),
        task=np.array([task_of[task] for _, task, _ in rows], dtype=np.int64),
        task_names=tasks,
        class_names=classes,
        paths=np.array([path for path, *_ in rows]),
    )


def _names_from_folders(entries: Sequence[tuple[str, str, int]]) -> list[str]:
    """Class names by the images' folders where every label has one folder name of its own, else numbers."""
    folders: dict[int, set[str]] = {}
    for path, _, label in entries:
        folders.setdefault(label, set()).add(Path(path).parent.name)
    n = max(folders, default=-1) + 1
    names = [next(iter(folders[c])) if len(folders.get(c, ())) == 1 else str(c) for c in range(n)]
    return names if len(set(names)) == n else [str(c) for c in range(n)]


def existing_folder(root: str | Path, expected: str) -> Path:
    if not Path(root).is_dir():
        raise FileNotFoundError(f"There is no folder {root}; put {expected} there.")
    return Path(root)


def subfolders(base: Path) -> list[str]:
    return sorted(e.name for e in os.scandir(base) if e.is_dir() and not e.name.startswith("."))


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith(".")
