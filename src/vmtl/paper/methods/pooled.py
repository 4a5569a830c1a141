"""Pooled: one model for all rows, blind to the task; what a user would do first."""

from vmtl.paper.method import Method

METHOD = Method(
    name="Pooled",
    summary="one deterministic model for all rows, blind to the task",
    reference="what a user would do first",
    shared_head=True,
    shared_noise=True,
)
