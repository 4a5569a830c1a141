"""Who is like whom: positions of the tasks, readings of them, and the covariance of their weights."""
