"""Figures on who learns from whom: the map, the arrows, where the tasks lie, how strongly they share, the control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vmtl._utils.types import Array
from vmtl.report.arrows import Arrow, Control, arrows, even_weight
from vmtl.report.style import ACCENT, INK, LINE, MUTED, WARM, axes, short, wrapped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from vmtl.report.arrows import MapInterval

#: Rows of a map up to which every cell carries its number.
MOST_NUMBERED = 12
#: Rows of a map up to which every cell has room for its interval.
MOST_WITH_ENDS = 8
#: Largest weights that the control draws, and as many of the rest.
MOST_DOTS = 200
#: Tasks that the circle of arrows can hold.
MOST_ON_CIRCLE = 14
#: Points with a name where the tasks lie, and tasks with a line of their own in the strengths.
MOST_NAMED, MOST_STRENGTHS = 24, 30


def plot_relatedness(weights: pd.DataFrame, ax: Axes | None = None, interval: MapInterval | None = None) -> Axes:
    """Mixing weights of a (T, T) DataFrame: the learner is a row, its teachers are the columns.

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    interval : pair of DataFrames of shape (T, T), default=None
        Lower and upper ends, such as ``alpha_interval_``: written below each weight, as far as cells have room for it.
    """
    names = [short(name) for name in weights.index]
    ax = axes(ax, 1.2 + min(0.42 * len(names), 4.2))
    values = np.array(weights, dtype=float)
    draw_map(ax, values, names, names, hollow_diagonal=True, full=max(0.5, float(values.max())))
    if interval is not None and len(names) <= MOST_WITH_ENDS:
        _write_ends(ax, np.asarray(interval[0]), np.asarray(interval[1]))
    ax.set(xlabel="learns from", ylabel="task")
    return ax


def _write_ends(ax: Axes, low: Array, high: Array) -> None:
    """Both ends of every interval as a small line below the number in its cell."""
    size = 7.5 if len(low) <= 5 else 6.2
    for t, i in zip(*np.nonzero(~np.eye(len(low), dtype=bool)), strict=True):
        ends = "–".join(f"{end[t, i]:.2f}".removeprefix("0") for end in (low, high))
        ax.text(i, t + 0.31, ends, ha="center", va="center", fontsize=size)


def draw_map(
    ax: Axes,
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    hollow_diagonal: bool = False,
    full: float = 1.0,
) -> None:
    """A map of numbers in [0, full]; the strength of one colour is the number, so it reads on light and dark."""
    from matplotlib.colors import to_rgb

    image = np.zeros((*values.shape, 4))
    image[..., :3] = to_rgb(ACCENT)
    image[..., 3] = 0.04 + 0.62 * np.clip(values / full, 0, 1)
    if hollow_diagonal:
        image[np.arange(len(rows)), np.arange(len(rows)), 3] = 0
    ax.imshow(image, interpolation="nearest", aspect="auto" if len(rows) > MOST_NUMBERED else "equal")
    every = -(-len(rows) // 25)
    ax.set_yticks(range(0, len(rows), every), rows[::every])
    turned = (
        {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        if len(columns) <= MOST_NUMBERED
        else {"rotation": 90}
    )
    ax.set_xticks(range(0, len(columns), every), columns[::every], **turned)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if len(rows) <= MOST_NUMBERED:
        for t, i in np.ndindex(values.shape):
            if not (hollow_diagonal and t == i):
                ax.text(i, t, f"{values[t, i]:.2f}".lstrip("0") or "0", ha="center", va="center", fontsize=8.5)


def plot_arrows(weights: pd.DataFrame, ax: Axes | None = None, most: int = 18, sharing: Array | None = None) -> Axes:
    """The tasks on a circle; an arrow runs from the teacher to the learner, as wide and dark as what arrives.

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    most : int, default=18
        Arrows that are drawn, strongest first.
    sharing : array of shape (T,), default=None
        How much each task follows the others, such as ``sharing_``; None counts all alike.
    """
    strongest_first = arrows(weights, sharing=sharing)
    names = [str(name) for name in weights.index]
    kept = [n for n in names if n in _involved(strongest_first)] if len(names) > MOST_ON_CIRCLE else names
    place = dict(zip(kept, _circle(len(kept)), strict=True))
    ax = axes(ax, 4.2)
    shown = [a for a in strongest_first if a.learner in place and a.teacher in place][:most]
    low, high = even_weight(len(names)), max((a.strength for a in shown), default=1.0)
    for arrow in reversed(shown):
        strength = float(np.clip((arrow.strength - low) / max(high - low, 0.05), 0.06, 1))
        _draw_arrow(ax, place[arrow.teacher], place[arrow.learner], strength)
    for name, (x, y) in place.items():
        ax.plot(x, y, "o", ms=9, color=INK)
        side = "center" if abs(x) < min(0.3, 2 / len(place) ** 1.5) else "left" if x > 0 else "right"
        ax.text(1.13 * x, 1.16 * y, wrapped(name), ha=side, va="center", fontsize=10)
    ax.set(xlim=(-2.2, 2.2), ylim=(-1.3, 1.3), aspect="equal")
    ax.axis("off")
    return ax


def _draw_arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], strength: float) -> None:
    """A curved arrow between two points, as wide and dark as its strength in [0, 1]."""
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        start,
        end,
        connectionstyle="arc3,rad=0.14",
        arrowstyle="-|>",
        mutation_scale=8 + 7 * strength,
        lw=0.8 + 3.2 * strength,
        color=ACCENT,
        alpha=0.2 + 0.8 * strength,
        shrinkA=11,
        shrinkB=11,
    )
    ax.add_patch(arrow)


def _involved(strongest_first: Sequence[Arrow]) -> set[str]:
    """The tasks of the strongest arrows, as many as the circle holds."""
    chosen: dict[str, None] = {}
    for arrow in strongest_first:
        chosen |= dict.fromkeys((arrow.learner, arrow.teacher))
        if len(chosen) >= MOST_ON_CIRCLE:
            break
    return set(chosen)


def _circle(n: int) -> list[tuple[float, float]]:
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    return [(float(np.cos(a)), float(np.sin(a))) for a in angle]


def plot_positions(positions: pd.DataFrame, ax: Axes | None = None, unit: str = "") -> Axes:
    """Where the tasks lie by their representations: the two longest axes, in one unit.

    Parameters
    ----------
    positions : DataFrame of shape (T, Q)
        One point a task, such as ``positions_``.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    unit : str, default=""
        Of what the axes are in units.
    """
    ax = axes(ax, 3.3)
    points = np.zeros((len(positions), 2))
    kept = np.asarray(positions, dtype=float)[:, :2]
    points[:, : kept.shape[1]] = kept
    ax.plot(*points.T, "o", ms=7, color=ACCENT)
    ax.margins(0.16)
    ax.set_xlabel(f"first axis, in {unit}" if unit else "first axis")
    ax.grid(color=LINE)
    if kept.shape[1] > 1:
        ax.set(ylabel="second axis", aspect="equal", adjustable="datalim")
        ax.apply_aspect()
    else:
        ax.set(ylim=(-1, 1), yticks=[])
    if len(positions) <= MOST_NAMED:
        _name_points(ax, [short(name, 14) for name in positions.index], points, on_a_line=kept.shape[1] < 2)
    return ax


def _name_points(ax: Axes, names: Sequence[str], points: Array, on_a_line: bool) -> None:
    """Names above their points, or below; one that would cover another is left out.

    On a line they climb in turns, above and below, so that neighbours do not collide.
    """
    turns = (1, -1, 2.6, -2.6)
    places = ax.transData.transform(points) / ax.figure.dpi * 72  # in points of type, about
    taken: list[tuple[float, float, float]] = []
    for rank, k in enumerate(np.argsort(points[:, 0], kind="stable")):
        tried = (turns[rank % len(turns)],) if on_a_line else turns[:2]
        for turn in tried:
            x, y, half = float(places[k, 0]), float(places[k, 1]) + 12 * turn, 2.6 * len(names[k])
            if on_a_line or not any(abs(x - u) < half + w and abs(y - v) < 11 for u, v, w in taken):
                taken.append((x, y, half))
                _name_point(ax, names[k], points[k], turn)
                break


def _name_point(ax: Axes, name: str, point: Array, turn: float) -> None:
    side = "bottom" if turn > 0 else "top"
    offset = (0, 8 * turn)
    ax.annotate(name, (point[0], point[1]), xytext=offset, textcoords="offset points", ha="center", va=side, fontsize=9)


def plot_sharing(sharing: pd.Series, interval: pd.DataFrame | None = None, ax: Axes | None = None) -> Axes:
    """The strength r of every task, 0 on its own and 1 as its mixture says, with its interval.

    Parameters
    ----------
    sharing : Series of shape (T,)
        One strength a task, such as ``sharing_``.
    interval : DataFrame of shape (T, 2), default=None
        Columns ``low`` and ``high``, such as ``sharing_interval_``.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    shown = np.argsort(sharing.to_numpy(), kind="stable")[:MOST_STRENGTHS]  # weakest first, from below
    ax = axes(ax, 0.9 + 0.26 * len(shown))
    places = np.arange(len(shown))
    if interval is not None:
        low, high = interval.to_numpy()[shown].T
        ax.hlines(places, low, high, color=ACCENT, lw=2, alpha=0.5)
    ax.plot(sharing.to_numpy()[shown], places, "o", ms=6, color=ACCENT, clip_on=False, zorder=3)
    ax.set_yticks(places, [short(sharing.index[k]) for k in shown])
    ax.set(xlim=(0, 1.02), ylim=(-0.6, len(shown) - 0.4), xlabel="strength r: 0 on its own, 1 as the others say")
    ax.grid(axis="x", color=LINE)
    return ax


