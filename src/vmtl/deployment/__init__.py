"""Models in production: a fitted estimator as an ONNX file, or behind HTTP."""

from typing import TYPE_CHECKING, Any

from vmtl._utils.missing_extra import require
from vmtl.deployment.facts import describe
from vmtl.deployment.onnx_export import export_onnx

if TYPE_CHECKING:
    from vmtl.deployment.service import make_app

__all__ = ["describe", "export_onnx", "make_app"]


def __getattr__(name: str) -> Any:
    """The web service is loaded when it is asked for: who exports needs no FastAPI."""
    if name != "make_app":
        raise AttributeError(f"module 'vmtl.deployment' has no attribute {name!r}")
    require("serve", "Serving", "fastapi")
    from vmtl.deployment.service import make_app

    return make_app
