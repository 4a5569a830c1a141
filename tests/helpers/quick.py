"""The default preset with a few steps and rows of selection: every path of it, a tenth of its time.

For tests of everything but how well it chooses: inputs, files, interfaces.
"""

from __future__ import annotations

import pytest

from vmtl.inference.exact import evidence, kernel_selection, strength


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Fewer steps and rows wherever something is inferred from the training rows, until ``patch`` is undone."""
    patch.setattr(kernel_selection, "STEPS", 5)
    patch.setattr(kernel_selection, "MORE_STEPS", 2)
    patch.setattr(evidence, "STEPS", 8)
    patch.setattr(strength, "MAX_ROWS", 30)
    patch.setattr(strength, "ROUNDS", strength.ROUNDS[:1])
