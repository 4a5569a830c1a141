"""Single-task learning: every task alone."""

from vmtl.paper.method import Method

METHOD = Method(
    name="STL",
    summary="every task alone: its own encoder, its own classifier",
    reference="the paper's baseline",
    encoder="per task",
)
