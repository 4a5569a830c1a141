"""Whom each row may ask, and with which weight."""

from __future__ import annotations

import torch

from helpers.priors import PROBLEMS, make_context
from vmtl.paper.attention import Attention
from vmtl.paper.priors.other_tasks import OtherTasks


def test_weights_by_loops() -> None:
    for problem in PROBLEMS.values():
        rows = problem.rows()
        others, context = OtherTasks(rows, Attention(rows).support), make_context(rows)
        assert others.index.tolist() == [[1, 2], [0, 2], [0, 1]]
        index = context.batch.index
        beta = context.beta.detach()
        weights, alone = others.weights(beta, index), others.alone(index)
        for t in range(3):
            for n, row in enumerate(index[t].tolist()):
                heard = [i for i in others.index[t].tolist() if rows.class_mask[i, rows.label[row]]]
                total = sum(beta[t, i] for i in heard)
                expected = [float(beta[t, i] / total) if i in heard else 0.0 for i in others.index[t].tolist()]
                torch.testing.assert_close(weights[t, n], torch.tensor(expected, dtype=torch.float64))
                assert bool(alone[t, n]) == (not heard)


def test_rows_with_nobody_to_ask() -> None:
    rows = PROBLEMS["alone"].rows()
    others = OtherTasks(rows, Attention(rows).support)
    assert others.some_alone
    assert not OtherTasks(PROBLEMS["missing"].rows(), Attention(PROBLEMS["missing"].rows()).support).some_alone
