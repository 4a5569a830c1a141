"""Values as JSON can hold them."""

from __future__ import annotations

import math
from typing import Any


def to_json(value: Any) -> Any:
    """Dicts with text keys, lists, text and finite numbers; NumPy's values become Python's, nan and infinity None."""
    if isinstance(value, dict):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if hasattr(value, "tolist"):  # NumPy arrays and numbers
        return to_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
