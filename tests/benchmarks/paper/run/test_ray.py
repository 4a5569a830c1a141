"""The same jobs on a Ray cluster of two local workers, also when one of them is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.processes import PATIENCE, PATIENT_RAY

pytestmark = pytest.mark.system
pytest.importorskip("ray", reason="Ray is an extra: pip install vmtl[ray]")

KILLED = """
import threading, sys
from pathlib import Path
from ray.cluster_utils import Cluster
from benchmarks.paper.run.engines import Place, get_engine
from benchmarks.paper.run.watcher import Watcher
from benchmarks.paper.run.runner import run_suites
from benchmarks.paper.run.suite import load_suites

class Killer(Watcher):
    def started(self, job):
        super().started(job)
        if len(seen) == 3:
            killing.start()
        seen.append(job.id)

seen, killing = [], threading.Timer(0.2, lambda: cluster.remove_node(second, allow_graceful=False))
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
suites = load_suites(sys.argv[1])
engine = get_engine("ray", 2, cluster.address)
outcome = run_suites(suites, engine, Place(), Path(sys.argv[2]), Killer(visible=False))
assert not outcome.failed, outcome.failed
killing.join()
print("nodes left:", len(cluster.list_all_nodes()))
cluster.shutdown()
"""


def test_two_local_workers(bench: Any, uninterrupted: Any, tmp_path: Path) -> None:
    bench.run(tmp_path, "--engine", "ray", "--workers", "2")
    assert bench.records(tmp_path) == uninterrupted


@pytest.mark.slow
def test_one_of_two_workers_is_killed_during_the_run(bench: Any, uninterrupted: Any, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    done = subprocess.run(
        [sys.executable, str(script), str(bench.suite), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **PATIENT_RAY},
    )
    assert done.returncode == 0, done.stderr
    assert "nodes left: 1" in done.stdout
    assert bench.records(tmp_path / "out") == uninterrupted
