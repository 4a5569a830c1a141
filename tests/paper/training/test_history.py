"""The history as JSON can hold it."""

from __future__ import annotations

import json

import pytest
import torch

from vmtl.inference.variational.history import History


def test_numbers_are_all_but_the_terms_and_fit_into_json():
    history = History(step=[1], nll=[torch.ones(2)], kl_z=[torch.ones(2)], kl_w=[torch.ones(2)], lr=[0.1])
    numbers = json.loads(json.dumps(history.numbers()))
    assert numbers["step"] == [1]
    assert numbers["lr"] == [0.1]
    assert not set(History.TERMS) & set(numbers)
    assert set(numbers) | set(History.TERMS) == set(vars(history))


def test_a_solution_that_took_no_steps_has_one_record():
    """Its training loss; terms of the objective are not known, and nothing was multiplied by anything."""
    history = History.of_solution(torch.tensor([0.5, 0.7]))
    assert history.step == [0]
    assert history.nll[0].tolist() == pytest.approx([0.5, 0.7])
    assert history.kl_z[0].isnan().all()
    assert history.kl_w[0].isnan().all()
    assert all(len(values) == 1 for values in vars(history).values())
    json.dumps(history.numbers(), allow_nan=False)
