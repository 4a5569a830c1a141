"""Models in production: a fitted estimator as an ONNX file, or behind HTTP."""

from importlib import import_module
from typing import TYPE_CHECKING

from vmtl._utils.missing_extra import require

if TYPE_CHECKING:
    from vmtl.serving.facts import describe
    from vmtl.serving.limits import Limits
    from vmtl.serving.onnx_export import export_onnx
    from vmtl.serving.service import make_app

__all__ = ["Limits", "describe", "export_onnx", "make_app"]

_HOMES = {"Limits": "limits", "describe": "facts", "export_onnx": "onnx_export", "make_app": "service"}


def __getattr__(name: str) -> object:
    """Loaded when first used: an export needs no web server, and a server no exporter."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vmtl.serving' has no attribute {name!r}")
    if name == "make_app":
        require("serve", "Serving", "starlette")
    value = globals()[name] = getattr(import_module(f"vmtl.serving.{_HOMES[name]}"), name)
    return value
