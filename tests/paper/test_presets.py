"""Presets by name."""

import pytest
import torch

from helpers.paper_models import Quiet
from helpers.toys import toy
from vmtl.paper.fit import build_model
from vmtl.paper.methods import METHODS
from vmtl.paper.objective import Objective, Scales
from vmtl.paper.presets import PRESETS, get_preset
from vmtl.paper.schedules import value
from vmtl.paper.settings import Settings


def test_the_paper_is_what_settings_are_without_a_word() -> None:
    assert get_preset("paper") == Settings()


def test_the_paper_shares_everything_and_the_released_code_takes_weighted_sums() -> None:
    paper, released = PRESETS["paper"], PRESETS["released"]
    assert (paper.encoder, paper.dropout, paper.n_z, paper.n_w, paper.max_steps) == ("mlp", 0.7, 10, 10, 15_000)
    assert paper.sharing == released.sharing == 1
    assert (paper.kl_form, released.kl_form) == ("bound", "weighted-sum")
    assert paper.prior_dropout is released.prior_dropout is True


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="Unknown preset 'fast'; choose one of paper, literal, released"):
        get_preset("fast")


@pytest.mark.parametrize("name", ["paper", "literal"])
def test_a_network_of_classifiers_pays_for_the_widths_of_its_prior(name: str) -> None:
    assert get_preset(name).prior_gradient_w == get_preset("released", "amortised").prior_gradient_w == "detached"
    assert get_preset(name, "amortised") == get_preset(name).with_options(prior_gradient_w="both")


def test_literal_differs_from_the_paper_in_the_objective_alone() -> None:
    objective = {"kl_scale_w", "kl_scale_z", "divide_kl_w", "task_weight"}
    paper, literal = get_preset("paper").to_json(), get_preset("literal").to_json()
    assert {name for name in paper if paper[name] != literal[name]} == objective
    for schedule in (get_preset("literal").kl_scale_w, get_preset("literal").kl_scale_z):
        assert (value(schedule, 0, 15_000), value(schedule, 15_000, 15_000)) == (0, 1)


def test_literal_is_equation_11() -> None:
    """With both weights at 1: the sum over all rows of NLL and KL_z and over tasks of KL_w, over the number of rows."""
    problem = toy([4, 9, 6], classes=2)
    rows = problem.rows()
    settings = get_preset("literal").with_options(latent_dim=5, hidden_dim=5, n_z=2, n_w=2)
    objective = Objective(build_model(METHODS["vmtl"], settings, rows, 0), rows)
    terms = objective.terms(rows.batch(*rows.by_task), 0.7, Quiet())
    counts = torch.tensor([4.0, 9.0, 6.0], dtype=torch.float64)
    summed = (counts * (terms.nll + terms.kl_z) + terms.kl_w).sum()
    torch.testing.assert_close(19 * objective.loss(terms, Scales(1.0, 1.0)), summed)
