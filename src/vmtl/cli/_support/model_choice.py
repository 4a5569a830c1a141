"""Which estimator a command fits: the only place that turns options into one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vmtl.data.problem import Problem
    from vmtl.estimators import MultiTaskEstimator


@dataclass(frozen=True)
class ModelChoice:
    """The estimator that the options of a command ask for."""

    named: dict[str, Any]  # options of the estimator with an option of their own
    pairs: tuple[str, ...] = ()  # NAME=VALUE of others

    @classmethod
    def of_options(
        cls,
        relatedness: str | None,
        paper_method: str | None,
        preset: str | None,
        steps: int | None,
        seed: int,
        pairs: Iterable[str] | None,
        quiet: bool,
        unknown_task: str = "error",
    ) -> ModelChoice:
        """The options as they were typed: a method of the paper, or else a Gaussian process."""
        if paper_method is None:
            check_without_paper(preset, steps)
            named: dict[str, Any] = {"relatedness": relatedness or "learned"}
        elif relatedness is not None:
            raise ValueError("--relatedness has no effect on the paper's methods; leave it or --paper-method out.")
        else:
            named = {"method": paper_method, "preset": preset or "paper", "max_steps": steps}
        named |= {"random_state": seed, "unknown_task": unknown_task, "verbose": int(not quiet)}
        return cls(named, tuple(pairs or ()))

    @property
    def seed(self) -> int:
        return int(self.named["random_state"])

    @property
    def is_paper(self) -> bool:
        """Whether a method of the paper was asked for."""
        return "method" in self.named

    def check_checkpoint(self, checkpoint: object) -> None:
        """Only the paper's methods take steps that can be continued."""
        if not self.is_paper:
            check_without_paper(None, None, checkpoint)

    def make(self, is_classification: bool, **options: object) -> MultiTaskEstimator:
        """The estimator for this kind of target; what ``--set`` says has the last word."""
        from vmtl import estimators

        name = f"{'VMTL' if self.is_paper else 'MultiTask'}{'Classifier' if is_classification else 'Regressor'}"
        estimator: Any = getattr(estimators, name)
        model: MultiTaskEstimator = estimator(
            **(self.named | options | parse_options(self.pairs, estimator().get_params()))
        )
        return model

    def for_problem(self, problem: Problem, task_column: str, missing: str, **options: object) -> MultiTaskEstimator:
        """The estimator for the rows of a table or an array."""
        return self.make(problem.is_classification, **(of_tables(problem, task_column, missing) | options))

    def facts(self) -> dict[str, object]:
        """What is said of the choice in JSON."""
        return {name: self.named[name] for name in ("relatedness", "method", "preset") if name in self.named}


def check_without_paper(preset: object, steps: object, checkpoint: object = None) -> None:
    """Refuse options that only the paper's methods have."""
    given = {"--preset": preset, "--steps": steps, "--checkpoint": checkpoint}
    for option in (name for name, value in given.items() if value is not None):
        raise ValueError(f"{option} is for the paper's methods; add --paper-method, or leave it out.")


def of_tables(problem: Problem, task: str, missing: str) -> dict[str, object]:
    """Options for columns with names; an array is left as it is, unless it has gaps."""
    import numpy as np

    if hasattr(problem.X, "columns"):
        return {"task_column": task, "missing": missing}
    return {"missing": missing} if np.isnan(problem.X).any() else {}


def parse_options(pairs: Iterable[str], known: dict[str, Any]) -> dict[str, Any]:
    """``name=value`` pairs as estimator parameters; a value is JSON, or else text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in known:
            raise ValueError(f"--set {pair!r} is not NAME=VALUE with a NAME among {', '.join(sorted(known))}.")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options
