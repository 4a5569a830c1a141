"""Features: kernel PCA as scikit-learn has it, exact in weights; kernels and what is made of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from helpers.toys import toy
from vmtl.gp import features as module
from vmtl.gp.features import KernelFeatures
from vmtl.gp.kernel_search import KernelChoice
from vmtl.gp.kernels import KERNELS, centre, kernels_for

RNG = np.random.default_rng(0)
ROWS = replace(toy([8, 6, 6], features=5).rows(), weight=torch.linspace(0.5, 2, 20, dtype=torch.float64))
NEW = torch.as_tensor(RNG.normal(size=(7, 5)))


def choice(*names: str) -> KernelChoice:
    shares = torch.tensor([float(not names or kernel.name in names) for kernel in KERNELS], dtype=torch.float64)
    return KernelChoice(shares / shares.sum(), None, 1.0)


def test_training_rows_reproduce_the_centred_kernel() -> None:
    """Each kernel centred, with mean diagonal 1, in the weights of the rows."""
    p = ROWS.weight / ROWS.weight.sum()
    features = KernelFeatures.learn(ROWS, choice(), 0)
    total = torch.zeros(20, 20, dtype=torch.float64)
    for kernel in KERNELS:
        u = features.views(kernel.view, ROWS.x)
        distances = torch.cdist(u, u)
        table = {
            "linear": u @ u.T,
            "gauss": torch.exp(-distances.square() / 2),
            "laplace": torch.exp(-distances / math.sqrt(8)),
        }[kernel.form]
        centred = centre(table, p)
        total += centred / (p @ centred.diagonal()) / len(KERNELS)
    z = features(ROWS.x)
    torch.testing.assert_close(z @ z.T, total, rtol=0, atol=2e-5)
    torch.testing.assert_close(p @ z, torch.zeros_like(z[0]), rtol=0, atol=1e-9)
    spread = p @ z.square()
    assert float(spread.sum()) == pytest.approx(1, abs=1e-5)
    assert bool((spread[:-1] >= spread[1:] - 1e-12).all())
    assert bool((z.gather(0, z.abs().argmax(0, keepdim=True)) > 0).all())  # which fixes the signs
    inner = z.T @ (p[:, None] * z)
    torch.testing.assert_close(inner, torch.diag(spread), rtol=0, atol=1e-9)


def test_one_kernel_is_scikit_learns_kernel_pca_also_of_new_rows() -> None:
    rows = replace(ROWS, weight=torch.ones(20, dtype=torch.float64))
    features = KernelFeatures.learn(rows, choice("gauss(raw)"), 0)
    u, new = (features.views("raw", x).numpy() for x in (rows.x, NEW))
    theirs = KernelPCA(4, kernel="precomputed").fit(rbf_kernel(u, gamma=0.5))
    centred = centre(torch.from_numpy(rbf_kernel(u, gamma=0.5)), torch.full((20,), 0.05, dtype=torch.float64))
    expected = theirs.transform(rbf_kernel(new, u, gamma=0.5)) / float(centred.diagonal().mean()) ** 0.5
    np.testing.assert_allclose(np.abs(features(NEW)[:, :4].numpy()), np.abs(expected), atol=1e-7)


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    weight = torch.where(torch.arange(20) < 3, 2.0, 1.0).double()
    once = replace(ROWS, weight=weight)
    twice = replace(ROWS.take(torch.cat([torch.arange(20), torch.arange(3)])), weight=torch.ones(23).double())
    first, second = (KernelFeatures.learn(rows, choice(), 0)(NEW) for rows in (once, twice))
    torch.testing.assert_close(first @ first.T, second @ second.T, rtol=0, atol=1e-4)


def test_many_rows_have_landmarks_and_are_seen_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LANDMARKS", 12)
    features = KernelFeatures.learn(ROWS, choice(), 0)
    assert features.landmarks.shape == (12, 5)
    assert features.size < 12
    whole = features(NEW)
    monkeypatch.setattr(module, "PART_ROWS", 3)
    torch.testing.assert_close(features(NEW), whole)
    assert features(NEW[:0]).shape == (0, features.size)
    assert torch.equal(KernelFeatures.learn(ROWS, choice(), 0)(NEW), features(NEW))


def test_shares_can_be_read_off_and_come_back_from_a_file() -> None:
    rows = replace(ROWS, weight=torch.ones(20, dtype=torch.float64))
    shares = torch.zeros(len(KERNELS), dtype=torch.float64)
    shares[1], shares[4] = 0.3, 0.7
    features = KernelFeatures.learn(rows, KernelChoice(shares, torch.linspace(0.5, 2, 5).double(), 1.0), 0)
    assert features.kernel_shares() == pytest.approx({KERNELS[1].name: 0.3, KERNELS[4].name: 0.7})
    back = KernelFeatures.from_tensors(features.to_tensors())
    assert torch.equal(back(NEW), features(NEW))


def test_rows_that_never_vary_have_one_feature_that_is_zero() -> None:
    rows = replace(ROWS, x=torch.ones_like(ROWS.x))
    features = KernelFeatures.learn(rows, choice(), 0)
    assert features.size == 1
    assert float(features(NEW).abs().max()) == 0


def test_embeddings_have_no_kernels_of_tables() -> None:
    assert len(kernels_for(100)) == len(KERNELS) == len({kernel.name for kernel in KERNELS})
    assert {KERNELS[v].view for v in kernels_for(101)} == {"raw", "shrunk", "root", "log"}
