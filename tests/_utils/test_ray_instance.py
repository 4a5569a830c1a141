"""Which Ray instance a run uses, and what is said when there is none; Ray itself is played by a few lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vmtl._utils.ray_instance import start_ray


class Played:
    """Keeps what ``ray.init`` was asked, or fails as told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: dict[str, Any] = {}
        self.error = error
        self.ended = False

    def init(self, **options: Any) -> None:
        self.asked = options
        if self.error is not None:
            raise self.error

    def shutdown(self) -> None:
        self.ended = True


def test_without_an_address_an_instance_of_its_own() -> None:
    """Ray would else join whatever runs on the machine, or what RAY_ADDRESS names."""
    ray = Played()
    with start_ray(ray, 3, None):
        assert not ray.ended
    assert ray.ended
    assert ray.asked["address"] == "local"
    assert ray.asked["num_cpus"] == 3


def test_with_an_address_that_cluster() -> None:
    ray = Played()
    with start_ray(ray, 3, "10.0.0.1:6379"):
        pass
    assert ray.asked["address"] == "10.0.0.1:6379"
    assert "num_cpus" not in ray.asked


@pytest.mark.parametrize(
    ("address", "advice"), [(None, "use --engine local"), ("10.0.0.1:6379", "at 10.0.0.1:6379; check --address")]
)
def test_one_sentence_when_it_cannot_start(address: str | None, advice: str) -> None:
    ray: Any = SimpleNamespace(init=Played(ConnectionError("Could not find\n\n  any   instance")).init)
    with pytest.raises(RuntimeError) as caught, start_ray(ray, 2, address):
        pass
    assert advice in str(caught.value)
    assert "ConnectionError: Could not find any instance" in str(caught.value)
    assert "\n" not in str(caught.value)
