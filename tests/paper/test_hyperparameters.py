"""Hyperparameters: plain numbers that cannot be changed."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from vmtl.paper.hyperparameters import Hyperparameters


def test_json_holds_them() -> None:
    given = Hyperparameters(latent_dim=5, noise=(0.5, 0.25))
    assert json.loads(json.dumps(given.to_json())) == {"latent_dim": 5, "noise": [0.5, 0.25]}
    assert Hyperparameters(5).to_json()["noise"] is None


def test_they_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Hyperparameters(5).latent_dim = 2  # type: ignore[misc]
