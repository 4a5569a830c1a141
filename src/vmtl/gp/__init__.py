"""The default: a multi-task Gaussian process whose hyperparameters are scored on held-out rows.

    f_tc(x) = a_c + b_tc + s w_tc . z(x),    cov(w_tc, w_ic) = B_ti I

docs/defaults.md is the model on one page. ``fit`` is where a fit begins; it reads from top to bottom.
"""
