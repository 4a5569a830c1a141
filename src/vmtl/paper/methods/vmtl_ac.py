"""VMTL-AC: VMTL whose classifiers are inferred from class means by one network."""

from vmtl.paper.method import Method

METHOD = Method(
    name="VMTL-AC",
    summary="VMTL with classifiers inferred from class means by one network",
    reference="Shen et al. (2021)",
    q_z="gaussian",
    q_w="gaussian",
    prior_z="gumbel_mixture",
    prior_w="gumbel_mixture",
    head="amortised",
)
