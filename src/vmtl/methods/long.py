"""Long et al.: multilinear relationship networks.

Our reading: shared encoder, one task-specific layer (the classifier) with a tensor-normal prior whose
task, class and feature covariances are updated in closed form; everything else is a point estimate.
"""

from vmtl.model.method import Method

METHOD = Method(
    name="Long et al. (MRN)",
    summary="tensor-normal prior over the stacked classifiers",
    reference="Long et al. (2017)",
    prior_w="tensor_normal",
    shared_noise=True,
)
