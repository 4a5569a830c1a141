"""The default preset with a few steps and rows of selection: every path of it, a tenth of its time.

For tests of everything but how well it chooses: inputs, files, interfaces.
"""

from __future__ import annotations

import pytest

from vmtl.inference.exact import kernel_selection, strength, structure_posterior, task_positions


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Fewer steps, draws and rows wherever something is inferred from the training rows, until ``patch`` is undone."""
    patch.setattr(kernel_selection, "STEPS", 5)
    patch.setattr(kernel_selection, "MORE_STEPS", 2)
    patch.setattr(structure_posterior, "STEPS", 3)
    patch.setattr(task_positions, "NOISE_DRAWS", 8)
    patch.setattr(strength, "MAX_ROWS", 30)
    patch.setattr(strength, "ROUNDS", strength.ROUNDS[:1])
