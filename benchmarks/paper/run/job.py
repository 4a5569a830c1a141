"""A job: everything that its result depends on, and a name that is the hash of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property

from vmtl._utils.json_values import Document

#: Raised when the meaning of a job's fields changes, so that old records are not taken for new ones.
JOB_VERSION = 1
#: The method that is no method of the paper: ``MultiTaskClassifier`` or ``MultiTaskRegressor``.
DEFAULT = "default"

Options = Document


@dataclass(frozen=True)
class Job:
    """One fit and its evaluation.

    data : name of a set in ``benchmarks.paper.run.data``.
    fraction : percent of the rows for training.
    split : "paper" for its split documents, "random" for a split drawn with ``seed``.
    method : ``DEFAULT``, a method of ``vmtl.METHODS`` or a reference row of ``vmtl.evaluation.references``.
    candidates : options of the estimator, one dict per candidate between which ``selection`` chooses.
    selection : a rule of ``benchmarks.paper.run.selection_rules``.
    variant : the name under which a table shows these options.
    measure : what to record beside the scores, by names of ``benchmarks.paper.run.measures``.
    source : "real", or "stand-in" for synthetic rows of the same shape.
    smoke : a few rows and a few steps, to see that everything runs.
    """

    data: str
    fraction: float
    method: str
    seed: int
    split: str = "random"
    candidates: tuple[Options, ...] = ({},)
    selection: str = "last"
    variant: str = ""
    measure: tuple[str, ...] = ()
    source: str = "real"
    smoke: bool = False

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits of the hash of all arguments."""
        arguments = {**self.arguments(), "job_version": JOB_VERSION}
        text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def arguments(self) -> dict[str, object]:
        """The fields as plain JSON data, without ``variant``, which is a label and changes no result."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "variant"}
        lists = {"candidates": list(self.candidates), "measure": list(self.measure)}
        return {**values, **lists, "fraction": float(self.fraction)}

    @classmethod
    def from_arguments(cls, values: Document) -> Job:
        """The way back from ``arguments``."""
        lists = {"candidates": tuple(values["candidates"]), "measure": tuple(values["measure"])}
        return cls(**{**values, **lists})

    @property
    def preset(self) -> str:
        """The presets of the candidates, joined; the default has none and is its own."""
        usual = DEFAULT if self.method == DEFAULT else "paper"
        return " or ".join(dict.fromkeys(str(options.get("preset", usual)) for options in self.candidates))

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        label = f" {self.variant}" if self.variant else ""
        return f"{self.data} {self.fraction:g} % {self.method} [{self.preset}]{label} seed {self.seed}"
