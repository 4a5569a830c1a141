"""The default preset with a few steps and rows of selection: every path of it, a tenth of its time.

For tests of everything but how well it chooses: inputs, files, interfaces.
"""

from __future__ import annotations

import pytest

from vmtl.inference.exact import closed_form, relatedness, selection


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Fewer steps and rows wherever something is inferred from the training rows, until ``patch`` is undone."""
    patch.setattr(selection, "STEPS", 5)
    patch.setattr(selection, "MORE_STEPS", 2)
    patch.setattr(relatedness, "STEPS", 8)
    patch.setattr(closed_form, "MAX_ROWS", 30)
    patch.setattr(closed_form, "ROUNDS", closed_form.ROUNDS[:1])
