"""A job is the hash of its arguments."""

from __future__ import annotations

from benchmarks.paper.run.job import Job


def test_a_job_is_named_by_its_arguments() -> None:
    job = Job("school", 5, "vmtl", 0)
    assert job.id == Job.from_arguments(job.arguments()).id == Job("school", 5.0, "vmtl", 0, variant="label").id
    others = [Job("school", 5, "vmtl", 1), Job("school", 10, "vmtl", 0), Job("school", 5, "bmtl", 0)]
    others += [Job("school", 5, "vmtl", 0, candidates=({"n_z": 3},)), Job("school", 5, "vmtl", 0, smoke=True)]
    assert len({job.id, *(other.id for other in others)}) == 6
