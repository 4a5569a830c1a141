"""How methods are found: one file each, or registered in a program."""

import ast
import doctest
import pickle
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from vmtl import METHODS, Method, paper, register_method
from vmtl.paper import methods
from vmtl.paper.methods import UnknownMethodError, discover, get_method, method_id, register_installed

PAPER = {"stl", "vstl", "bmtl", "vbmtl", "vmtl", "vmtl_ac", "bakker", "long", "kendall", "qian", "pooled"}


def test_all_methods_of_the_paper_are_found() -> None:
    assert set(METHODS) >= PAPER
    for method in METHODS.values():
        assert method.summary
        assert method.reference


def test_get_method() -> None:
    assert get_method("vmtl") is METHODS["vmtl"]
    assert get_method(METHODS["stl"]) is METHODS["stl"]
    with pytest.raises(ValueError, match="Unknown method 'nash'; choose one of bakker, bmtl") as caught:
        get_method("nash")
    again = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert isinstance(again, UnknownMethodError)
    assert (again.name, str(again)) == ("nash", str(caught.value))


GOOD = "from vmtl.paper.method import Method\nMETHOD = Method(name='A', summary='s', reference='r')\n"


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("twelfth.py", GOOD.replace("METHOD =", "METHODE ="), "twelfth.py must define METHOD = .*it defines no METHOD"),
        ("twelfth.py", "METHOD = {'name': 'A'}\n", "must define METHOD = .*a METHOD of type dict"),
        ("twelfth.py", GOOD.replace("'r')", "'r', q_w='gaussian')"), "twelfth.py does not declare a method .*prior_w"),
        ("twelfth.py", GOOD.replace("name=", "names="), "twelfth.py does not declare a method .*names"),
        ("twelfth.py", "METHOD = Method(\n", "twelfth.py does not declare a method"),
        ("my-method.py", GOOD, "my-method.py is misnamed: .*rename it"),
        ("Twelfth.py", GOOD, "Twelfth.py is misnamed"),
        ("_twelfth.py", GOOD, "_twelfth.py is misnamed"),
    ],
)
def test_a_misnamed_or_malformed_file_fails_at_import(
    file: str, text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImportError, match=sentence):
        discover_in(tmp_path, {"first.py": GOOD, file: text}, monkeypatch)


def test_a_good_file_is_all_that_a_method_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discovered = discover_in(tmp_path, {"first.py": GOOD, "twelfth.py": GOOD}, monkeypatch)
    assert list(discovered) == ["first", "twelfth"]
    assert discovered["twelfth"].name == "A"


def discover_in(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Method]:
    package = folder / "own_methods"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in files.items():
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == "own_methods"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        return discover([str(package)], "own_methods")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "own_methods"]:
            del sys.modules[name]


def test_no_method_is_named_outside_its_file() -> None:
    """The id of a method never appears as a string in the code that fits and predicts."""
    for path in [p for p in Path(paper.__file__).parent.rglob("*.py") if p.parent.name != "methods"]:
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        named = {node.value for node in nodes if isinstance(node.value, str)} & set(METHODS)
        assert not named, f"{path.name} names {named}"


# -- from outside ----------------------------------------------------------------------------------------

MINE = Method("Mine", "deterministic z, Bayesian w", "a test", q_w="gaussian", prior_w="gumbel_mixture")


@pytest.mark.usefixtures("registry")
def test_what_may_be_registered() -> None:
    for name in ("Mine", "my-method", "_mine", "", 3):
        with pytest.raises(ValueError, match="id has lower-case letters, digits and _; got"):
            register_method(name, MINE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a vmtl\.Method; got dict"):
        register_method("mine", {"name": "Mine"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'vmtl' is already the method VMTL; choose another id\\."):
        register_method("vmtl", MINE, replace=True)
    register_method("mine", MINE)
    register_method("mine", MINE)  # a cell of a notebook, run again
    other = Method("Other", "s", "r")
    with pytest.raises(ValueError, match=r"'mine' is already the method Mine; .* or pass replace=True"):
        register_method("mine", other)
    register_method("mine", other, replace=True)
    assert METHODS["mine"] is other
    assert method_id(other) == "mine"
    with pytest.raises(TypeError):
        METHODS["mine"] = MINE  # type: ignore[index]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("broken", "nowhere:MINE", "No module named 'nowhere'"),
        ("vmtl", "helpers.paper_models:SMALL", "takes a vmtl.Method"),
    ],
)
def test_a_package_that_cannot_be_used_is_left_out(name: str, value: str, reason: str) -> None:
    before = dict(METHODS)
    with pytest.warns(RuntimeWarning, match=f"The method '{name}' of an unknown package is left out .*{reason}"):
        register_installed([EntryPoint(name, value, "vmtl.paper.methods")])
    assert dict(METHODS) == before


@pytest.mark.usefixtures("registry")
def test_the_example_in_the_docstring() -> None:
    result = doctest.testmod(methods)
    assert result.attempted >= 4
    assert result.failed == 0
