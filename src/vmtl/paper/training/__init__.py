"""The paper's way: stochastic gradient steps on the evidence lower bound."""
