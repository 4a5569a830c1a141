"""Kendall et al.: losses weighted by each task's learned homoscedastic uncertainty.

Our reading: shared encoder, deterministic classifiers; classification uses exp(-s) loss + s / 2, regression
is a Gaussian likelihood with learned noise per task, which is their regression form.
"""

from vmtl.paper.method import Method

METHOD = Method(
    name="Kendall et al.",
    summary="losses weighted by learned homoscedastic uncertainty",
    reference="Kendall et al. (2018)",
    weighting="uncertainty",
)
