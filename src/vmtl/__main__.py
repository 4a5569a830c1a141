"""``python -m vmtl``: the command line."""

from vmtl.cli import app

app(prog_name="vmtl")
