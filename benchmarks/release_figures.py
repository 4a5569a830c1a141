"""Accuracy and speed of a release as JSON, read from the pages that state them; and two releases compared.

    python -m benchmarks.release_figures record 0.2.0      # pages -> benchmarks/history/0.2.0.json
    python -m benchmarks.release_figures compare 0.1.0 0.2.0

The pages are written from real runs (benchmarks/README.md), so a record holds what was published, no more and no less.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import ROOT

HISTORY = Path(__file__).with_name("history")
#: A change of a figure without an interval is worth a line from this many percent on.
PERCENT = 5.0
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Figure:
    """One published number."""

    page: str
    name: str  # what was measured, on what
    quantity: str  # accuracy, nll, fit s, ...
    value: float
    higher_is_better: bool
    spread: float = 0.0  # half of its interval, or of the range of several runs
    reached: bool | None = None  # where the page states a goal

    @property
    def key(self) -> tuple[str, str]:
        """What was measured, wherever it stands: tables may move from page to page."""
        return self.name, self.quantity


@dataclass(frozen=True)
class Table:
    """A table of a page, under its nearest heading."""

    heading: str
    rows: list[dict[str, str]]


def read_tables(text: str) -> list[Table]:
    """The tables of a Markdown page, in order; a cell is found by the name of its column."""
    tables, heading, columns = [], "", None
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            columns = None
        elif columns is None:
            columns = cells
            tables.append(Table(heading, []))
        elif not set(line) <= set("|-: "):
            tables[-1].rows.append(dict(zip(columns, cells, strict=True)))
    return tables


def read_numbers(cell: str) -> list[float]:
    """The numbers of a cell: "3.1, 3.2", "2.5 to 2.7", "95.7 ± 0.1", "1,234"."""
    return [float(number) for number in re.findall(NUMBER, re.sub(r"(?<=\d),(?=\d{3}\b)", "", cell))]


# -- pages ---------------------------------------------------------------------------------------------


def method_figures(root: Path) -> Iterator[Figure]:
    """Every method in every setting of RESULTS.md: score, likelihood, calibration, seconds."""
    for table in read_tables((root / "RESULTS.md").read_text(encoding="utf-8")):
        setting = table.heading.split(": ", 1)[-1]
        for row in table.rows:
            if "fit, s" not in row:
                break
            name = f"{setting}: {row['method']}" + (f" [{row['preset']}]" if row["preset"] else "")
            for column, cell in row.items():
                if column.endswith(", mean") or column in ("nll", "ece", "fit, s"):
                    quantity = column.removesuffix(", mean").replace(",", "")
                    value, *half = read_numbers(cell)
                    yield Figure("RESULTS.md", name, quantity, value, quantity == "accuracy", *half)


def default_figures(root: Path) -> Iterator[Figure]:
    """The default beside linear models."""
    for table in read_tables((root / "docs" / "linear-models.md").read_text(encoding="utf-8")):
        for row in table.rows:
            if "VMTL default" not in row:
                break
            name, lower = row["set, training rows"], row["gain"].endswith("%")
            score = "rmse" if lower else "accuracy"
            for column in ("best of three", "same on our features", "VMTL default"):
                (value,) = read_numbers(row[column])
                yield Figure("docs/linear-models.md", f"{name}: {column}", score, value, not lower)
            for column, value in zip(("best of three", "VMTL default"), read_numbers(row["NLL"]), strict=True):
                yield Figure("docs/linear-models.md", f"{name}: {column}", "nll", value, False)


def goal_figures(root: Path) -> Iterator[Figure]:
    """The goals of the defaults."""
    for table in read_tables((root / "docs" / "defaults.md").read_text(encoding="utf-8")):
        for row in table.rows:
            if "reached" not in row:
                break
            (value,) = read_numbers(row["measured"])
            higher = row["goal"].startswith(">")
            yield Figure("docs/defaults.md", row["what"], "goal", value, higher, reached=row["reached"] == "yes")


def speed_figures(root: Path) -> Iterator[Figure]:
    """Ratios, seconds and memory; of several runs the middle, with half of their range."""
    for table in read_tables((root / "docs" / "performance.md").read_text(encoding="utf-8")):
        for row in table.rows:
            if "two threads" not in row:
                break
            (goal,) = read_numbers(row["goal"])
            numbers = read_numbers(row["two threads"])
            value, half = (min(numbers) + max(numbers)) / 2, (max(numbers) - min(numbers)) / 2
            figure = (row["what"], "two threads", round(value, 4), False, round(half, 4), value <= goal)
            yield Figure("docs/performance.md", *figure)


PAGES = (method_figures, default_figures, goal_figures, speed_figures)


# -- records -------------------------------------------------------------------------------------------


def read_pages(root: Path = ROOT) -> list[Figure]:
    """All figures of the pages; no two may have the same name."""
    figures = [figure for page in PAGES for figure in page(root)]
    for page in PAGES:
        if not any(page(root)):
            raise ValueError(f"{page.__name__} found no table: a page or the names of its columns changed.")
    keys = [figure.key for figure in figures]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ValueError(f"Two figures have the same name: {min(twice)}.")
    return figures


def read_versions(root: Path = ROOT) -> dict[str, str]:
    """The packages that RESULTS.md was made with."""
    line = re.search(r"^Versions: (.*)\.$", (root / "RESULTS.md").read_text(encoding="utf-8"), re.MULTILINE)
    return dict(entry.split(" ") for entry in line[1].split(", ")) if line else {}


def write_record(release: str, figures: list[Figure], versions: dict[str, str], folder: Path = HISTORY) -> Path:
    """One file per release, one figure per line; what was published is not overwritten."""
    file = folder / f"{release}.json"
    if file.exists():
        raise FileExistsError(f"{file} exists: the figures of a release do not change; delete it if it is a draft.")
    head = json.dumps({"release": release, "versions": versions}).removesuffix("}")
    lines = ",\n".join(json.dumps(asdict(figure), ensure_ascii=False) for figure in figures)
    file.write_text(f'{head}, "figures": [\n{lines}\n]}}\n', encoding="utf-8")
    return file


def read_record(release: str, folder: Path = HISTORY) -> list[Figure]:
    """The figures of a release."""
    content = json.loads((folder / f"{release}.json").read_text(encoding="utf-8"))
    return [Figure(**entry) for entry in content["figures"]]


@dataclass(frozen=True)
class Change:
    """The same figure in two releases."""

    old: Figure
    new: Figure

    @property
    def gain(self) -> float:
        """Positive is better."""
        difference = self.new.value - self.old.value
        return difference if self.new.higher_is_better else -difference

    @property
    def lost_goal(self) -> bool:
        return bool(self.old.reached) and self.new.reached is False

    def exceeds(self, percent: float) -> bool:
        """Whether it is larger than both intervals together and than ``percent`` of the old value."""
        return abs(self.gain) > max(self.old.spread + self.new.spread, percent / 100 * abs(self.old.value))

    def __str__(self) -> str:
        verdict = "goal lost" if self.lost_goal else "better" if self.gain > 0 else "worse"
        what = f"{self.new.quantity}, {self.new.name} ({self.new.page})"
        return f"{verdict:9s} {self.old.value:g} -> {self.new.value:g}  {what}"


def compare(old: list[Figure], new: list[Figure], percent: float = PERCENT) -> list[Change]:
    """What changed by more than chance and rounding explain, and every goal that was reached and is not any more."""
    known = {figure.key: figure for figure in old}
    changes = [Change(known[figure.key], figure) for figure in new if figure.key in known]
    return [change for change in changes if change.lost_goal or change.exceeds(percent)]


def main(arguments: list[str] | None = None) -> int:
    """Record or compare; 1 if a goal was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record", help="write the figures of the pages").add_argument("release")
    comparison = commands.add_parser("compare", help="what changed between two releases")
    comparison.add_argument("old")
    comparison.add_argument("new", nargs="?", help="default: the pages as they are now")
    comparison.add_argument("--percent", type=float, default=PERCENT, help="smallest change that is shown")
    given = parser.parse_args(arguments)
    if given.command == "record":
        print(write_record(given.release, read_pages(), read_versions()))
        return 0
    old, new = read_record(given.old), read_record(given.new) if given.new else read_pages()
    changes = compare(old, new, given.percent)
    print(*changes, sep="\n", end="\n" if changes else "")
    shared = len({figure.key for figure in old} & {figure.key for figure in new})
    print(f"{shared} figures in both, {len(changes)} of them changed; {len(old)} old and {len(new)} new ones.")
    return int(any(change.lost_goal for change in changes))


if __name__ == "__main__":
    sys.exit(main())
