"""Words of messages: names cut to a few, numbers with their nouns, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """`` (did you mean ...?)`` where a known name is spelled alike, else nothing."""
    spelled = {str(other).lower(): other for other in known}
    near = difflib.get_close_matches(str(name).lower(), spelled, n=1, cutoff=0.8)
    return f" (did you mean {spelled[near[0]]!r}?)" if near else ""


def first_few(names: Sequence[object], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def quoted(names: Sequence[object], most: int = 5) -> str:
    """``first_few`` with every name in quotes."""
    return first_few([repr(name) for name in names], most)


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
