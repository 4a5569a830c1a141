"""Draw the pictures of docs/architecture.md and write its lists: the packages, and the calls of real fits (``walks``).

    python docs/architecture.py        # after a package, a module or a function got another name

Tests compare the page with what this program writes.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from svg_drawing import MONO, MUTED, Drawing
from walks import TABLE, WALKS, steps

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "vmtl"
PAGE = ROOT / "docs" / "architecture.md"
#: Packages that use the data alone, and that no estimator imports: they stand beside these.
WING = ("vision", "datasets")
BESIDE_WING = ("serving", "estimators", "gp", "paper", "results")
#: How far a call stands to the right of its caller.
INDENT = 22


@dataclass(frozen=True)
class Package:
    """A package of ``vmtl``: its name, what it is for, and what is in it."""

    name: str
    sentence: str
    entries: tuple[str, ...]


# -- what the package says ------------------------------------------------------------------------------


def read_packages() -> list[Package]:
    """The packages from the top down, in the order of the import rules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "Packages")
    names = [name for layer in layers for name in layer.split(" | ")]
    return [read_package(PACKAGE / name) for name in names if (PACKAGE / name).is_dir()]


def read_package(folder: Path) -> Package:
    """First sentence of its docstring, its packages and modules; packages end in a stroke."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    sentence = " ".join(docstring.split("\n\n")[0].split()).replace("``", "")
    packages = sorted(f"{entry.name}/" for entry in folder.iterdir() if (entry / "__init__.py").exists())
    modules = sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")
    return Package(folder.name, sentence, (*packages, *modules))


# -- pictures -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sign:
    """The text of a package, wrapped to a width: its sentence, then its entries in small letters."""

    package: Package
    sentence: list[str]
    entries: list[str]

    @classmethod
    def of(cls, package: Package, width: int) -> Sign:
        entries = textwrap.wrap(" · ".join(package.entries), width // 6, break_long_words=False)
        return cls(package, textwrap.wrap(package.sentence, int(width / 6.2)), entries)

    @property
    def height(self) -> int:
        return 15 * len(self.sentence) + 12 * len(self.entries) + 16

    def draw(self, drawing: Drawing, x: int, y: int) -> None:
        for number, line in enumerate(self.sentence):
            drawing.text(x, y + 19 + 15 * number, line, 12)
        top = y + 19 + 15 * len(self.sentence)
        for number, line in enumerate(self.entries):
            drawing.text(x, top + 12 * number, line, 9.5, font_family=MONO, fill=MUTED)


def draw_packages() -> str:
    """What people use on top, what every package uses at the bottom; some packages stand beside the estimators."""
    packages = {package.name: package for package in read_packages()}
    fills = {"gp": "model", "paper": "model", "data": "ground"}
    drawing = Drawing(810, "The packages of vmtl: each imports only from those below it")
    rule = "Each package imports only from those below it; gp and paper never import each other."
    drawing.text(16, 26, rule, 13, fill=MUTED)
    y, beside = 40, []
    for name in (name for name in packages if name not in WING):
        if name in BESIDE_WING:
            beside.append(y)
        elif beside and name == "data":
            draw_wing(drawing, [packages[each] for each in WING], beside[0], y - 8)
        width = 532 if name in BESIDE_WING else 778
        sign = Sign.of(packages[name], width - 130)
        drawing.box(16, y, width, sign.height, fills.get(name, "ground" if name.startswith("_") else "people"))
        drawing.text(26, y + 19, f"{name}/", 13, font_family=MONO, font_weight="bold")
        sign.draw(drawing, 126, y)
        y += sign.height + 8
    return drawing.svg(height=y + 8)


def draw_wing(drawing: Drawing, packages: list[Package], top: int, bottom: int) -> None:
    """Packages of one height between ``top`` and ``bottom``."""
    height = (bottom - top - 8 * (len(packages) - 1)) // len(packages)
    for number, package in enumerate(packages):
        y = top + (height + 8) * number
        drawing.box(560, y, 234, height, "wing")
        drawing.text(570, y + 19, f"{package.name}/", 13, font_family=MONO, font_weight="bold")
        Sign.of(package, 214).draw(drawing, 570, y + 18)


def draw_walk() -> str:
    """One fit of the default: every call in a row of its own, below and to the right of the one that made it."""
    drawing = Drawing(810, "The calls of one default fit, from the estimator to the Gaussian process and back")
    y = 16
    for step in steps("fit"):
        x = 16 + INDENT * step.depth
        lines = textwrap.wrap(step.what, int((810 - 16 - x) / 6.4))
        height = 26 + 15 * len(lines)
        drawing.box(x, y, 810 - 16 - x, height, "model" if step.package == "gp" else "people")
        drawing.text(x + 8, y + 17, step.where, 11, font_family=MONO, font_weight="bold")
        for number, line in enumerate(lines):
            drawing.text(x + 8, y + 33 + 15 * number, line, 12)
        y += height + 6
    return drawing.svg(height=y + 10)


PICTURES = {"packages.svg": draw_packages, "walk.svg": draw_walk}


# -- the page ------------------------------------------------------------------------------------------


def list_packages() -> str:
    """A table of the packages."""
    lines = [f"| `{package.name}` | {package.sentence} |" for package in read_packages()]
    return "\n".join(["| package | what it is for |", "|---|---|", *lines]) + "\n"


def list_walk(name: str) -> str:
    """Calls with the first sentences of their docstrings, indented below those that made them."""
    lines = [f"{'    ' * step.depth}- `vmtl.{step.where}`{': ' * bool(step.what)}{step.what}\n" for step in steps(name)]
    return "".join(lines)


def write_lists(text: str) -> str:
    """The page with its lists as the package and the walks are now."""
    blocks = {"packages": list_packages(), **{name: list_walk(name) for name in WALKS}}
    blocks["table"] = "".join(f"{n}. `vmtl.{where}`\n" for n, where in enumerate(TABLE, start=1))
    for name, block in blocks.items():
        before, start, rest = text.partition(f"<!-- {name}:start -->\n")
        _, end, after = rest.partition(f"<!-- {name}:end -->")
        if not (start and end):
            raise ValueError(f"The page has no block between {name}:start and {name}:end.")
        text = f"{before}{start}\n{block}\n{end}{after}"
    return text


def main() -> None:
    for name, draw in PICTURES.items():
        (ROOT / "docs" / "images" / name).write_text(draw(), encoding="utf-8")
    PAGE.write_text(write_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
