"""What both estimators can do besides fitting and predicting: one ability, one file."""
