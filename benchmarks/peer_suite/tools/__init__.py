"""One file per tool; ``PEERS`` lists them in the order of the tables."""

from __future__ import annotations

from peer_suite.peer import Peer
from peer_suite.tools.catboost import CatBoost
from peer_suite.tools.constant import Constant
from peer_suite.tools.forest import Forest
from peer_suite.tools.gp import GaussianProcess
from peer_suite.tools.gpboost import GPBoost
from peer_suite.tools.histogram import Histogram
from peer_suite.tools.lightgbm import LightGBM
from peer_suite.tools.linear import Augmented, Dummies, PerTask, Pooled
from peer_suite.tools.lme4 import Lme4
from peer_suite.tools.realmlp import RealMLP
from peer_suite.tools.svm import PixelSVM, PooledSVM, TaskSVM
from peer_suite.tools.tabpfn import TabPFN
from peer_suite.tools.vmtl import VMTL
from peer_suite.tools.xrfm import XRFM

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
