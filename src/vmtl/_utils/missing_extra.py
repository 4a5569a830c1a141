"""Packages of extras: when one is missing, one sentence says what to install."""

from __future__ import annotations

from importlib.util import find_spec

#: Names to install, where they differ from the names to import.
_INSTALLED_AS = {"PIL": "pillow"}


def require(extra: str, what: str, *modules: str) -> None:
    """Raise an ``ImportError`` with one sentence unless all ``modules`` are installed.

    Parameters
    ----------
    extra : str
        The extra of ``vmtl`` that installs them.
    what : str
        What needs them; the sentence begins with it.
    *modules : str
        Top-level modules, which are looked for and not imported.
    """
    for module in modules:
        if find_spec(module) is None:
            name = _INSTALLED_AS.get(module, module)
            raise ImportError(f'{what} needs {name}; run pip install "vmtl[{extra}]".', name=module)
