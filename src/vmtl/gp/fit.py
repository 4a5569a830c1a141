"""One fit, from rows to a model: kernel, features, positions, hyperparameters, posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from vmtl.data.duplicates import merge_duplicates
from vmtl.data.rows import Rows
from vmtl.data.stored.stored_rows import StoredRows
from vmtl.data.subsampling import subsample_rows
from vmtl.gp.features import KernelFeatures
from vmtl.gp.fitted import FittedGP
from vmtl.gp.forest import grow_forest, is_forest_useful
from vmtl.gp.hyperparameter_search import HyperparameterSearch, Relatedness
from vmtl.gp.kernel_search import choose_kernel
from vmtl.gp.latent_prior import Gram
from vmtl.gp.likelihoods import likelihood_of
from vmtl.gp.positions.task_positions import TaskPositions, infer_positions, visit_order
from vmtl.gp.posterior import MAX_GRAM_ROWS, solve
from vmtl.gp.priors import prior_of

#: Most rows on which hyperparameters are searched, and most rows squared times classes.
SEARCH_ROWS, SEARCH_CELLS = 500, 3e6


def fit(
    rows: Rows,
    *,
    relatedness: Relatedness = "learned",
    forest: bool = True,
    seed: int = 0,
    on_phase: Callable[[str], None] = lambda phase: None,
) -> FittedGP:
    """The posterior of raw rows.

    Parameters
    ----------
    rows : Rows
        Training rows of all tasks.
    relatedness : {"learned", "even", "none", "pooled"}, default="learned"
        What tasks may share: what positions and held-out rows say, the same with every task, nothing, or everything.
    forest : bool, default=True
        Whether a random forest may have a say in the classification of small tables.
    seed : int, default=0
        Of all subsamples, folds and draws.
    on_phase : callable, optional
        Told what is being done.
    """
    if not isinstance(rows, StoredRows):
        rows = merge_duplicates(rows.cpu())
    elif len(rows.task) <= MAX_GRAM_ROWS:
        rows = merge_duplicates(rows.take(torch.arange(len(rows.task))))
    on_phase("choosing a kernel")
    choice = choose_kernel(rows, seed)
    features = KernelFeatures.learn(rows, choice, seed)
    z = features.of(rows)
    on_phase("relating the tasks")
    positions = infer_positions(z, seed) if relatedness == "learned" else TaskPositions.nowhere(rows.n_tasks)
    on_phase("searching hyperparameters on held-out rows")
    gram = Gram.of(search_rows(z, positions, seed))
    search = HyperparameterSearch(likelihood_of(gram, seed), prior_of(rows), relatedness, positions, gram.rows.task)
    hyperparameters = search.run(choice.signal_to_noise)
    on_phase("solving for the weights")
    solution = solve(z, gram, search, hyperparameters, seed)
    grown = None
    if forest and is_forest_useful(rows):
        on_phase("growing a forest")
        grown = grow_forest(rows, seed)
    return FittedGP.assemble(features, search, hyperparameters, solution, z, grown, seed)


def search_rows(z: Rows, positions: TaskPositions, seed: int) -> Rows:
    """The rows on which hyperparameters are searched: all, or a subsample.

    Of many rows some are taken, such that tasks have neighbours. Of many classes only some are taken, with all of their
    rows: a class of one or two rows could not be held out.
    """
    z = z.cpu()
    rows = z.take(subsample_rows(z, SEARCH_ROWS, seed, visit_order(positions.points, seed)))
    cells = len(rows.y) ** 2 * rows.n_classes
    if not rows.is_classification or cells <= SEARCH_CELLS:
        return rows
    kept = round(rows.n_classes * (SEARCH_CELLS / cells) ** (1 / 3))
    classes = torch.randperm(rows.n_classes, generator=torch.Generator().manual_seed(seed))[:kept]
    number = torch.full((rows.n_classes,), -1).index_copy(0, classes, torch.arange(kept))
    some = rows.take((number[rows.y] >= 0).nonzero().flatten())
    return replace(some, y=number[some.y], n_classes=kept)
