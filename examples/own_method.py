"""A method of your own: one declaration, passed to the estimator.

    python examples/own_method.py

A method is a row of independent choices (see `vmtl methods`). Here: the paper's mixture prior on the classifiers,
but a deterministic representation, so that only w is Bayesian. A model file names its method, so to save such a
model, and to use it from the command line and the benchmark, put the same declaration into one file of
src/vmtl/methods/ (CONTRIBUTING.md): the file name is the method's name.
"""

from __future__ import annotations

import argparse

from vmtl import METHODS, Method, MultiTaskClassifier
from vmtl.datasets import make_task_groups

MINE = Method(
    name="Mixture w",
    summary="deterministic z, Bayesian w with a prior mixed from the other tasks",
    reference="this example",
    q_w="gaussian",
    prior_w="gumbel_mixture",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="A method of your own.")
    parser.add_argument("--steps", type=int, help="training steps; the preset's if left out")
    given = parser.parse_args()
    tasks = make_task_groups(seed=0)  # two groups of five tasks, one unrelated task, one adversary
    train, test = tasks.problem.subset(tasks.split.train), tasks.problem.subset(tasks.split.test)
    for method in (METHODS["vbmtl"], MINE, METHODS["vmtl"]):
        model = MultiTaskClassifier(method, max_steps=given.steps, random_state=0)
        model.fit(train.X, train.labels, tasks=train.tasks)
        accuracy = model.score_tasks(test.X, test.labels, tasks=test.tasks).mean()
        print(f"{method.name:10s} accuracy {accuracy:.3f}")
        if method.mixes:
            to_adversary = model.alpha_["adversarial_1"].drop("adversarial_1").mean()
            print(f"{'':10s} weight that the others give the adversary {to_adversary:.3f}")


if __name__ == "__main__":
    main()
