"""A lattice that is explored where a density is large, so that averages over it need few points."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple, TypeVar

#: Nats below the best point up to which a point's neighbours are looked at, and most points.
DEPTH, MAX_POINTS = 1.5, 60


class Place(NamedTuple):
    """A point of the lattice, in steps from the centre of the belief."""

    scale: int
    level: int
    strength: int
    decay: int


Point = TypeVar("Point")
#: What is known at a place, given what is known beside it, or None at the first one.
Evaluate = Callable[[Place, Point | None], Point]


def climb(
    begin: Place, free: Place, evaluate: Evaluate[Point], log_density: Callable[[Point], float]
) -> dict[Place, Point]:
    """The points of a walk uphill from ``begin``: along each number that is ``free`` as long as it pays, until none
    does."""
    points = {begin: evaluate(begin, None)}
    at, before, axes = begin, None, _axes(free)
    while at != before and len(points) < MAX_POINTS:
        before = at
        for axis, step in product(axes, (1, -1)):
            while len(points) < MAX_POINTS:
                place = _neighbour(at, axis, step)
                if place not in points:
                    points[place] = evaluate(place, points[at])
                if log_density(points[place]) <= log_density(points[at]):
                    break
                at = place
    return points


def explore(
    begin: Place, free: Place, evaluate: Evaluate[Point], log_density: Callable[[Point], float]
) -> dict[Place, Point]:
    """Points of the lattice about the best one: first uphill, then outwards, always the neighbours of the best point
    whose are not known yet.

    It ends when every point within ``DEPTH`` of the best has its neighbours, or at ``MAX_POINTS``; ``free`` is 1 for
    the numbers that matter.
    """
    points, closed, axes = climb(begin, free, evaluate, log_density), set(), _axes(free)
    while len(points) < MAX_POINTS:
        density = {place: log_density(point) for place, point in points.items()}
        least = max(density.values()) - DEPTH
        open_places = [place for place in points if place not in closed and density[place] > least]
        if not open_places:
            break
        centre = max(open_places, key=density.__getitem__)
        closed.add(centre)
        for axis, step in product(axes, (-1, 1)):
            place = _neighbour(centre, axis, step)
            if place not in points:
                points[place] = evaluate(place, points[centre])
    return points


def _axes(free: Place) -> list[int]:
    return [axis for axis, may in enumerate(free) if may]


def _neighbour(place: Place, axis: int, step: int) -> Place:
    return Place(*(value + step * (i == axis) for i, value in enumerate(place)))
