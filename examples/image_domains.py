"""Image domains: the same ten digits seen by four cameras that are tilted differently, 5 % of the images labelled.

    python examples/image_domains.py
    python examples/image_domains.py --folder photos    # only write images as photos/<domain>/<class>/*.png

The images are scikit-learn's bundled digits. The folder has the layout that `vmtl features` takes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from vmtl import MultiTaskClassifier
from vmtl.data import Problem, random_split
from vmtl.datasets import load_digits_domains


def write_images(digits: Problem, folder: Path, per_class: int) -> int:
    """Write the first ``per_class`` images of every digit and domain, enlarged to 64 x 64; the number written."""
    from PIL import Image

    written = 0
    for domain in range(digits.n_tasks):
        for digit in range(digits.n_classes):
            place = folder / digits.task_names[domain] / f"digit_{digit}"
            place.mkdir(parents=True, exist_ok=True)
            for row in np.flatnonzero((digits.task == domain) & (digits.y == digit))[:per_class]:
                pixels = (255 * np.clip(digits.X[row].reshape(8, 8), 0, 1)).astype(np.uint8)
                Image.fromarray(pixels).resize((64, 64)).save(place / f"{row:04d}.png")
                written += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Digits of four domains.")
    parser.add_argument("--share", type=float, default=0.05, help="share of the images that is labelled")
    parser.add_argument("--folder", type=Path, help="write images to this folder and stop")
    parser.add_argument("--per-class", type=int, default=3, help="images of each digit and domain in the folder")
    given = parser.parse_args()
    digits = load_digits_domains()
    if given.folder is not None:
        print(f"{given.folder}: {write_images(digits, given.folder, given.per_class)} images")
        return
    split = random_split(digits, given.share, seed=0)
    train, test = digits.subset(split.train), digits.subset(split.test)
    print(f"{train.n_rows} labelled images, {test.n_rows} to predict; accuracy:")
    scores = {}
    for name in ("none", "pooled", "even", "learned"):  # what tasks may share
        model = MultiTaskClassifier(name, random_state=0)
        model.fit(train.X, train.labels, tasks=train.tasks)
        scores[name] = model.score_tasks(test.X, test.labels, tasks=test.tasks)
    table = pd.DataFrame(scores)
    table.loc["mean"] = table.mean()
    print(table.round(3).to_string())
    doubt = model.uncertainty(test.X, tasks=test.tasks)
    right = model.predict(test.X, tasks=test.tasks) == test.labels
    print("\nmean uncertainty in nats of right and of wrong predictions:")
    print(doubt.groupby(np.where(right, "right", "wrong")).mean().round(3).to_string())


if __name__ == "__main__":
    main()
