"""A second opinion on small tables with classes: a random forest, and how much it counts beside the model."""