def plot_control(weights: pd.DataFrame, control: Control | None = None, ax: Axes | None = None) -> Axes:
    """All weights of the model beside those of refits whose tasks mean nothing; the line is 1 / (T - 1).

    Parameters
    ----------
    weights : DataFrame of shape (T, T)
        Mixing weights, such as ``alpha_``: row t says how much task t takes from each other task.
    control : Control, default=None
        Refits whose tasks mean nothing, if there are any.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    """
    ax = axes(ax, 2.3 if control is not None else 1.5)
    off = ~np.eye(len(weights), dtype=bool)
    groups = [("this model", np.asarray(weights)[off], ACCENT)]
    if control is not None:
        groups += [
            ("tasks shuffled", control.shuffled[:, off].ravel(), WARM),
            ("targets shuffled", control.unrelated[:, off].ravel(), MUTED),
        ]
    rng = np.random.default_rng(0)
    for place, (_, weights_of, colour) in enumerate(groups):
        ordered = np.sort(weights_of)[::-1]
        values = np.r_[ordered[:MOST_DOTS], rng.permutation(ordered[MOST_DOTS:])[:MOST_DOTS]]
        ax.plot(values, place + rng.uniform(-0.22, 0.22, len(values)), "o", ms=4, mew=0, color=colour, alpha=0.75)
    ax.axvline(even_weight(len(weights)), color=INK, lw=1)
    ax.set_yticks(range(len(groups)), [name for name, _, _ in groups])
    ax.set(ylim=(len(groups) - 0.5, -0.5), xlim=(-0.02, 1.02), xlabel="mixing weight alpha; line: all alike")
    ax.grid(axis="x", color=LINE)
    return ax
