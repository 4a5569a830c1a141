"""Names that pages and the changelog state."""

from __future__ import annotations

import importlib


def resolve(name: str) -> object:
    """The module, class or function of that dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part) if hasattr(found, part) else found.__annotations__[part]
        return found
    raise AssertionError(f"{name} does not exist")
