"""``vmtl methods``: what can be fitted."""

from __future__ import annotations

from vmtl.cli._support.console import show_json, show_table
from vmtl.cli._support.options import Debug, Json


def methods(json: Json = False, debug: Debug = False) -> None:
    """List the methods, each a row of independent choices."""
    from dataclasses import asdict

    from vmtl import METHODS

    if json:
        show_json({name: asdict(method) for name, method in METHODS.items()})
        return
    show_table(
        "Methods",
        ("id", "name", "what it is", "encoder", "q(z)", "q(w)", "reference"),
        [(name, m.name, m.summary, m.encoder, m.q_z, m.q_w, m.reference) for name, m in METHODS.items()],
    )
