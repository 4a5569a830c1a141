"""Presets by name."""

import pytest

from vmtl.config.presets import PRESETS, get_preset
from vmtl.config.settings import Settings


def test_the_default_is_what_settings_are_without_a_word() -> None:
    assert get_preset("default") == Settings()


def test_the_paper_shares_everything_and_the_released_code_takes_weighted_sums() -> None:
    paper, released = PRESETS["paper"], PRESETS["released"]
    assert (paper.encoder, paper.dropout, paper.n_z, paper.n_w, paper.max_steps) == ("mlp", 0.7, 10, 10, 15_000)
    assert paper.sharing == released.sharing == 1
    assert (paper.kl_form, released.kl_form) == ("bound", "weighted-sum")
    assert paper.logit_scale == released.logit_scale == 1
    assert paper.select is released.select is False


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="Unknown preset 'fast'; choose one of default, paper, released"):
        get_preset("fast")


def test_a_network_of_classifiers_pays_for_the_widths_of_its_prior_in_the_paper() -> None:
    assert get_preset("paper").prior_gradient_w == get_preset("released", "amortised").prior_gradient_w == "detached"
    assert get_preset("paper", "amortised") == get_preset("paper").with_options(prior_gradient_w="both")
