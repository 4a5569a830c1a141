"""Values as JSON can hold them."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

#: What JSON can hold.
JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"
#: A JSON object that was read: its values are checked where they are used.
Document: TypeAlias = dict[str, Any]


def to_json(value: object) -> JSON:
    """Dicts with text keys, lists, text and finite numbers; NumPy's values become Python's, nan and infinity None."""
    if isinstance(value, dict):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if hasattr(value, "tolist"):  # NumPy arrays and numbers
        return to_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return cast("JSON", value)
