"""Bakker and Heskes: one Gaussian prior over all tasks' classifiers, learned by EM.

Our reading: shared deterministic encoder, Gaussian q(w), a diagonal Gaussian prior per class whose mean
and variance are set by a closed-form M step between gradient steps.
"""

from vmtl.paper.method import Method

METHOD = Method(
    name="Bakker et al.",
    summary="one Gaussian prior over the tasks' classifiers, learned by EM",
    reference="Bakker and Heskes (2003)",
    q_w="gaussian",
    prior_w="learned_gaussian",
)
