"""Where the tasks lie: their representations compared class by class, with the noise of few rows taken out.

Eq. 9-10 of the paper let a task look at the representations of another one within a class. Here the same question,
whose representations resemble mine, is answered once for all tasks: by the distances D of their class means
(``class_means``), in units of the variance within classes. The Gram matrix of the positions is -1/2 J D J,
J = I - 1/T.

Two classes, regressions, and hundreds of tasks with a few rows each are another matter. How far apart the means of two
classes are, how a representation moves with a target, or the mean of a class in a handful of rows is what these rows'
labels say of the weights: positions that know it explain the same labels once more, and the evidence takes that for
structure. So only the shift that all rows of a task have in
common, given their labels, is looked at, and the Gram matrix is a product of a (T, K) table, which costs as much as
its rows:

    G = J (X X' - diag(v_t / n_t)) J,    X_t = sum_{n in t} weight_n (z_n - mu_{y_n}) / n_t

with mu_c the mean of class c in all tasks, n_t the rows of task t, and the expected square of the noise taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vmtl.data.rows import Rows
from vmtl.data.subsampling import subsample_evenly
from vmtl.gp.positions.class_means import ClassCells, sum_by_task
from vmtl.gp.positions.leading_axes import leading_axes
from vmtl.gp.task_covariance import MAX_DENSE, squared_distances
from vmtl.results.relatedness import MAX_TASKS

#: Tables of pure noise from which the noise of the distances is known: at most, at least, and tasks in all of them.
#: Its edge is the sharper the more tasks there are.
NOISE_DRAWS, LEAST_DRAWS, DRAWN_TASKS = 32, 4, 8000
#: Most tasks that are put in order of neighbours: more are never subsampled.
MOST_VISITED = 500
#: Most rows by whose features tasks are compared, or this many of each task.
POSITION_ROWS, TASK_ROWS = 2000, 20


@dataclass(frozen=True)
class TaskPositions:
    """Points, one a task, whose squared distances are those of the representations without their noise."""

    points: Tensor  # (T, Q), no column where no structure rises above the noise
    noise: Tensor  # (S, T, T) draws of what few rows add to the inner products of ``points``; none of thousands
    edge: float = 0.0  # how large an eigenvalue of pure noise may be

    @classmethod
    def nowhere(cls, n_tasks: int) -> TaskPositions:
        """Tasks that are all in one place."""
        size = n_tasks if n_tasks <= MAX_TASKS else 0
        nowhere, draws = torch.zeros(n_tasks, 0, dtype=torch.float64), n_draws_of(n_tasks)
        return cls(nowhere, torch.zeros(draws, size, size, dtype=torch.float64))

    def distances(self) -> Tensor:
        """(T, T) squared distances of all tasks."""
        return squared_distances(self.points @ self.points.T)

    def draws(self) -> Tensor:
        """(S, T, T) squared distances as other rows of the same tasks might have shown them."""
        values, vectors = torch.linalg.eigh(self.points @ self.points.T + self.noise)
        gram = (vectors * values.clamp_min(0).unsqueeze(-2)) @ vectors.mT
        return squared_distances(gram)


def visit_order(points: Tensor, seed: int) -> Tensor:
    """(T,) in which order tasks at ``points`` (T, Q) are subsampled: one at random, then the nearest to it, and so on.

    How relatedness falls with distance shows where tasks are near each other, and few of many at random need not be.
    """
    left = torch.randperm(len(points), generator=torch.Generator().manual_seed(seed))
    taken: list[int] = []
    while len(left) > 1 and len(taken) < MOST_VISITED:
        first, left = left[0], left[1:]
        nearest = int((points[left] - points[first]).square().sum(-1).argmin())
        taken += [int(first), int(left[nearest])]
        left = torch.cat([left[:nearest], left[nearest + 1 :]])
    order = torch.empty(len(points), dtype=torch.long)
    order[torch.cat([torch.tensor(taken, dtype=torch.long), left])] = torch.arange(len(points))
    return order


def infer_positions(rows: Rows, seed: int) -> TaskPositions:
    """Positions from the principal coordinates of D that rise above its noise.

    The Gram matrix is a signal of low rank plus noise. Rows drawn from the residuals, which know nothing of tasks, show
    how large eigenvalues of pure noise become: below that edge an eigenvector says nothing, above it the eigenvalue l
    of signal and noise is sqrt(l^2 - edge^2) without the noise, as for a symmetric matrix with independent noise
    (Benaych-Georges and Nadakuditi, 2011).
    """
    if rows.n_tasks < 3:
        return TaskPositions.nowhere(rows.n_tasks)
    limit = max(POSITION_ROWS, TASK_ROWS * rows.n_tasks)
    rows = rows.cpu().take(subsample_evenly(rows.task, limit, seed))
    cells = ClassCells.of(rows)
    z = rows.x.double() if rows.n_tasks <= MAX_DENSE else rows.x
    make = gram_table if compares_classes(rows.n_tasks, rows.is_classification, rows.n_classes) else shift_gram
    draws = n_draws_of(rows.n_tasks)
    noise, largest = [], []
    for redrawn in cells.redrawn(z, draws, seed):
        gram = make(cells, redrawn)
        largest.append(eigenvectors(gram, seed)[0][0])
        if rows.n_tasks <= MAX_TASKS:
            noise.append(gram if isinstance(gram, Tensor) else gram.table())
    if not largest:
        return TaskPositions.nowhere(rows.n_tasks)
    edges = torch.stack(largest)
    edge = (edges.mean() + edges.std()).clamp_min(0)
    values, vectors = eigenvectors(make(cells, z), seed)
    signal = values > edge
    kept = (values[signal].square() - edge.square()).sqrt()
    table = torch.stack(noise) if noise else torch.zeros(0, 0, 0, dtype=torch.float64)
    return TaskPositions(vectors[:, signal] * kept.sqrt(), table, float(edge))


def compares_classes(n_tasks: int, is_classification: bool, n_classes: int) -> bool:
    """Whether tasks are compared class by class, or by what shifts all their rows together.

    Two classes have one difference of means, and that is the slope of the labels.
    """
    return is_classification and n_classes > 2 and n_tasks <= MAX_DENSE


def n_draws_of(n_tasks: int) -> int:
    """How many draws of tables show their noise: fewer of many tasks."""
    return min(NOISE_DRAWS, max(LEAST_DRAWS, DRAWN_TASKS // n_tasks))


def eigenvectors(gram: Tensor | ShiftGram, seed: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues (R,), falling, and their eigenvectors (T, R)."""
    if not isinstance(gram, Tensor):
        return leading_axes(gram.apply, gram.n_tasks, seed)
    values, vectors = torch.linalg.eigh(gram)
    return values.flip(0), vectors.flip(1)


