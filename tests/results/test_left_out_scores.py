"""Quantiles of left-out scores, against a loop and against what conformal prediction promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmtl.results.left_out_scores import LeftOutScores


def scores(counts: tuple[int, ...], seed: int = 0) -> LeftOutScores:
    rng = np.random.default_rng(seed)
    task = torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
    return LeftOutScores(torch.from_numpy(rng.exponential(size=len(task))), task, torch.ones(len(task)).double())


def naive_quantile(of: LeftOutScores, t: int, coverage: float) -> float:
    """The definition, score by score."""
    everyone, own = of.score.tolist(), of.score[of.task == t].tolist()
    part = min(1.0, len(own) * (1 - coverage) / coverage)
    for q in sorted(everyone):
        share_all = sum(s <= q for s in everyone) / (len(everyone) + 1)
        share_own = sum(s <= q for s in own) / max(1, len(own)) * (1 - part / (len(own) + 1))
        if part * share_own + (1 - part) * share_all >= coverage - 1e-12:
            return q
    return max(everyone)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_quantiles_are_those_of_the_definition(coverage: float) -> None:
    of = scores((3, 12, 40, 7))
    actual = of.quantiles(coverage, 5)
    expected = [naive_quantile(of, t, coverage) for t in range(6)]
    np.testing.assert_array_equal(actual, expected)


def test_a_task_with_enough_rows_looks_at_its_own_scores_only() -> None:
    of = scores((9, 100))
    own = of.score[of.task == 0].sort().values
    assert of.quantiles(0.9, 2)[0] == own[8]  # ceil(10 * 0.9) = 9
    strange = LeftOutScores(torch.where(of.task == 1, 100 * of.score, of.score), of.task, of.weight)
    assert strange.quantiles(0.9, 2)[0] == own[8]
    assert strange.quantiles(0.95, 2)[0] > own[8]  # 9 rows are not enough for 95 %


def test_rows_to_come_are_inside_as_often_as_asked_for() -> None:
    inside = {t: [] for t in range(3)}
    for seed in range(400):
        rng = np.random.default_rng(1000 + seed)
        of = scores((4, 10, 40), seed)
        q = of.quantiles(0.8, 3)
        for t in range(3):
            inside[t].append(float((rng.exponential(size=50) <= float(q[t])).mean()))
    for t in range(3):
        mean, error = np.mean(inside[t]), np.std(inside[t]) / 20
        assert 0.8 - 3 * error <= mean <= 0.9, t


@pytest.mark.parametrize("rows", [2, 5, 8])
def test_tasks_of_few_rows_are_not_promised_more_than_asked_for(rows: int) -> None:
    """Up to 3 points: their own largest score and the quantile of all both count."""
    inside = []
    for seed in range(20):
        q = scores((rows,) * 60, seed).quantiles(0.9, 60)[:60]
        inside.append(float((1 - torch.exp(-q)).mean()))  # the distribution function of the scores
    assert 0.895 < np.mean(inside) < 0.935


def test_weights_are_rows() -> None:
    of = scores((20, 20))
    double = LeftOutScores(of.score, of.task, 2 * of.weight)
    torch.testing.assert_close(double.quantiles(0.9, 2), of.quantiles(0.9, 2), rtol=0, atol=0)
    assert double.n_effective == of.n_effective == 40
    weighted = LeftOutScores(of.score, of.task, torch.where(torch.arange(40) % 2 == 0, 1.0, 1e-12).double())
    half = LeftOutScores(of.score[::2], of.task[::2], of.weight[::2])
    torch.testing.assert_close(weighted.quantiles(0.8, 2), half.quantiles(0.8, 2), rtol=0, atol=0)


def test_what_is_no_score_is_refused() -> None:
    good = scores((5, 5)).to_tensors()
    assert LeftOutScores.from_tensors(good, 2).n_effective == 10
    for name, value in (("score", -good["score"]), ("task", good["task"] + 1), ("weight", good["weight"] * torch.nan)):
        with pytest.raises(ValueError, match="left-out scores"):
            LeftOutScores.from_tensors({**good, name: value}, 2)
    with pytest.raises(ValueError, match="one number per row"):
        LeftOutScores.from_tensors({**good, "score": good["score"][:3]}, 2)
