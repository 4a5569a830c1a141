"""Every name of a choice is one that some code answers to."""

from typing import get_args

import pytest

from helpers.paper_models import SMALL, build
from helpers.priors import cpu_noise
from helpers.toys import toy
from vmtl.paper import choices
from vmtl.paper.objective import Objective


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        ("encoder", choices.EncoderName),
        ("kl_form", choices.KLForm),
        ("mixing", choices.MixingMode),
        ("prior_gradient_w", choices.PriorGradient),
        ("prior_gradient_z", choices.PriorGradient),
        ("task_weight", choices.TaskWeight),
    ],
)
def test_no_two_choices_train_alike(option: str, kind: object) -> None:
    """The loss, or else its gradient, tells them apart."""
    rows = toy([5, 7, 9], classes=3).rows()
    seen = []
    for choice in get_args(kind):
        settings = SMALL.with_options(**{"encoder": "linear", "tie_mixing": False, "n_z": 2, option: choice})
        objective = Objective(build("vmtl", rows, settings), rows)
        terms = objective.terms(rows.batch(*rows.by_task), 0.5, cpu_noise())
        loss = (objective.task_share * (terms.nll + terms.kl_z + terms.kl_w)).sum()
        loss.backward()
        gradients = [float(p.grad.abs().sum()) for p in objective.parameters() if p.grad is not None]
        seen.append((float(loss.detach()), *gradients))
    assert len(set(seen)) == len(get_args(kind))