def gram_table(cells: ClassCells, z: Tensor) -> Tensor:
    """(T, T) -1/2 J D J of the distances D, in units of the variance within classes."""
    known = cells.class_means(z)
    unit = unit_of(known.variance, z)
    if unit is None:
        return z.new_zeros(len(known.means), len(known.means))
    distance = (known.distances(known) / unit).fill_diagonal_(0)
    return -0.5 * _centred(_centred(distance).T)


def shift_gram(cells: ClassCells, z: Tensor) -> Tensor | ShiftGram:
    """The Gram matrix of the shifts, as a table unless tasks are many."""
    gram = ShiftGram.of(cells, z)
    return gram.table() if gram.n_tasks <= MAX_DENSE else gram


@dataclass(frozen=True)
class ShiftGram:
    """G = J (X X' - diag(nu)) J through what it does."""

    shift: Tensor  # (T, K) X
    noise: Tensor  # (T,) nu

    @classmethod
    def of(cls, cells: ClassCells, z: Tensor) -> ShiftGram:
        """In units of the variance within classes."""
        variance, n_tasks = cells.variance(z), len(cells.counts)
        unit = unit_of(variance, z)
        if unit is None:
            return cls(z.new_zeros(n_tasks, 1), torch.zeros_like(variance))
        rows = sum_by_task(cells.weight[:, None], cells.task, n_tasks).clamp_min(1e-12)  # (T, 1) n_t
        share = (cells.weight[:, None] / rows[cells.task]).to(z)
        shift = sum_by_task(share * cells.within(z), cells.task, n_tasks)
        return cls(shift / unit.sqrt().to(z), variance / rows[:, 0] / unit)

    @property
    def n_tasks(self) -> int:
        return len(self.noise)

    def apply(self, values: Tensor) -> Tensor:
        """G times values (T, k)."""
        values = _centred(values)
        inner = self.shift.T @ values.to(self.shift)  # (K, k)
        return _centred((self.shift @ inner).double() - self.noise[:, None] * values)

    def table(self) -> Tensor:
        """(T, T)."""
        total = (self.shift @ self.shift.T).double() - torch.diag(self.noise)
        return _centred(_centred(total).T)


def unit_of(variance: Tensor, z: Tensor) -> Tensor | None:
    """The mean of v_t (T,); None where nothing varies within classes, so that distances have no unit."""
    unit = variance.mean()
    return None if unit <= 1e-12 * z.square().sum(-1).mean() else unit


def _centred(values: Tensor) -> Tensor:
    """J times values (T, k)."""
    return values - values.mean(0)
