"""Names that pages and the changelog state."""

from __future__ import annotations

import importlib


def resolve(name: str) -> object:
    """The module, class or function of that dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = getattr(value, part) if hasattr(value, part) else value.__annotations__[part]
        return value
    raise AssertionError(f"{name} does not exist")
