"""What scores have in common: what is believed, and the scales that a point means."""

from __future__ import annotations

import pytest
import torch

from helpers.toys import toy
from vmtl.inference.features.candidate_kernels import CANDIDATES, candidates_for
from vmtl.inference.features.leave_one_out import LeaveOneOutScore
from vmtl.inference.features.score import CLASSES, SCALE_RANGE, TARGETS


def test_the_scale_of_logits_follows_the_ridge_within_bounds():
    score = LeaveOneOutScore(toy([6, 6], classes=2).rows(), standardise=False)
    shares, numbers = score.belief.shares().log(), torch.tensor(score.belief.centre, dtype=torch.float64)
    wide, narrow = numbers.clone(), numbers.clone()
    wide[1], narrow[1] = -12.0, 12.0
    assert score(shares, wide).scale == pytest.approx(SCALE_RANGE[1])
    assert score(shares, narrow).scale == pytest.approx(SCALE_RANGE[0])


@pytest.mark.parametrize(("belief", "linear"), [(CLASSES, 0.4), (TARGETS, 0.7)])
def test_believed_shares_sum_to_one_and_give_linear_kernels_theirs(belief, linear):
    shares = belief.shares()
    assert float(shares.sum()) == pytest.approx(1)
    kinds = [candidate.kind == "linear" for candidate in CANDIDATES]
    assert float(shares[torch.tensor(kinds)].sum()) == pytest.approx(linear)
    few = belief.shares(candidates_for(10_000))
    assert len(few) < len(shares)
    assert float(few.sum()) == pytest.approx(1)
