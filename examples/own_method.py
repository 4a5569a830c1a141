"""A method of your own: one declaration, with an id under which models are fitted, saved and loaded.

    python examples/own_method.py

A method is a row of independent choices (see `vmtl methods`). Here: the paper's mixture prior on the classifiers,
but a deterministic representation, so that only w is Bayesian. ``register_method`` gives it an id in this program. In a
package, an entry point does the same for the command line and every other process; in its pyproject.toml:

    [project.entry-points."vmtl.methods"]
    mixture_w = "my_package:MIXTURE_W"
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from vmtl import METHODS, Method, VMTLClassifier, load, register_method
from vmtl.datasets import make_task_groups

MIXTURE_W = Method(
    name="Mixture w",
    summary="deterministic z, Bayesian w with a prior mixed from the other tasks",
    reference="this example",
    q_w="gaussian",
    prior_w="gumbel_mixture",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="A method of your own.")
    parser.add_argument("--steps", type=int, help="training steps; the preset's if left out")
    steps = parser.parse_args().steps
    register_method("mixture_w", MIXTURE_W)
    tasks = make_task_groups(seed=0)  # two groups of five tasks, one unrelated task, one adversary
    train, test = tasks.problem.subset(tasks.split.train), tasks.problem.subset(tasks.split.test)
    for method in ("vbmtl", "mixture_w", "vmtl"):
        model = VMTLClassifier(method, encoder="linear", max_steps=steps, random_state=0)
        model.fit(train.X, train.labels, tasks=train.tasks)
        accuracy = model.score_tasks(test.X, test.labels, tasks=test.tasks).mean()
        print(f"{METHODS[method].name:10s} accuracy {accuracy:.3f}")
        if METHODS[method].mixes:
            to_adversary = model.alpha_["adversarial_1"].drop("adversarial_1").mean()
            print(f"{'':10s} weight that the others give the adversary {to_adversary:.3f}")
        if method == "mixture_w":
            again = save_and_load(model)
            same = (again.predict(test.X, tasks=test.tasks) == model.predict(test.X, tasks=test.tasks)).all()
            print(f"{'':10s} saved and loaded by its id, {'the same' if same else 'other'} predictions")


def save_and_load(model: VMTLClassifier) -> VMTLClassifier:
    """A model file names its method: it loads wherever a method of that id is registered."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.vmtl")
        return load(Path(folder) / "model.vmtl")


if __name__ == "__main__":
    main()
