"""Suites: TOML files that name data, fractions, methods, variants, seeds and the paper's own numbers.

A file is one suite, or a list of ``[[section]]`` suites. Each ``[[run]]`` of a suite multiplies out to jobs:
data x fractions x methods x variants x seeds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.paper.run.data import get_dataset, missing_data
from benchmarks.paper.run.execute import SMOKE_STEPS
from benchmarks.paper.run.job import DEFAULT, Job, Options
from benchmarks.paper.run.measures import MEASURES
from benchmarks.paper.run.selection_rules import get_rule
from vmtl._utils.json_values import Document
from vmtl.evaluation.references import REFERENCES
from vmtl.paper.methods import METHODS, get_method

#: The suites that are part of the repository.
SUITES = Path(__file__).parents[1] / "suites"
#: How a suite's records become a table: see ``benchmarks.paper.results.layouts``.
LAYOUT_NAMES = ("methods", "variants", "runtime", "history", "mixing", "attack")
RUN_KEYS = {
    "data", "fractions", "methods", "references", "preset", "options", "variants", "seeds", "split", "selection",
    "candidates", "measure",
}  # fmt: skip
#: Jobs of a smoke run, shared by the suites that it was given.
SMOKE_JOBS = 24
SUITE_KEYS = {"title", "layout", "metric", "header", "notes", "run", "paper", "paper_from", "section"}
PAPER_KEYS = {"data", "fraction", "method", "variant", "metric", "mean", "ci95", "notes"}


@dataclass(frozen=True)
class PaperRow:
    """Numbers of one row of the paper: by task, or under ``average``."""

    data: str
    fraction: float
    method: str
    mean: Mapping[str, float]
    ci95: Mapping[str, float]
    variant: str = ""
    metric: str = "accuracy"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """One table or figure: its jobs, and what the paper printed for it."""

    name: str
    title: str
    layout: str
    metric: str
    jobs: tuple[Job, ...]
    header: str = ""
    notes: tuple[str, ...] = ()
    paper: tuple[PaperRow, ...] = ()


def load_suites(path: str | Path) -> list[Suite]:
    """Read a suite file, or the one of ``SUITES`` with that name; a key or name that is unknown is an error."""
    file = Path(path) if Path(path).suffix else SUITES / f"{path}.toml"
    if not file.is_file():
        known = ", ".join(sorted(file.stem for file in SUITES.glob("*.toml")))
        raise FileNotFoundError(f"There is no suite {path}; give a file, or one of {known}.")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from error
    parts = content.get("section", [content])
    many = "section" in content
    return [_suite(file, f"{file.stem}-{i}" if many else file.stem, part) for i, part in enumerate(parts, start=1)]


def _suite(file: Path, name: str, content: Document) -> Suite:
    _check_keys(file, content, SUITE_KEYS)
    layout = content.get("layout", "methods")
    if layout not in LAYOUT_NAMES:
        raise ValueError(f"{file}: layout is {layout!r}; choose one of {', '.join(LAYOUT_NAMES)}.")
    jobs = [job for run in content.get("run", ()) for job in _jobs(file, run)]
    if not jobs:
        raise ValueError(f"{file}: {name} has no [[run]]; add one.")
    paper = [_paper_row(file, row) for row in content.get("paper", ())]
    if "paper_from" in content:
        paper += [row for suite in load_suites(file.parent / content["paper_from"]) for row in suite.paper]
    return Suite(
        name=name,
        title=content["title"],
        layout=layout,
        metric=content.get("metric", "accuracy"),
        jobs=tuple(jobs),
        header=content.get("header", ""),
        notes=tuple(content.get("notes", ())),
        paper=tuple(paper),
    )


def _paper_row(file: Path, row: Document) -> PaperRow:
    _check_keys(file, row, PAPER_KEYS)
    return PaperRow(**{**row, "ci95": row.get("ci95", {}), "notes": tuple(row.get("notes", ()))})


def _jobs(file: Path, run: Document) -> list[Job]:
    """The product of a run's lists; references are added with C by cross-validation and C = 100."""
    _check_keys(file, run, RUN_KEYS)
    get_dataset(run["data"])
    get_rule(run.get("selection", "last"))
    if unknown := set(run.get("measure", ())) - set(MEASURES):
        raise ValueError(f"{file}: cannot measure {', '.join(sorted(unknown))}; only {', '.join(MEASURES)}.")
    rows: list[tuple[str, str, tuple[Options, ...]]] = []
    for method in _methods(run.get("methods", [])):
        for variant, options in run.get("variants", {"": {}}).items():
            rows.append((method, variant, _candidates(run, method, options)))
    for name in run.get("references", ()):
        rows += reference_rows(name)
    seeds = run.get("seeds", 5)
    return [
        Job(
            data=run["data"],
            fraction=float(fraction),
            method=method,
            seed=seed,
            split=run.get("split", "random"),
            candidates=candidates,
            selection="last" if method in REFERENCES else run.get("selection", "last"),
            variant=variant,
            measure=() if method in REFERENCES else tuple(run.get("measure", ())),
        )
        for fraction in run["fractions"]
        for seed in (range(seeds) if isinstance(seeds, int) else seeds)
        for method, variant, candidates in rows
    ]


