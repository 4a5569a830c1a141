"""TabPFN as far as it can be had without asking anyone for weights: v1 for classes, v2 for numbers.

The source distribution of ``pfns`` 0.3.0 carries the weights of the first classifier (Hollmann et al. 2023), that of
``tabpfn-time-series`` 0.1.3 those of the second regressor (Hollmann et al. 2025), both under the Apache licence 2.0.
The variable ``PEERS_TABPFN`` names a folder with both, unpacked; the regressor is run by the package ``tabpfn``.
Later versions are not compared. The task is a further column of whole numbers, as the authors advise for categories.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Optional

import numpy as np

from benchmarks.peers.peer import Peer, Prediction, Shape, Unsuitable
from benchmarks.peers.sets import Rows

CLASSIFIER = Path("pfns-0.3.0")
WEIGHTS = "models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt"
REGRESSOR = Path("tabpfn_time_series-0.1.3/tabpfn-v2-regressor-2noar4o2.ckpt")
#: Limits of the first classifier.
MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 1024, 100, 10
#: Passes with permuted columns that are averaged; the packages do three to eight by default.
N_ENSEMBLE = 4


class TabPFN(Peer):
    key = "tabpfn"
    title = "TabPFN (v1 classifier, v2 regressor)"
    short = "TabPFN"
    packages = ("tabpfn",)
    revision = 2

    @classmethod
    def absent(cls) -> str | None:
        folder = _folder()
        there = folder is not None and (folder / CLASSIFIER / WEIGHTS).is_file() and (folder / REGRESSOR).is_file()
        return super().absent() or (
            None if there else f"{cls.title} is skipped: PEERS_TABPFN names no folder with its weights."
        )

    @classmethod
    def versions(cls) -> dict[str, str]:
        return {**super().versions(), "pfns": "0.3.0", "tabpfn-time-series": "0.1.3"}

    def fit_predict(self, train: Rows, test: Rows, shape: Shape, seed: int) -> Prediction:
        a, b = (np.column_stack([rows.X, rows.task]) for rows in (train, test))
        return _classify(a, train.y, b, shape, seed) if shape.is_classification else _regress(a, train.y, b, seed)


def _folder() -> Path | None:
    named = os.environ.get("PEERS_TABPFN")
    return Path(named) if named else None


def _regress(a: np.ndarray, y: np.ndarray, b: np.ndarray, seed: int) -> Prediction:
    """Mean, and the standard deviation that a central interval of 90 % has if it is Gaussian."""
    from scipy.stats import norm
    from tabpfn import TabPFNRegressor

    model = TabPFNRegressor(
        model_path=str(_folder() / REGRESSOR),  # type: ignore[operator]
        n_estimators=N_ENSEMBLE,
        device="cpu",
        random_state=seed,
        categorical_features_indices=[a.shape[1] - 1],
        n_preprocessing_jobs=1,
        ignore_pretraining_limits=True,  # it refuses more than 1,000 rows without a GPU, since they take long
    ).fit(a, y)
    found = model.predict(b, output_type="main", quantiles=[0.05, 0.95])
    low, high = found["quantiles"]
    return Prediction(mean=np.asarray(found["mean"]), std=np.asarray(high - low) / (2 * norm.ppf(0.95)))


def _classify(a: np.ndarray, y: np.ndarray, b: np.ndarray, shape: Shape, seed: int) -> Prediction:
    if len(a) > MOST_ROWS or a.shape[1] > MOST_COLUMNS or shape.n_classes > MOST_CLASSES:
        limits = f"{MOST_ROWS} rows, {MOST_COLUMNS} columns and {MOST_CLASSES} classes"
        raise Unsuitable(f"The first TabPFN takes at most {limits}.")
    import torch

    model, config, interface = _classifier()
    x = torch.tensor(np.concatenate([a, b])).float().unsqueeze(1)
    known = torch.tensor(np.concatenate([y, np.zeros(len(b))])).float().unsqueeze(1)
    found = interface.transformer_predict(
        model,
        x,
        known,
        len(a),
        inference_mode=True,
        preprocess_transform="mix",
        N_ensemble_configurations=N_ENSEMBLE,
        feature_shift_decoder=True,
        differentiable_hps_as_style=config["differentiable_hps_as_style"],
        seed=seed,
        **interface.get_params_from_config(config),
    )
    return Prediction(p=found.squeeze(0).numpy())


@cache
def _classifier() -> tuple[Any, Any, Any]:
    """The network, its settings and the module that runs it, which asks for an older scikit-learn only in ``fit``."""
    from torch.nn.modules import transformer

    transformer.Optional = Optional  # taken from there by pfns, removed from there by torch
    folder = str(_folder() / CLASSIFIER)  # type: ignore[operator]
    sys.path.insert(0, folder)
    try:
        from pfns.scripts import tabpfn_interface
    finally:
        sys.path.remove(folder)
    (_, _, model), config = tabpfn_interface.load_model_only_inference(folder, WEIGHTS, "cpu")
    return model, config, tabpfn_interface
