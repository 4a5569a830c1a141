"""Mutations that keep a shape: JSON stays JSON, and a line of cells stays one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

#: Values that programs stumble over.
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 255, 2**31, 2**63, -(2**63) - 1, 10**30, 1e308, -1e308, 5e-324, 0.5),
    *(float("nan"), float("inf"), "", " ", "nan", "\x00", "ü" * 50, "x" * 400),
    *("1e400", "-0", "2020-13-45", "<U9", "\ud800"),
    *([], {}, [[]], [None], [1, "a"], {"": 0}, {"a": {"a": []}}),
)
#: Cells of text tables; the last ones end a cell or a line.
CELLS = (
    *("", " ", "nan", "NA", "inf", "-inf", "1e400", "1_000", "0x1F", "1,5", "1.5.2", "True", "½", "²", "\u0663"),
    *("9" * 400, "-" * 30, "2020-13-45", "9999-12-31", "2020-01-01T00:00:00+05:30", "=1+1", "\ufeff", "\x00"),
    *("\ud7ff", "\u202e", "'", '"', '""', ",", ";", "\t", "\r", "\n", "\r\n", '"a\nb"'),
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in a document."""
    found = [path]
    if isinstance(document, dict):
        for key, value in document.items():
            found += places(value, (*path, key))
    elif isinstance(document, list):
        for number, value in enumerate(document[:50]):
            found += places(value, (*path, number))
    return found


def changed(document: Any, rng: random.Random) -> Any:
    """The document with one value replaced, removed, repeated, renamed or taken from elsewhere."""
    path = rng.choice(places(document))
    if not path:
        return rng.choice(HOSTILE) if rng.random() < 0.2 else document
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    last = path[-1]
    kind = rng.randrange(6)
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(last, holder[last])
    elif kind == 1:
        holder[str(rng.choice(HOSTILE))[:20]] = holder[last]
    elif kind == 2:
        other = document
        for key in rng.choice(places(document)):
            other = other[key]
        holder[last] = json.loads(json.dumps(other))
    elif kind == 3 and isinstance(holder[last], int | float):
        holder[last] = holder[last] + rng.choice((-1, 1, 0.5, 1e-9)) * rng.choice((1, 100))
    else:
        holder[last] = rng.choice(HOSTILE)
    return document


def other_cells(data: bytes, separators: Sequence[str], rng: random.Random) -> bytes:
    """A text table with a few cells replaced, or a line repeated, removed or moved."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(rng.randint(1, 4)):
        number = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0 and len(lines) > 1:
            del lines[number]
        elif kind == 1:
            lines.insert(number, rng.choice(lines))
        else:
            separator = max(separators, key=lines[number].count)
            cells = lines[number].split(separator)
            cells[rng.randrange(len(cells))] = rng.choice(CELLS)
            lines[number] = separator.join(cells)
    return "\n".join(lines).encode("utf-8", "surrogateescape")
