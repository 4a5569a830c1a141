"""Where the tasks lie by their representations."""
