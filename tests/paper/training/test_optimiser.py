"""One Adam, with the groups that the modules declare for their parameters."""

from __future__ import annotations

from dataclasses import replace

from helpers.toys import SMALL, build, toy
from vmtl.inference.variational.optimiser import make_optimiser
from vmtl.model.model import Model
from vmtl.model.objective import Objective

CLASSES = toy([6, 11, 9], classes=4, features=8, missing=[(1, 0)])


def optimiser_groups(model: Model) -> dict[str, tuple[float, float]]:
    """Rate and weight decay of every parameter that is trained."""
    names = {id(p): name for name, p in model.named_parameters()}
    groups = make_optimiser(Objective(model, CLASSES.rows())).param_groups
    return {names[id(p)]: (group["rate"], group["weight_decay"]) for group in groups for p in group["params"]}


def test_optimiser_groups() -> None:
    """Networks, scales and mixing logits have their own rates; decay leaves the last two alone."""
    model = build("vmtl_ac", CLASSES.rows(), replace(SMALL, encoder="mlp", weight_decay=0.1, mixing_rate=0.7))
    declared = optimiser_groups(model)
    assert declared.keys() == {name for name, _ in model.named_parameters()}
    assert declared["encoder.layer1.weight"] == declared["head.mean.weight"] == (model.settings.network_rate, 0.1)
    assert declared["mixing_w.log_pi"] == (0.7, 0)
    direct = build("vmtl", CLASSES.rows(), replace(SMALL, weight_decay=0.1))
    assert optimiser_groups(direct)["head.log_scale"] == (SMALL.scale_rate, 0)
    direct = build("vmtl", CLASSES.rows(), replace(SMALL, weight_decay=0.1, decay_everything=True))
    assert all(group["weight_decay"] == 0.1 for group in make_optimiser(Objective(direct, CLASSES.rows())).param_groups)
