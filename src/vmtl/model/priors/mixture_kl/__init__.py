"""KL from a Gaussian to a mixture of Gaussians (the KL terms of Eq. 11), which has no closed form.

``forms`` holds the four ways to compute it; the paper's is the convex bound. The prior of z has one mixture per row, a
(T, N, T - 1, K) tensor if written down. ``encoded_mixture`` makes it piece by piece for any encoder and form, with the
bound of a row in ``row_bound``; for two encoders the bound needs no such tensor: ``kernel_bound``, ``linear_bound``.
"""
