"""The evidence of a kernel: its value by scikit-learn and SciPy, its slopes, and what a column must earn."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from helpers.toys import toy
from vmtl.inference.features.evidence_score import CORNER, SURPRISE, EvidenceScore

NUMBERS = torch.tensor([1.0, -1.0, -0.5, 1.5], dtype=torch.float64)


def place(score: EvidenceScore, columns: int) -> tuple[torch.Tensor, ...]:
    return score.belief.shares(score.numbers).log(), NUMBERS.clone(), torch.zeros(columns, dtype=torch.float64)


def test_the_loss_is_the_evidence_at_its_best_scale_and_the_prior():
    rows = toy([5, 7, 4]).rows()
    score = EvidenceScore(rows, standardise=False)
    shares, numbers, relevance = place(score, rows.x.shape[1])
    rho, (ridge, bias) = float(numbers[0].sigmoid()), numbers[1:3].exp().tolist()
    kernel = score.kernel(shares.exp(), relevance.exp()).double() + bias
    between = torch.where(rows.task[:, None] == rows.task, 1.0, rho)
    covariance = (between * kernel + (ridge + 1e-4) * torch.eye(16)).numpy()
    y = score.target[:, 0].numpy()
    best = minimize_scalar(lambda s: -multivariate_normal.logpdf(y, cov=math.exp(s) * covariance, allow_singular=True))
    constant = 0.5 * len(y) * (math.log(2 * math.pi) + 1)
    prior = float(score.surprise_of_numbers(numbers[:3])) + SURPRISE * CORNER * rows.x.shape[1]
    assert float(score(shares, numbers, relevance).loss) == pytest.approx(best.fun - constant + prior, abs=2e-3)


@pytest.mark.parametrize("classes", [0, 3])
def test_slopes_are_finite_differences(classes):
    rows = toy([9, 12, 8], classes=classes).rows(weight=None)
    score = EvidenceScore(rows, standardise=True)
    start = [part.requires_grad_() for part in place(score, rows.x.shape[1])]
    start[2].data += 0.2  # away from the corner
    slopes = torch.autograd.grad(score(*start).loss, start, allow_unused=True)
    for number, slope in enumerate(slopes):
        for i in range(len(start[number])):
            values = []
            for step in (0.02, -0.02):
                moved = [part.detach().clone() for part in start]
                moved[number][i] += step
                values.append(float(score(*moved).loss))
            expected = (values[0] - values[1]) / 0.04
            assert float(slope[i]) == pytest.approx(expected, abs=0.03 + 0.03 * abs(expected))


def test_the_number_of_classes_does_not_weaken_the_prior():
    """The indicators of two classes say the same twice, and count once."""
    rows = toy([9, 12, 8], classes=2).rows()
    score = EvidenceScore(rows, standardise=True)
    both = float(score(*place(score, rows.x.shape[1])).loss)
    score.target = score.target[:, :1]
    score.label = None
    assert float(score(*place(score, rows.x.shape[1])).loss) == pytest.approx(both, abs=1e-3)
