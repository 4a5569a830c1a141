"""Variational basic multi-task learning: a shared encoder, Bayesian z and w with priors N(0, I)."""

from vmtl.paper.method import Method

METHOD = Method(
    name="VBMTL",
    summary="shared encoder, Bayesian z and w with N(0, I) priors",
    reference="the paper's baseline",
    q_z="gaussian",
    q_w="gaussian",
    prior_z="standard_normal",
    prior_w="standard_normal",
)
