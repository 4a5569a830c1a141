"""One look for all figures."""

from __future__ import annotations

import matplotlib.pyplot as plt

from helpers.report_models import Case
from vmtl.report import (
    plot_uncertainty,
)


def test_given_axes_are_used_and_new_ones_are_made(class_case: Case) -> None:
    _, mine = plt.subplots()
    assert plot_uncertainty(class_case.evidence, mine) is mine
    assert plot_uncertainty(class_case.evidence) is not mine
