"""What the paper claims, and what records say about it."""
