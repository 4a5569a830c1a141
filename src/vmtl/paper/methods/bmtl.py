"""Basic multi-task learning: a shared encoder, one deterministic classifier per task."""

from vmtl.paper.method import Method

METHOD = Method(
    name="BMTL",
    summary="shared encoder, one deterministic classifier per task",
    reference="the paper's baseline; Caruana (1997)",
    shared_noise=True,
)
