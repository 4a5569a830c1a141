"""The model of the paper, Eq. 2 to 12: posteriors, priors, likelihoods, and the objective that joins them."""
