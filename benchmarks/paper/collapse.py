"""When do the tasks of the paper's preset stop being different? Office-Caltech 5 %, over the numbers the paper omits.

    python -m benchmarks.paper.collapse run --data DIR --group weight     # one group of fits; appends to collapse.jsonl
    python -m benchmarks.paper.collapse show                              # the table of all records, as Markdown
    python -m benchmarks.paper.collapse write                             # table and figure of docs/presets.md

A record is one fit: how far the tasks' classifiers are from each other, KL_w and alpha along the way, and at the end
the accuracy, and how many labels change if every task is given the first task's classifier. A fit that has a record is
not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import DOCS
from benchmarks.pages import write_block
from benchmarks.paper.run.data import Prepared, prepare
from benchmarks.paper.run.job import Job
from benchmarks.paper.run.measures import spread_of_classifiers
from vmtl.data.problem import Problem
from vmtl.data.rows import Rows
from vmtl.paper.fit import fit
from vmtl.paper.methods import METHODS
from vmtl.paper.presets import PRESETS
from vmtl.paper.settings import Settings
from vmtl.paper.training.run import Callbacks
from vmtl.paper.training.training import Progress, Trainer

RECORDS, PAGE = Path(__file__).with_suffix(".jsonl"), DOCS / "presets.md"
FIGURE = DOCS / "images" / "collapse.svg"
#: Looks at the classifiers of one fit.
LOOKS = 40
Options = dict[str, Any]


def whole(end: float) -> Options:
    """KL_w rising to ``end`` over the first half, added to the mean loss of a row without division."""
    return {"kl_scale_w": ("linear", 0.0, end, 0.5), "divide_kl_w": False}


def per_row(end: float) -> Options:
    """The same on the scale of the lower bound: KL_w / N_t."""
    return {"kl_scale_w": ("linear", 0.0, end, 0.5), "divide_kl_w": True}


#: Readings whose ablations are compared: the lower bound itself, and the end of the released code.
BOUND, RELEASED = per_row(1.0), whole(0.006)
DETACHED: Options = {"kl_scale_z": ("linear", 0.0, 1e-7, 0.5), "prior_gradient_z": "detached"}
SHORT: Options = {
    "max_steps": 800,
    "n_z": 4,
    "n_w": 4,
    "kl_scale_z": ("linear", 0.0, 1e-4, 0.5),
    "prior_gradient_z": "both",
}
ABLATIONS: dict[str, Options] = {
    "gumbel": {},
    "learnable": {"mixing": "learnable"},
    "mean": {"mixing": "mean"},
    "z only": {"bayesian_w": False},
    "w only": {"bayesian_z": False},
}


@dataclass(frozen=True)
class Fit:
    """One fit of a group."""

    name: str
    options: Options
    method: str = "vmtl"
    seed: int = 0


def groups() -> dict[str, list[Fit]]:
    """What is run together."""
    ends = (0.02, 0.006, 0.002, 0.0006)
    weight = [Fit("KL_w / N_t to 1", {**SHORT, **BOUND})]
    weight += [Fit(f"KL_w to {end:g}", {**SHORT, **whole(end)}) for end in ends]
    z = [Fit("KL_w to 0.006, KL_z to 0.01", {**SHORT, **RELEASED, "kl_scale_z": ("linear", 0.0, 1e-2, 0.5)})]
    z += [Fit("KL_w to 0.006, KL_z to 1e-7, detached", {**SHORT, **RELEASED, **DETACHED})]
    sharing = [Fit("KL_w / N_t to 1, r = 0.95", {**SHORT, **BOUND, "sharing": 0.95})]
    sharing += [Fit("KL_w to 0.006, r = 0.95", {**SHORT, **RELEASED, "sharing": 0.95})]
    ablations = [
        Fit(f"{reading}: {name}", {**SHORT, "max_steps": 500, **end, **options})
        for reading, end in (("KL_w / N_t to 1", BOUND), ("KL_w to 0.006, detached", {**RELEASED, **DETACHED}))
        for name, options in ABLATIONS.items()
    ]
    detached = [
        Fit(f"prior of z detached, {n:,} steps", {"max_steps": n, "n_z": 4, "n_w": 4, "prior_gradient_z": "detached"})
        for n in (1000, 4000)
    ]
    length = [
        Fit(f"{METHODS[method].name}, {steps:,} steps", {"max_steps": steps, "n_z": 4, "n_w": 4}, method)
        for steps in (1000, 4000)
        for method in ("bmtl", "vmtl")
    ]
    return {
        "weight": weight,
        "z": z,
        "sharing": sharing,
        "ablations": ablations,
        "detached": detached,
        "length": length,
    }


@dataclass
class Watch:
    """A hook that looks at the classifiers ``LOOKS`` times."""

    step: list[int] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    kl_w: list[float] = field(default_factory=list)
    kl_z: list[float] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)

    @torch.no_grad()
    def __call__(self, trainer: Trainer, progress: Progress) -> None:
        if progress.step % max(1, progress.total // LOOKS) and progress.step > 1:
            return
        self.step.append(progress.step)
        self.spread.append(spread_of_classifiers(trainer.model))
        self.kl_w.append(progress.kl_w)
        self.kl_z.append(progress.kl_z)
        self.alpha.append(float(trainer.model.alpha().max()))


def training_rows(problem: Problem) -> Rows:
    return Rows(
        torch.as_tensor(problem.X, dtype=torch.float32),
        torch.as_tensor(problem.y),
        torch.as_tensor(problem.task),
        torch.ones(problem.n_rows),
        problem.n_tasks,
        problem.n_classes,
        True,
    )


def run(one: Fit, prepared: Prepared) -> dict[str, Any]:
    """Fit and look; the record of it."""
    settings: Settings = replace(PRESETS["paper"], **one.options)
    test, watch, started = prepared.test, Watch(), time.process_time()
    fitted = fit(
        METHODS[one.method], settings, training_rows(prepared.train), one.seed, callbacks=Callbacks(after_step=[watch])
    )
    seconds = time.process_time() - started
    x = np.asarray(test.X, dtype=np.float32)
    own, first = (fitted.probabilities(x, task).probabilities.argmax(1) for task in (test.task, 0 * test.task))
    accuracy = [float(np.mean(own[test.task == t] == test.y[test.task == t])) for t in range(test.n_tasks)]
    return {
        "name": one.name,
        "method": one.method,
        "seed": one.seed,
        "options": one.options,
        "accuracy": float(np.mean(accuracy)),
        "tasks": accuracy,
        "labels": len(own),
        "changed": int(np.sum(own != first)),
        "alpha": fitted.model.alpha().tolist(),
        "beta": fitted.model.beta().tolist(),
        "cpu_seconds": seconds,
        "watch": vars(watch),
    }


def read_records() -> list[dict[str, Any]]:
    if not RECORDS.is_file():
        return []
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def run_group(group: str, data: Path) -> None:
    torch.set_num_threads(1)
    prepared = prepare(Job("office-caltech", 5.0, "vmtl", 0, split="paper"), data, data / "splits")
    done = {(record["name"], record["seed"]) for record in read_records()}
    for one in groups()[group]:
        if (one.name, one.seed) in done:
            continue
        record = run(one, prepared)
        with RECORDS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(
            f"{one.name}, seed {one.seed}: {100 * record['accuracy']:.1f} %, {record['cpu_seconds']:.0f} s", flush=True
        )


def table(records: list[dict[str, Any]]) -> str:
    """One line per reading, means over seeds."""
    names = list(dict.fromkeys(record["name"] for record in records))
    lines = []
    for name in names:
        of_name = [record for record in records if record["name"] == name]
        steps = of_name[0]["options"].get("max_steps", PRESETS["paper"].max_steps)

        def mean(key: str, among: list[dict[str, Any]] = of_name) -> float:
            return float(np.mean([r["watch"][key][-1] if key in r["watch"] else r[key] for r in among]))

        changed = f"{mean('changed'):.0f} of {of_name[0]['labels']:,}"
        numbers = (f"{100 * mean('accuracy'):.1f}", f"{mean('spread'):.3f}", changed, f"{mean('kl_w'):.3g}")
        alpha = np.mean([record["watch"]["alpha"][-1] for record in of_name])
        lines.append((name, f"{steps:,}", str(len(of_name)), *numbers, f"{alpha:.2f}" if alpha else "–"))
    head = ("reading", "steps", "seeds", "accuracy", "spread of w", "labels that change", "KL_w, nats", "largest alpha")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def figure(records: list[dict[str, Any]]) -> None:
    """Spread, KL_w and alpha over training, one line per weight of KL_w."""
    import matplotlib.pyplot as plt

    names = [one.name for one in groups()["weight"]]
    shown = [record for name in names for record in records if record["name"] == name and record["seed"] == 0]
    panels = (("spread", "spread of w between tasks"), ("kl_w", "KL_w, nats"), ("alpha", "largest alpha"))
    picture, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(shown)))
    for ax, (key, label) in zip(axes, panels, strict=True):
        for record, colour in zip(shown, colours, strict=True):
            watch = record["watch"]
            ax.plot(watch["step"], watch[key], color=colour, label=record["name"])
        ax.set_xlabel("step")
        ax.set_title(label, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False, fontsize=7)
    plt.rcParams["svg.hashsalt"] = "collapse"
    picture.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show", "write"))
    parser.add_argument("--group", choices=tuple(groups()), default="weight")
    parser.add_argument("--data", type=Path, default=os.environ.get("VMTL_DATA"))
    arguments = parser.parse_args()
    if arguments.what == "run":
        if arguments.data is None:
            parser.error("--data must name the folder with data/ and splits/, or set VMTL_DATA.")
        run_group(arguments.group, Path(arguments.data))
    elif arguments.what == "show":
        print(table(read_records()))
    else:
        write_block(PAGE, "collapse", table(read_records()))
        figure(read_records())


if __name__ == "__main__":
    main()
