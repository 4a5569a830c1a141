"""Programs that measure this package, run from the root of the repository: ``python -m benchmarks.NAME``."""

from __future__ import annotations

from pathlib import Path

#: The root of the repository, and its pages.
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
