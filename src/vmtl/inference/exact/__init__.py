"""The exact Gaussian model: kernel, task structure, posterior and calibration from the training rows."""
