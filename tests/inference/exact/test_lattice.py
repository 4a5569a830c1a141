"""The lattice on a density that is known."""

from __future__ import annotations

import itertools

import pytest
import torch

from vmtl.inference.exact.lattice import DEPTH, MAX_POINTS, Place, explore

ALL = Place(1, 1, 1, 0)


class Known:
    """A Gaussian density over the lattice, which remembers where it was asked."""

    def __init__(self, centre: tuple[float, float, float, float], deviation: float) -> None:
        self.centre, self.deviation, self.asked = centre, deviation, []

    def log_density(self, place: Place) -> float:
        return -sum(0.5 * ((i - c) / self.deviation) ** 2 for i, c in zip(place, self.centre, strict=True))

    def __call__(self, place: Place, near: Place | None) -> Place:
        assert (near is None) == (not self.asked)
        self.asked.append(place)
        return place

    def mean(self, places: list[Place]) -> torch.Tensor:
        probability = torch.tensor([self.log_density(place) for place in places]).softmax(0)
        return probability @ torch.tensor(places, dtype=torch.float32)


BOX = [Place(*place, 0) for place in itertools.product(range(-6, 7), repeat=3)]


@pytest.mark.parametrize("centre", [(0.0, 0.0, 0.0, 0.0), (0.3, -0.4, 1.2, 0.0)])
@pytest.mark.parametrize("begin", [Place(0, 0, 0, 0), Place(3, 0, 0, 0), Place(-2, 0, 0, 0)])
def test_the_points_have_the_average_of_the_whole_lattice(
    centre: tuple[float, float, float, float], begin: Place
) -> None:
    """To 0.15 of a step: beyond ``DEPTH`` are points of less than a quarter of the best one's probability."""
    known = Known(centre, 0.6)
    points = explore(begin, ALL, known, known.log_density)
    assert len(points) == len(known.asked) == len(set(known.asked))
    torch.testing.assert_close(known.mean(known.asked), known.mean(BOX), rtol=0, atol=0.15)


def test_every_point_near_the_best_has_its_neighbours() -> None:
    known = Known((0.2, 0.0, -0.3, 0.0), 0.6)
    explore(Place(0, 0, 0, 0), ALL, known, known.log_density)
    best = max(known.log_density(place) for place in known.asked)
    for place in known.asked:
        if known.log_density(place) > best - DEPTH:
            for axis, step in itertools.product(range(3), (-1, 1)):
                assert Place(*(v + step * (i == axis) for i, v in enumerate(place))) in known.asked


def test_a_far_start_arrives() -> None:
    known = Known((0.0, 0.0, 0.0, 0.0), 1.0)
    explore(Place(6, 0, 0, 0), ALL, known, known.log_density)
    assert Place(0, 0, 0, 0) in known.asked


def test_a_flat_density_ends_at_most_points() -> None:
    """Neighbours of one point are always looked at together: up to five more."""
    known = Known((0.0, 0.0, 0.0, 0.0), 100.0)
    points = explore(Place(0, 0, 0, 0), ALL, known, known.log_density)
    assert MAX_POINTS <= len(points) < MAX_POINTS + 6


def test_numbers_that_do_not_matter_stay() -> None:
    known = Known((1.0, 1.0, 1.0, 0.0), 1.0)
    explore(Place(0, 0, 0, 0), Place(1, 0, 0, 0), known, known.log_density)
    assert {place[1:] for place in known.asked} == {(0, 0, 0)}
