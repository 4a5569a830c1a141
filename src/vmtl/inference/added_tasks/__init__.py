"""A task more, or more rows of a known one, without fitting again."""
