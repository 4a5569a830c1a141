"""The exact Gaussian model: its prior with all scales, its posterior, and how sure that may be."""
