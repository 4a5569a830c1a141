"""Sets of tasks whose relations are known, many tasks and new tasks."""
