"""Models in production: a fitted estimator as an ONNX file, or behind HTTP."""

from typing import TYPE_CHECKING, Any

from vmtl.serving.facts import describe
from vmtl.serving.onnx_export import export_onnx

if TYPE_CHECKING:
    from vmtl.serving.service import make_app

__all__ = ["describe", "export_onnx", "make_app"]


def __getattr__(name: str) -> Any:
    """The web service is loaded when it is asked for: who exports needs no FastAPI."""
    if name != "make_app":
        raise AttributeError(f"module 'vmtl.serving' has no attribute {name!r}")
    from vmtl.serving.service import make_app

    return make_app
