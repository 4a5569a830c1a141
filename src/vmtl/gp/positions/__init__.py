"""Where the tasks lie by their features."""
