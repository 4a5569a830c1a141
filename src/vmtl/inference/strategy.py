"""The walk of one fit, and the one place that decides how a posterior is found."""

from __future__ import annotations

from typing import Protocol

from vmtl.config.settings import Settings
from vmtl.data.rows import Rows
from vmtl.inference.features.kernel_selection import assume_kernel, select_kernel
from vmtl.inference.fitted import Fitted
from vmtl.inference.recipes.exact import Exact
from vmtl.inference.recipes.point import Point
from vmtl.inference.recipes.variational import Variational
from vmtl.inference.training_data import TrainingData
from vmtl.inference.variational.run import Callbacks
from vmtl.model.method import Method
from vmtl.model.model import effective_method
from vmtl.model.priors import W_PRIORS


class Strategy(Protocol):
    """A way from rows to a fitted model."""

    @property
    def name(self) -> str: ...

    def fit(
        self, method: Method, settings: Settings, data: TrainingData, seed: int, callbacks: Callbacks
    ) -> Fitted: ...


def fit(
    method: Method,
    settings: Settings,
    rows: Rows,
    seed: int,
    *,
    held_out: Rows | None = None,
    callbacks: Callbacks | None = None,
) -> Fitted:
    """The posterior of ``method`` given raw rows; rows ``held_out`` decide when to stop."""
    method, data = effective_method(method, settings), TrainingData.of(rows, held_out)
    strategy = choose_strategy(method, settings)
    return strategy.fit(method, settings, data, seed, callbacks or Callbacks())


def choose_strategy(method: Method, settings: Settings) -> Strategy:
    """How the posterior of ``method`` is found.

    - ``Variational`` on an assumed kernel, or none: the paper's presets, encoders that are trained;
    - ``Variational`` on a selected kernel: where the exact model has no counterpart;
    - ``Exact``: where the posterior means of w are those of the exact model;
    - ``Point``: where w is a point under a Gaussian prior.
    """
    if not (settings.select and settings.encoder == "kernel"):
        return Variational(assume_kernel)
    if not is_known_exactly(method, settings):
        return Variational(select_kernel)
    return Point() if method.q_w == "delta" else Exact()


def why_not_in_parts(method: Method, settings: Settings) -> str | None:
    """The reason why a posterior cannot be found from sums over the parts of a table, if there is one."""
    method = effective_method(method, settings)
    if not isinstance(choose_strategy(method, settings), Exact):
        return (
            "only the exact posterior is a matter of sums, of method='vmtl', 'vbmtl' or 'bakker' with preset='default'"
        )
    if method.encoder == "per task":
        return "each task would have features of its own"
    return "gradient steps (refine, max_steps) need all rows at once" if settings.refine else None


def is_known_exactly(method: Method, settings: Settings) -> bool:
    """Not where w has no means of its own or no prior that the exact model knows, nor where scale or strength are given
    by hand."""
    by_hand = settings.logit_scale is not None or (method.mixes_w and settings.sharing is not None)
    if method.head != "direct" or method.prior_w is None or by_hand:
        return False
    return W_PRIORS[method.prior_w].exact is not None
