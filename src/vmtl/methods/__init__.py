"""Every method by its id, found by discovery: one file, one ``METHOD``."""

from __future__ import annotations

import importlib
import pkgutil

from vmtl.model.method import Method


def discover(package_path: list[str], package_name: str) -> dict[str, Method]:
    """The ``METHOD`` of every module of a package, by module name; a file that has none is an error."""
    found: dict[str, Method] = {}
    for info in sorted(pkgutil.iter_modules(package_path), key=lambda item: item.name):
        file = f"{package_name}/{info.name}.py"
        if not info.name.isidentifier() or info.name != info.name.lower() or info.name.startswith("_"):
            raise ImportError(f"{file} is misnamed: a method's id has lower-case letters, digits and _; rename it.")
        try:
            module = importlib.import_module(f"{package_name}.{info.name}")
        except Exception as error:
            raise ImportError(f"{file} does not declare a method ({error}); repair it.") from error
        method = getattr(module, "METHOD", None)
        if not isinstance(method, Method):
            raise ImportError(
                f"{file} must define METHOD = Method(...); it defines "
                f"{'no METHOD' if method is None else f'a METHOD of type {type(method).__name__}'}."
            )
        found[info.name] = method
    return found


METHODS: dict[str, Method] = discover(list(__path__), __name__)


def get_method(method: str | Method) -> Method:
    """The method of that id; a ``Method`` of your own is taken as it is."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}; choose one of {', '.join(METHODS)}.")
    return METHODS[method]
