"""How the targets read the tasks: as they lie, some apart, in groups."""