def _methods(names: list[str] | str) -> list[str]:
    """``DEFAULT`` and ids of methods; ``"all"`` is every method of the paper."""
    if names == "all":
        return list(METHODS)
    for name in names:
        if name != DEFAULT:
            get_method(name)
    return list(names)


def _candidates(run: Document, method: str, options: Options) -> tuple[Options, ...]:
    preset = {} if method == DEFAULT else {"preset": run.get("preset", "paper")}
    common = {**preset, **run.get("options", {}), **options}
    return tuple({**common, **candidate} for candidate in run.get("candidates", [{}]))


def reference_rows(name: str) -> list[tuple[str, str, tuple[Options, ...]]]:
    """Rows of ``linear`` (C by cross-validation and C = 100) or ``encoder`` (on the default's features) references."""
    if name == "linear":
        kinds: list[tuple[str, Options]] = [("C by CV", {}), ("C = 100", {"C": 100.0})]
    elif name == "encoder":
        kinds = [("C by CV, on the default's features", {"features": "encoder"})]
    else:
        raise ValueError(f"Unknown references {name!r}; choose linear or encoder.")
    return [(method, variant, (options,)) for variant, options in kinds for method in REFERENCES]


def _check_keys(file: Path, content: Document, allowed: set[str]) -> None:
    if unknown := set(content) - allowed:
        raise ValueError(f"{file}: unknown key {', '.join(sorted(unknown))}; use {', '.join(sorted(allowed))}.")


def shrink(suites: Sequence[Suite], data: Path | None, splits: Path | None) -> list[Suite]:
    """Suites as a smoke run: a few jobs of each with a few steps, and stand-ins for data that is absent."""
    most = max(SMOKE_JOBS // max(len(suites), 1), 3)
    return [_shrunk(suite, most, data, splits) for suite in suites]


def _shrunk(suite: Suite, most: int, data: Path | None, splits: Path | None) -> Suite:
    """The first fraction and seed of every row; of too many rows, ``most`` that are evenly spread."""
    rows: dict[tuple[str, ...], Job] = {}
    for job in suite.jobs:
        rows.setdefault((job.data, job.split, job.method, job.variant, job.preset, job.selection), job)
    spread = range(len(rows)) if len(rows) <= most else {round(i * (len(rows) - 1) / (most - 1)) for i in range(most)}
    small = []
    for index in sorted(spread):
        job = list(rows.values())[index]
        steps = {} if job.method in (DEFAULT, *REFERENCES) else {"max_steps": SMOKE_STEPS}
        candidates = tuple({**_few_draws(options), **steps} for options in job.candidates)
        source = "real" if missing_data(job, data, splits) is None else "stand-in"
        small.append(replace(job, candidates=candidates, smoke=True, source=source))
    return replace(suite, jobs=tuple(small))


def _few_draws(options: Options) -> Options:
    return {name: min(value, 4) if name in ("n_z", "n_w") else value for name, value in options.items()}


def narrow(suite: Suite, data: Sequence[str] = (), fractions: Sequence[float] = ()) -> Suite:
    """Only the jobs on these sets and fractions; empty lists keep all."""
    jobs = [job for job in suite.jobs if not data or job.data in data]
    return replace(suite, jobs=tuple(job for job in jobs if not fractions or job.fraction in fractions))
