"""Qian et al.: Kendall's weights and a variational information bottleneck on the shared representation.

Our reading: Gaussian z with KL to a learned marginal r(z), deterministic classifiers.
"""

from vmtl.paper.method import Method

METHOD = Method(
    name="Qian et al.",
    summary="information bottleneck on z, losses weighted by uncertainty",
    reference="Qian et al. (2020)",
    q_z="gaussian",
    prior_z="bottleneck",
    weighting="uncertainty",
)
