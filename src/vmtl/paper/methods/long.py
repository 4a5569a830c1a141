"""Long et al.: multilinear relationship networks.

Our reading, from the authors' code: the features are taken as they are, one task-specific layer (the classifier) has a
tensor-normal prior of which only the covariance of the tasks is learned, in closed form between steps; w is a point.
"""

from vmtl.paper.method import Method

METHOD = Method(
    name="Long et al. (MRN)",
    summary="tensor-normal prior over the stacked classifiers",
    reference="Long et al. (2017)",
    encoder="fixed",
    prior_w="tensor_normal",
    shared_noise=True,
)
