"""What a method may be, and how methods are found."""

import sys
from pathlib import Path
from typing import Any

import pytest

from vmtl import METHODS, Method
from vmtl.methods import discover, get_method

PAPER = {"stl", "vstl", "bmtl", "vbmtl", "vmtl", "vmtl_ac", "bakker", "long", "kendall", "qian", "pooled"}


def test_all_methods_of_the_paper_are_found() -> None:
    assert set(METHODS) >= PAPER
    for method in METHODS.values():
        assert method.summary
        assert method.reference


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"prior_z": "standard_normal"}, "prior_z='standard_normal' is a KL and needs q_z='gaussian'"),
        ({"prior_w": "standard_normal"}, "prior_w='standard_normal' needs q_w='gaussian'; q_w is 'delta'"),
        ({"prior_w": "gumbel_mixture"}, "prior_w='gumbel_mixture' needs q_w='gaussian'"),
        ({"q_w": "gaussian", "prior_w": "tensor_normal"}, "prior_w='tensor_normal' needs q_w='delta'"),
        ({"q_z": "gaussian"}, "q_z='gaussian' needs a prior_z"),
        ({"q_w": "gaussian"}, "q_w='gaussian' needs a prior_w"),
        (
            {"encoder": "per task", "q_w": "gaussian", "prior_w": "gumbel_mixture"},
            "a mixture of other tasks needs one shared encoder",
        ),
        ({"shared_head": True, "q_w": "gaussian", "prior_w": "standard_normal"}, "one classifier for all tasks"),
        ({"shared_head": True, "head": "amortised"}, "set shared_head=False"),
        ({"prior_w": "laplace"}, "prior_w must be one of None, 'standard_normal'"),
        ({"q_z": "laplace"}, "q_z must be one of 'delta', 'gaussian'; got 'laplace'"),
        ({"weighting": "gradnorm"}, "weighting must be one of 'equal', 'uncertainty'"),
        ({"head": "linear"}, "head must be one of"),
        ({"encoder": "own"}, "encoder must be one of"),
    ],
)
def test_meaningless_combinations_are_refused_when_declared(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        Method(name="Mine", summary="s", reference="r", **fields)
    assert str(caught.value).startswith("Mine: ")


def test_get_method() -> None:
    assert get_method("vmtl") is METHODS["vmtl"]
    assert get_method(METHODS["stl"]) is METHODS["stl"]
    with pytest.raises(ValueError, match="Unknown method 'nash'; choose one of bakker, bmtl"):
        get_method("nash")


GOOD = "from vmtl.model.method import Method\nMETHOD = Method(name='A', summary='s', reference='r')\n"


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
    found = discover_in(tmp_path, {"first.py": GOOD, "twelfth.py": GOOD}, monkeypatch)
    assert list(found) == ["first", "twelfth"]
    assert found["twelfth"].name == "A"


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
    """The id of a method never appears as a string in the engine, except as the estimators' default."""
    import vmtl

    root = Path(vmtl.__file__).parent
    rooms = ("_utils", "data", "config", "model", "inference", "estimators")
    for path in [path for room in rooms for path in (root / room).rglob("*.py")]:
        text = path.read_text().replace('method: Any = "vmtl"', "")
        named = [name for name in METHODS if f'method == "{name}"' in text or (name != "vmtl" and f'"{name}"' in text)]
        assert not named, f"{path.name} names {named}"
