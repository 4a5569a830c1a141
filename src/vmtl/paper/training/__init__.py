"""Training: stochastic gradient steps on the evidence lower bound, checkpoints and early stopping."""
