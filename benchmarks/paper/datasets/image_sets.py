"""Published image sets: read from folders, list files or a feature file, and checked to be complete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vmtl._utils.messages import quoted
from vmtl.data.problem import Problem
from vmtl.datasets.images import existing_folder, image_folder, image_lists, subfolders
from vmtl.datasets.npz import load_npz

LIST_FOLDERS = (".", "list", "image_list")


@dataclass(frozen=True)
class Domain:
    """A task of an image set: its name, other names its folder goes by, and how many images it has."""

    name: str
    n_images: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageSet:
    """What a published set holds; ``lists`` are its list files, with ``{}`` for a domain's name or alias.

    In names of folders and files case, blanks and underscores do not matter.
    """

    name: str
    domains: tuple[Domain, ...]
    n_classes: int
    lists: tuple[str, ...] = ()
    class_names: tuple[str, ...] | None = None

    def domain(self, name: str) -> Domain | None:
        """The domain that a folder name means."""
        for domain in self.domains:
            if _alphanumeric(name) in (_alphanumeric(known) for known in (domain.name, *domain.aliases)):
                return domain
        return None


def load_image_set(
    spec: ImageSet, root: str | Path, lists: str | Path | None = None, allow_incomplete: bool = False
) -> Problem:
    """Read a published set from folders, list files (in ``lists`` or ``root``), or a feature file."""
    base = Path(root)
    if base.suffix == ".npz":
        problem = load_npz(base)
    else:
        existing_folder(base, f"{spec.name} as <Domain>/<Class>/*.jpg with domains {_domain_names(spec)}")
        files = _list_files(spec, Path(lists) if lists is not None else base)
        if lists is not None and not files:
            wanted = " and ".join(pattern.format("<domain>") for pattern in spec.lists)
            raise ValueError(f"{lists} holds no list files of {spec.name}; put {wanted} there.")
        problem = image_lists(base, files, spec.class_names) if files else _only_domains(spec, base)
    return check_complete(spec, problem, root, allow_incomplete)


def check_complete(spec: ImageSet, problem: Problem, root: str | Path, allow_incomplete: bool) -> Problem:
    """Put the set's names on the tasks, or explain what was expected and what is there."""
    images = np.bincount(problem.task, minlength=problem.n_tasks)
    classes = [len(np.unique(problem.y[problem.task == t])) for t in range(problem.n_tasks)]
    known = [domain for name in problem.task_names if (domain := spec.domain(name)) is not None]
    strange = len(known) < problem.n_tasks or problem.n_classes > spec.n_classes
    partial = (
        len(known) < len(spec.domains)
        or min(classes) < spec.n_classes
        or any(n < domain.n_images for n, domain in zip(images, known, strict=False))
    )
    if strange or (partial and not allow_incomplete):
        expected = [_described(d.name, spec.n_classes, d.n_images) for d in spec.domains]
        there = [_described(*row) for row in zip(problem.task_names, classes, images, strict=True)]
        raise ValueError(
            f"{root} is not all of {spec.name}: expected {', '.join(expected)}; found {', '.join(there)}; "
            + ("check the path." if strange else "complete it or pass allow_incomplete=True.")
        )
    name = spec.name.lower().replace("-", "_")
    return replace(problem, name=name, task_names=tuple(domain.name for domain in known))


def _described(name: str, n_classes: int, n_images: int) -> str:
    return f"{name} ({n_classes} classes, {n_images:,} images)"


def _list_files(spec: ImageSet, folder: Path) -> dict[str, list[Path]]:
    """The list files of every domain for which all are there, in ``folder`` or where sets keep them below it."""
    texts = [file for place in LIST_FOLDERS for file in sorted((folder / place).glob("*.txt"))]
    named = {_alphanumeric(file.name): file for file in reversed(texts)}  # of two with one name, the first counts
    files: dict[str, list[Path]] = {}
    for domain in spec.domains:
        for alias in (domain.name, *domain.aliases):
            wanted = [_alphanumeric(pattern.format(alias)) for pattern in spec.lists]
            if wanted and all(name in named for name in wanted):
                files.setdefault(domain.name, [named[name] for name in wanted])
    return files


def _only_domains(spec: ImageSet, base: Path) -> Problem:
    """The images in folders named like the set's domains; other folders are left alone."""
    domains = [name for name in subfolders(base) if spec.domain(name)]
    if not domains:
        there = quoted(subfolders(base)) or "no folder"
        raise ValueError(f"{base} is not {spec.name}: expected folders {_domain_names(spec)}, found {there}; check it.")
    whole = image_folder(base)
    kept = np.isin(whole.task, [whole.task_names.index(name) for name in domains if name in whole.task_names])
    return _renumbered(whole.subset(np.flatnonzero(kept)))


def _renumbered(problem: Problem) -> Problem:
    """Drop tasks and classes without rows."""
    tasks, task = np.unique(problem.task, return_inverse=True)
    classes, y = np.unique(problem.y, return_inverse=True)
    names = problem.class_names or ()
    return replace(
        problem,
        task=task,
        y=y,
        task_names=tuple(problem.task_names[t] for t in tasks),
        class_names=tuple(names[c] for c in classes),
    )


def _alphanumeric(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _domain_names(spec: ImageSet) -> str:
    return ", ".join(domain.name for domain in spec.domains)
