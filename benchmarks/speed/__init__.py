"""Speed and memory of the package, and how they grow."""
