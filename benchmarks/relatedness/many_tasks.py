"""What the structure of many tasks is worth: hundreds and thousands of synthetic tasks of ten rows, two classes.

    python -m benchmarks.relatedness.many_tasks [--draws 2] [--write]

Predictions of the default are compared with those of ``relatedness="even"`` on other rows of the same tasks. ``--write``
puts the table into docs/relatedness.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from rich.progress import track
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import DOCS
from benchmarks.pages import write_block
from benchmarks.text_table import Table, to_markdown
from vmtl import MultiTaskClassifier

PAGE = DOCS / "relatedness.md"
GROUPS, COLUMNS, TRAIN_ROWS, TEST_ROWS = 5, 10, 10, 20


@dataclass(frozen=True)
class World:
    """Tasks whose weights are those of their group, of all, and of their own; and how far apart groups' rows lie."""

    name: str
    tasks: int
    of_group: float
    of_task: float
    shift: float

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows (n, D), labels and tasks (n,), the training rows of every task first."""
        rng = np.random.default_rng(seed)
        group, rows = np.arange(self.tasks) % GROUPS, TRAIN_ROWS + TEST_ROWS
        common = (1 - self.of_group**2 - self.of_task**2) ** 0.5 * rng.normal(size=COLUMNS)
        weights = common + self.of_group * rng.normal(size=(GROUPS, COLUMNS))[group]
        weights = weights + self.of_task * rng.normal(size=(self.tasks, COLUMNS))  # (T, D)
        place = self.shift * rng.normal(size=(GROUPS, COLUMNS))[group]
        x = rng.normal(size=(self.tasks, rows, COLUMNS))
        y = np.einsum("tnd,td->tn", x, weights) + rng.logistic(size=(self.tasks, rows)) > 0
        task = np.repeat(np.arange(self.tasks), rows)
        return (x + place[:, None]).reshape(-1, COLUMNS), y.ravel().astype(int), task


WORLDS = (
    World("600 in five groups, each with weights and a shift of its own", 600, 0.9, 0.2, 0.5),
    World("3,000 in such groups", 3000, 0.9, 0.2, 0.5),
    World("600 in five groups with weights of their own and no shift", 600, 0.9, 0.2, 0.0),
    World("600 whose weights vary, no groups", 600, 0.0, 0.5, 0.0),
    World("600 dealt at random from one population", 600, 0.0, 0.0, 0.0),
)


def compare(world: World, seed: int) -> np.ndarray:
    """AUC and NLL with even weights, the same with the inferred ones, and the number of axes: (5,)."""
    x, y, task = world.draw(seed)
    train = np.arange(len(y)) % (TRAIN_ROWS + TEST_ROWS) < TRAIN_ROWS
    scores: list[float] = []
    for relatedness in ("even", "learned"):
        model = MultiTaskClassifier(relatedness, random_state=seed).fit(x[train], y[train], tasks=task[train])
        p = model.predict_proba(x[~train], tasks=task[~train])[:, 1]
        scores += [float(roc_auc_score(y[~train], p)), float(log_loss(y[~train], p))]
    return np.array([*scores, model.positions_.shape[1]])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=2, help="draws of every world, from seed 4000 on")
    parser.add_argument("--write", action="store_true", help="write the table into docs/relatedness.md")
    given = parser.parse_args(arguments)
    jobs = [(world, 4000 + draw) for world in WORLDS for draw in range(given.draws)]
    found = [compare(*job) for job in track(jobs, "Many tasks")]
    rows = []
    for i, world in enumerate(WORLDS):
        auc, nll, our_auc, our_nll, axes = np.mean(found[i * given.draws : (i + 1) * given.draws], axis=0)
        rows.append((world.name, f"{auc:.3f}, {nll:.3f}", f"{our_auc:.3f}, {our_nll:.3f}", f"{axes:.1f}"))
    head = ("tasks", "even weights: AUC, NLL", "inferred: AUC, NLL", "axes found")
    text = to_markdown([Table("Many tasks", head, tuple(rows))], level=3)
    print(text)
    if given.write:
        write_block(PAGE, "many-tasks", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
