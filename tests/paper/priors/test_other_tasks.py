"""Whom each row may ask, and with which weight."""

from __future__ import annotations

import torch

from helpers.priors import PROBLEMS, make_context, random_gaussian
from vmtl.model.attention import Attention
from vmtl.model.distributions import standard_normal_kl
from vmtl.model.priors.mixture_kl.other_tasks import OtherTasks


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
    others, batch = OtherTasks(rows, Attention(rows).support), make_context(rows).batch
    assert others.some_alone
    assert not OtherTasks(PROBLEMS["missing"].rows(), Attention(PROBLEMS["missing"].rows()).support).some_alone
    q_z = random_gaussian(3, batch.x.shape[1], 4)
    each = standard_normal_kl(q_z)[0][batch.y[0] == 0] * batch.weight[0][batch.y[0] == 0]
    torch.testing.assert_close(others.kl_alone(q_z, batch), torch.stack([each.sum(), *[torch.zeros(()).double()] * 2]))
