"""Names in messages: lists cut to a few, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def meant(name: object, known: Iterable[object]) -> str:
    """' (did you mean ...?)' where a known name is spelled alike, else nothing."""
    spelled = {str(other).lower(): other for other in known}
    near = difflib.get_close_matches(str(name).lower(), spelled, n=1, cutoff=0.8)
    return f" (did you mean {spelled[near[0]]!r}?)" if near else ""


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, cut to the first few: for messages."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
