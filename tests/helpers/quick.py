"""The default preset with few steps, draws and scales of its inference: every path of it, a fraction of its time.

For tests of everything but how well it chooses: inputs, files, interfaces.
"""

from __future__ import annotations

import pytest

from vmtl.inference.exact import lattice
from vmtl.inference.features import kernel_selection
from vmtl.inference.structure.positions import task_positions
from vmtl.inference.structure.readings import standing_apart


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Fewer steps, draws and scales wherever something is inferred, until ``patch`` is undone."""
    patch.setattr(kernel_selection, "STEPS", 4)
    patch.setattr(kernel_selection, "NEXT_STEPS", 2)
    patch.setattr(standing_apart, "STEPS", 3)
    patch.setattr(task_positions, "NOISE_DRAWS", 8)
    patch.setattr(lattice, "MAX_POINTS", 3)
