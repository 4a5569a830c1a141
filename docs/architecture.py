"""Draw the pictures of docs/architecture.md, and write its lists: rooms from the package, walks from the table below.

    python docs/architecture.py        # after a room, a module or a step got another name

Tests hold pictures and lists against the package, and every walk against a real fit and a real prediction.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from svg_drawing import MONO, MUTED, Drawing
from walks import ENTER, EXACT, LEAVE, POINT, VARIATIONAL, WALKS, Step, Walk

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "vmtl"
PAGE = ROOT / "docs" / "architecture.md"
#: Rooms beside the walk of a fit: they stand on the data alone, and no estimator knows them.
WING = ("vision", "datasets")
BESIDE_WING = ("estimators", "inference", "methods", "model", "config")
#: Width of a box of a walk.
LANE = 250


@dataclass(frozen=True)
class Room:
    """A package of ``vmtl``: its name, what it is for, and what is in it."""

    name: str
    sentence: str
    entries: tuple[str, ...]


# -- what the package says ------------------------------------------------------------------------------


def read_rooms() -> list[Room]:
    """The rooms from the roof down, in the order that the import rules hold."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "Rooms")
    return [read_room(PACKAGE / name) for name in layers if (PACKAGE / name).is_dir()]


def read_room(folder: Path) -> Room:
    """First sentence of its docstring, its packages and modules; packages end in a stroke."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    sentence = " ".join(docstring.split("\n\n")[0].split()).replace("``", "")
    packages = sorted(f"{entry.name}/" for entry in folder.iterdir() if (entry / "__init__.py").exists())
    modules = sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")
    return Room(folder.name, sentence, (*packages, *modules))


# -- pictures -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sign:
    """The text of a room, wrapped to a width: its sentence, then its entries in small letters."""

    room: Room
    sentence: list[str]
    entries: list[str]

    @classmethod
    def of(cls, room: Room, width: int) -> Sign:
        entries = textwrap.wrap(" · ".join(room.entries), width // 6, break_long_words=False)
        return cls(room, textwrap.wrap(room.sentence, int(width / 6.2)), entries)

    @property
    def height(self) -> int:
        return 15 * len(self.sentence) + 12 * len(self.entries) + 16

    def draw(self, drawing: Drawing, x: int, y: int) -> None:
        for number, line in enumerate(self.sentence):
            drawing.text(x, y + 19 + 15 * number, line, 12)
        top = y + 19 + 15 * len(self.sentence)
        for number, line in enumerate(self.entries):
            drawing.text(x, top + 12 * number, line, 9.5, font_family=MONO, fill=MUTED)


def draw_rooms() -> str:
    """A house: the roof is what people use, the ground what everyone uses, and a wing stands on the data."""
    rooms = {room.name: room for room in read_rooms()}
    fills = {"inference": "model", "methods": "model", "model": "model", "config": "ground", "data": "ground"}
    drawing = Drawing(810, "The rooms of vmtl: each imports only what stands below it")
    drawing.text(16, 26, "Each room imports only what stands below it.", 13, fill=MUTED)
    y, beside = 40, []
    for name in (name for name in rooms if name not in WING):
        if name in BESIDE_WING:
            beside.append(y)
        elif beside and name == "data":
            draw_wing(drawing, [rooms[each] for each in WING], beside[0], y - 8)
        width = 532 if name in BESIDE_WING else 778
        sign = Sign.of(rooms[name], width - 130)
        drawing.box(16, y, width, sign.height, fills.get(name, "ground" if name.startswith("_") else "people"))
        drawing.text(26, y + 19, f"{name}/", 13, font_family=MONO, font_weight="bold")
        sign.draw(drawing, 126, y)
        y += sign.height + 8
    return drawing.svg(height=y + 8)


def draw_wing(drawing: Drawing, rooms: list[Room], top: int, bottom: int) -> None:
    """Rooms of one height between ``top`` and the ground that they stand on."""
    height = (bottom - top - 8 * (len(rooms) - 1)) // len(rooms)
    for number, room in enumerate(rooms):
        y = top + (height + 8) * number
        drawing.box(560, y, 234, height, "wing")
        drawing.text(570, y + 19, f"{room.name}/", 13, font_family=MONO, font_weight="bold")
        Sign.of(room, 214).draw(drawing, 570, y + 18)


def draw_step(drawing: Drawing, x: int, y: int, step: Step, fill: str) -> None:
    """What in words, the function below it, its module in small letters."""
    module, _, name = step.where.rpartition(".")
    if module.rpartition(".")[2][0].isupper():  # a method: its class belongs to it
        module, _, owner = module.rpartition(".")
        name = f"{owner}.{name}"
    drawing.box(x, y, LANE, 50, fill)
    drawing.text(x + 8, y + 16, step.what, 12)
    drawing.text(x + 8, y + 31, name, 10.5, font_family=MONO, font_weight="bold")
    drawing.text(x + 8, y + 44, module.replace(".", "/") + ".py", 9.5, font_family=MONO, fill=MUTED)


def draw_steps(drawing: Drawing, x: int, y: int, walk: Walk, fill: str) -> int:
    """The steps of a walk below each other; where the last box ends."""
    for number, step in enumerate(walk.steps):
        top = y + 66 * number
        draw_step(drawing, x, top, step, fill)
        if number:
            drawing.arrow((x + LANE // 2, top - 16), (x + LANE // 2, top))
    return y + 66 * (len(walk.steps) - 1) + 50


def draw_walk() -> str:
    """From the call of fit through one of three recipes to the fitted model."""
    drawing = Drawing(810, "The walk of one fit")
    recipes = (EXACT, POINT, VARIATIONAL)
    lanes = tuple((16 + 264 * n, walk, "model" if walk is VARIATIONAL else "people") for n, walk in enumerate(recipes))
    middle = 280
    fork = draw_steps(drawing, middle, 16, ENTER, "ground")
    draw_step(drawing, middle, fork - 50, ENTER.steps[-1], "choice")
    end = fork + 60 + 66 * max(len(walk.steps) for _, walk, _ in lanes)
    centre = middle + LANE // 2
    for x, walk, fill in lanes:
        lane = x + LANE // 2
        drawing.arrow((centre, fork), (centre, fork + 14), (lane, fork + 14), (lane, fork + 28))
        drawing.text(x, fork + 46, walk.title, 13, font_weight="bold")
        last = draw_steps(drawing, x, fork + 54, walk, fill)
        drawing.arrow((lane, last), (lane, end - 14), (centre, end - 14), (centre, end))
    draw_steps(drawing, middle, end, LEAVE, "ground")
    return drawing.svg(height=end + 66)


PICTURES = {"rooms.svg": draw_rooms, "walk.svg": draw_walk}


# -- the page ------------------------------------------------------------------------------------------


def list_rooms() -> str:
    """A table of the rooms."""
    lines = [f"| `{room.name}` | {room.sentence} |" for room in read_rooms()]
    return "\n".join(["| room | what it is for |", "|---|---|", *lines]) + "\n"


def list_walk(walk: Walk) -> str:
    """Numbered steps with the full names of their functions."""
    return "".join(f"{n}. {step.what}: `vmtl.{step.where}`\n" for n, step in enumerate(walk.steps, start=1))


def write_lists(text: str) -> str:
    """The page with its lists as the package and the walks are now."""
    blocks = {"rooms": list_rooms(), **{name: list_walk(walk) for name, walk in WALKS.items()}}
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
