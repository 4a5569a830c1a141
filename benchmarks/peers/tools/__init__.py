"""One file per tool; ``PEERS`` lists them in the order of the tables."""

from __future__ import annotations

from benchmarks.peers.peer import Peer
from benchmarks.peers.tools.catboost import CatBoost
from benchmarks.peers.tools.constant import Constant
from benchmarks.peers.tools.forest import Forest
from benchmarks.peers.tools.gp import GaussianProcess
from benchmarks.peers.tools.gpboost import GPBoost
from benchmarks.peers.tools.histogram import Histogram
from benchmarks.peers.tools.lightgbm import LightGBM
from benchmarks.peers.tools.linear import Augmented, Dummies, PerTask, Pooled
from benchmarks.peers.tools.lme4 import Lme4
from benchmarks.peers.tools.realmlp import RealMLP
from benchmarks.peers.tools.svm import PixelSVM, PooledSVM, TaskSVM
from benchmarks.peers.tools.tabpfn import TabPFN
from benchmarks.peers.tools.vmtl import VMTL
from benchmarks.peers.tools.xrfm import XRFM

PEERS: dict[str, type[Peer]] = {
    peer.key: peer
    for peer in (
        VMTL,
        PerTask,
        Pooled,
        Dummies,
        Augmented,
        Lme4,
        Forest,
        Histogram,
        LightGBM,
        CatBoost,
        GPBoost,
        PooledSVM,
        PixelSVM,
        TaskSVM,
        GaussianProcess,
        XRFM,
        RealMLP,
        TabPFN,
        Constant,
    )
}
