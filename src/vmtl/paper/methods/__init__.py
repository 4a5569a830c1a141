"""Every method by its id: one file here and one ``METHOD`` each, and what users register from outside.

A method of your own is one of three things:

- passed to an estimator as it is, ``VMTLClassifier(Method(...))``;
- registered in a program, ``vmtl.register_method("mine", Method(...))``: estimators know it by its id, and model files
  can be saved and loaded, as long as the program runs;
- installed with a package that has an entry point in the group ``vmtl.methods``: the command line, the benchmark and
  every process know it.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from vmtl.paper.method import Method

#: The group of entry points in which packages declare methods.
GROUP = "vmtl.methods"


class UnknownMethodError(ValueError):
    """An id that no method has here."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Unknown method {name!r}; choose one of {', '.join(METHODS)}, or register yours.")

    def __reduce__(self) -> tuple[type[UnknownMethodError], tuple[str]]:
        return type(self), (self.name,)


def discover(package_path: list[str], package_name: str) -> dict[str, Method]:
    """The ``METHOD`` of every module of a package, by module name; a file that has none is an error."""
    methods: dict[str, Method] = {}
    for info in sorted(pkgutil.iter_modules(package_path), key=lambda item: item.name):
        file = f"{package_name}/{info.name}.py"
        if not _is_id(info.name):
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
        methods[info.name] = method
    return methods


def _is_id(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name == name.lower() and not name.startswith("_")


#: The methods of this package; nothing replaces them.
BUILT_IN: Mapping[str, Method] = MappingProxyType(discover(list(__path__), __name__))
_REGISTERED: dict[str, Method] = dict(BUILT_IN)
#: Every method by its id; ``register_method`` adds to it.
METHODS: Mapping[str, Method] = MappingProxyType(_REGISTERED)


def register_method(name: str, method: Method, *, replace: bool = False) -> None:
    """Give a method of your own an id.

    From then on, in this process, estimators take the id as ``method``, a fitted model can be saved, and a file of
    such a model can be loaded. For the command line, and for other processes, declare an entry point in the group
    ``vmtl.methods`` instead: installed packages are registered by themselves.

    Parameters
    ----------
    name : str
        The id: lower-case letters, digits and _.
    method : Method
        The declaration.
    replace : bool, default=False
        Whether a method that was registered before under this id may be replaced by another one. Registering the same
        declaration again changes nothing. The methods of vmtl itself cannot be replaced.

    Examples
    --------
    >>> import vmtl
    >>> mine = vmtl.Method("Mine", "Bayesian w", "you", q_w="gaussian", prior_w="standard_normal")
    >>> vmtl.register_method("mine", mine)
    >>> vmtl.METHODS["mine"] is mine
    True
    """
    if not _is_id(name):
        raise ValueError(f"A method's id has lower-case letters, digits and _; got {name!r}.")
    if not isinstance(method, Method):
        raise TypeError(f"register_method takes a vmtl.Method; got {type(method).__name__}.")
    known = _REGISTERED.get(name, method)
    if known != method and (name in BUILT_IN or not replace):
        remedy = "choose another id" if name in BUILT_IN else "choose another id, or pass replace=True"
        raise ValueError(f"{name!r} is already the method {known.name}; {remedy}.")
    _REGISTERED[name] = method


def register_installed(points: Iterable[EntryPoint]) -> None:
    """Register what packages declare; one that cannot be used is left out with a warning."""
    for point in points:
        try:
            register_method(point.name, point.load())
        except Exception as error:
            package = "an unknown package" if point.dist is None else f"the package {point.dist.name}"
            warnings.warn(
                f"The method {point.name!r} of {package} is left out ({error}); repair or uninstall the package.",
                RuntimeWarning,
                stacklevel=2,
            )


def get_method(method: str | Method) -> Method:
    """The method of that id; a ``Method`` of your own is taken as it is."""
    if isinstance(method, Method):
        return method
    if method in METHODS:
        return METHODS[method]
    if _is_id(method):
        raise UnknownMethodError(method)
    raise ValueError(f"{method!r} is not the id of a method; choose one of {', '.join(METHODS)}.")


def method_id(method: str | Method) -> str:
    """The id under which a model file may name ``method``; one that has none is an error that says what to do."""
    if isinstance(method, str):
        return method
    for name, known in METHODS.items():
        if known == method:
            return name
    raise ValueError(
        "A model file names its method; give yours an id first: vmtl.register_method(name, method), "
        f"or an entry point in the group {GROUP}."
    )


register_installed(entry_points(group=GROUP))
