"""VMTL: Bayesian z and w whose priors are learned mixtures of the other tasks' posteriors."""

from vmtl.paper.method import Method

METHOD = Method(
    name="VMTL",
    summary="Bayesian z and w, priors mixed from the other tasks' posteriors",
    reference="Shen et al. (2021)",
    q_z="gaussian",
    q_w="gaussian",
    prior_z="gumbel_mixture",
    prior_w="gumbel_mixture",
)
