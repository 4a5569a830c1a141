"""The history as JSON can hold it."""

from __future__ import annotations

import json

import torch

from vmtl.paper.training.history import History


def test_numbers_are_all_but_the_terms_and_fit_into_json():
    history = History(step=[1], nll=[torch.ones(2)], kl_z=[torch.ones(2)], kl_w=[torch.ones(2)], lr=[0.1])
    numbers = json.loads(json.dumps(history.numbers()))
    assert numbers["step"] == [1]
    assert numbers["lr"] == [0.1]
    assert not set(History.TERMS) & set(numbers)
    assert set(numbers) | set(History.TERMS) == set(vars(history))
