"""The information bottleneck of Qian et al.: a KL to one learned Gaussian."""

import torch
from torch.distributions import Independent, Normal, kl_divergence

from helpers.paper_models import SMALL, Quiet, build, full_batch_loss
from helpers.toys import toy
from vmtl.paper.objective import Objective, Scales
from vmtl.paper.priors import Context


def test_bottleneck_kl_against_torch() -> None:
    rows = toy([4, 6], classes=2).rows()
    model = build("qian", rows, SMALL)
    objective = Objective(model, rows)
    prior = objective.prior_z
    prior.mean.data = torch.randn(5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    prior.log_scale.data = torch.linspace(-1, 1, 5, dtype=torch.float64)
    batch = rows.batch(*rows.by_task)
    q_z = model.encoder(batch.x)
    each = kl_divergence(
        Independent(Normal(q_z.mean, q_z.scale), 1), Independent(Normal(prior.mean, prior.log_scale.exp()), 1)
    )
    nats = prior.kl(q_z, model.encoder, Context(batch, None, None, None))  # type: ignore[arg-type]
    expected = torch.stack([each[t][batch.weight[t] > 0].mean() for t in range(2)])
    torch.testing.assert_close(nats, expected)
    start, more = (full_batch_loss(objective, rows, Quiet(), scales=Scales(s, 1.0)) for s in (0.0, 1.0))
    torch.testing.assert_close(more - start, (torch.tensor([0.4, 0.6]).double() * expected).sum())
