"""The ways from rows to a fitted model, each a recipe of a handful of steps; ``vmtl.inference.strategy`` chooses."""
