"""README and docs: every snippet and command runs, every name exists, tables say what the code says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from helpers.names import resolve
from helpers.processes import PATIENCE
from helpers.quick import shorten
from vmtl import METHODS, PRESETS, MultiTaskClassifier, MultiTaskRegressor
from vmtl.paper.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: What tests/docs/test_gallery.py runs.
GALLERY = sorted((ROOT / "docs" / "gallery").glob("*.md"))
#: Pages whose snippets run in the short form too.
SHORT = ("presets",)
SHELLS = ("bash", "sh", "shell", "console")
#: What continuous integration runs itself, and what would change the environment.
NOT_RUN = ("git clone", "cd ", "make ", "pip install")
MOST_IMAGE_BYTES = 300_000


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and the line it begins at."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    code, inside = [], None
    for number, line in enumerate(text.splitlines(), start=1):
        fence = re.match(r"\s*```(\w*)", line)
        if fence is None:
            if inside is not None:
                inside[2].append(line)
        elif inside is None:
            inside = (fence[1], number, [])
        else:
            language, start, lines = inside
            code.append(Block(language, textwrap.dedent("\n".join(lines)), start))
            inside = None
    assert inside is None, "a fenced block is not closed"
    return code


def commands(block: Block) -> list[str]:
    """The lines of a shell block, continued lines joined, comments and blank lines left out."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def run_command(command: str, folder: Path) -> None:
    """Run a ``vmtl`` or ``python`` command as a user would; leave ``NOT_RUN`` to others; refuse anything else."""
    if command.startswith(NOT_RUN):
        return
    program, *arguments = shlex.split(command, comments=True)
    programs = {"vmtl": [str(Path(sys.executable).with_name("vmtl"))], "python": [sys.executable]}
    assert program in programs, f"nothing runs the command {command!r}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [*programs[program], *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def run_blocks(page: Path, listed: list[Block], folder: Path) -> None:
    """Run the Python of some blocks as one program, and their commands between."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in listed:
        if block.language == "python":
            exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)
        elif block.language in SHELLS:
            for command in commands(block):
                run_command(command, folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the repository's examples and suites in it, as the working directory."""
    for name in ("examples", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.system
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=() if page.stem in SHORT else pytest.mark.slow) for page in PAGES],
)
@pytest.mark.usefixtures("registry")
def test_every_snippet_and_command_runs(page: Path, folder: Path) -> None:
    run_blocks(page, blocks(page.read_text(encoding="utf-8")), folder)


@pytest.mark.system
def test_the_first_snippets_of_the_readme_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its section on Python, in the short form too."""
    shorten(monkeypatch)
    page = ROOT / "README.md"
    before, heading, rest = page.read_text(encoding="utf-8").partition("\n## In Python\n")
    assert heading
    python = [block for block in blocks(before + heading + rest.partition("\n## ")[0]) if block.language == "python"]
    assert python
    run_blocks(page, python, folder)


def between(text: str, name: str) -> str:
    """What stands between the marks of a generated table."""
    block = re.search(rf"<!-- {name}:start -->\n(.*?)<!-- {name}:end -->", text, re.DOTALL)
    assert block is not None, f"the marks {name}:start and {name}:end are gone"
    return block[1]


def methods_table() -> str:
    rows = ["| `method=` | name | what it is | reference |", "|---|---|---|---|"]
    rows += [f"| `{name}` | {m.name} | {m.summary} | {m.reference} |" for name, m in METHODS.items()]
    return "\n".join(rows) + "\n"


def presets_table() -> str:
    """Every setting of every preset."""

    def shown(value: object) -> str:
        return f"`{' '.join(map(str, value))}`" if isinstance(value, tuple) else f"`{value}`"

    rows = [f"| setting | {' | '.join(PRESETS)} |", "|---|" + "---|" * len(PRESETS)]
    for field in fields(Settings):
        values = [shown(getattr(settings, field.name)) for settings in PRESETS.values()]
        rows.append(f"| `{field.name}` | {' | '.join(values)} |")
    return "\n".join(rows) + "\n"


GENERATED = [
    ("docs/methods.md", "methods", methods_table),
    ("docs/presets.md", "presets", presets_table),
]


@pytest.mark.parametrize(("page", "name", "table"), GENERATED)
def test_tables_are_what_the_code_says(page: str, name: str, table: Callable[[], str]) -> None:
    written = between((ROOT / page).read_text(encoding="utf-8"), name)
    assert written == table(), f"run `python tests/project/test_docs.py` to write the table of {page} again"


def write_tables() -> None:
    """Put the generated tables into their pages."""
    for page, name, table in GENERATED:
        text = (ROOT / page).read_text(encoding="utf-8")
        (ROOT / page).write_text(text.replace(between(text, name), table()), encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("README.md", "peers"),
        ("docs/peers.md", "peers"),
        ("docs/linear-models.md", "comparison"),
        ("docs/defaults.md", "goals"),
    ],
)
def test_measured_tables_have_their_place(page: str, name: str) -> None:
    assert between((ROOT / page).read_text(encoding="utf-8"), name).strip()


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=lambda page: page.stem)
def test_names_in_the_text_exist(page: Path) -> None:
    """`vmtl.module.name` and `file.py` in code font are there."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`(vmtl(?:\.\w+)+)(?:\(.*?\))?`", text):
        if not name.endswith(".vmtl"):
            resolve(name)
    for file in re.findall(r"`((?:src/vmtl/|benchmarks/|examples/|docs/|tests/)[\w/.-]+\.\w+)`", text):
        assert (ROOT / file).is_file(), f"{page.name} names {file}, which does not exist"


def test_constants_of_the_default_are_the_codes() -> None:
    """Rows `vmtl.module.NAME` | value of the table of constants."""
    text = (ROOT / "docs" / "defaults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(vmtl\.[\w.]+)` \| ([\d.]+) \|", text, re.MULTILINE)
    assert len(rows) > 10
    assert {name: float(value) for name, value in rows} == {name: resolve(name) for name, _ in rows}


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=lambda page: page.stem)
def test_local_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("estimator", [MultiTaskClassifier, MultiTaskRegressor])
def test_choices_state_their_default(estimator: type) -> None:
    """The reference would show the first of ``{"a", "b"}, optional`` as the default."""
    assert "}, optional" not in (estimator.__doc__ or "")


def test_images_are_small() -> None:
    images = [*(ROOT / "docs" / "images").rglob("*.*"), *(ROOT / "docs" / "gallery").glob("*.png")]
    assert images
    assert all(image.stat().st_size < MOST_IMAGE_BYTES for image in images)


@pytest.mark.slow
@pytest.mark.system
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every page is in the navigation, every link and name of the reference resolves."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert "MultiTaskClassifier" in reference
    for page in (tmp_path / "site").glob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8"))
        assert not loaded, f"{page.name} loads {loaded} from the network"


if __name__ == "__main__":
    write_tables()
