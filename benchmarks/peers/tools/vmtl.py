"""The default of this package, untuned, through its public estimators."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.peers.peer import Peer, Prediction, Shape
from benchmarks.peers.scores import LEVEL
from benchmarks.peers.sets import Rows


class VMTL(Peer):
    key = "vmtl"
    title = "VMTL default"
    short = "VMTL"
    packages = ("vmtl", "torch")

    @classmethod
    def versions(cls) -> dict[str, str]:
        """The version of this package with the last commit that changed it, and a plus after changes since."""
        found = super().versions()
        return {**found, "vmtl": f"{found['vmtl']} ({_commit()})"}

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        from vmtl import MultiTaskClassifier, MultiTaskRegressor

        if shape.is_classification:
            classifier = MultiTaskClassifier(random_state=seed).fit(train.X, train.y, tasks=train.task)
            return Prediction(p=classifier.predict_proba(test.X, tasks=test.task))
        regressor = MultiTaskRegressor(random_state=seed).fit(train.X, train.y, tasks=train.task)
        mean, std = regressor.predict(test.X, tasks=test.task, return_std=True)
        ends = regressor.predict_interval(test.X, tasks=test.task, coverage=LEVEL).to_numpy()
        return Prediction(mean=mean, std=std, ends=ends)


def _commit() -> str:
    import vmtl

    folder = str(Path(vmtl.__file__).parent)

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", folder, *words, "--", "."], capture_output=True, text=True).stdout.strip()

    return git("log", "-1", "--format=%h") + ("+" if git("status", "--porcelain") else "") or "installed"
