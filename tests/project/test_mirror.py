"""Tests mirror the rooms: who looks for the test of a module finds it by its name."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
#: Modules that say only what others do or are.
NAMES_WITHOUT = {"__init__.py", "__main__.py"}
PATHS_WITHOUT = {"_utils/types.py"}
#: Declarations, which one file tests all together.
DECLARATIONS, TEST_OF_DECLARATIONS = "methods", "methods/test_methods.py"


def wants_a_test(module: PurePosixPath) -> bool:
    if module.name in NAMES_WITHOUT or str(module) in PATHS_WITHOUT:
        return False
    return str(module.parent) != DECLARATIONS


def mirrored(module: PurePosixPath) -> PurePosixPath:
    """``data/rows.py`` to ``data/test_rows.py``; a module that is private has a test without the underscore."""
    return module.with_name(f"test_{module.name.lstrip('_')}")


def files_below(folder: str) -> set[PurePosixPath]:
    return {PurePosixPath(file.relative_to(ROOT / folder).as_posix()) for file in (ROOT / folder).rglob("*.py")}


def test_every_module_has_a_test_of_its_name_in_the_same_folder() -> None:
    modules, tests = files_below("src/vmtl"), files_below("tests")
    wanted = sorted(module for module in modules if wants_a_test(module))
    assert len(wanted) > 200
    missing = [str(mirrored(module)) for module in wanted if mirrored(module) not in tests]
    assert not missing, (
        f"These modules of src/vmtl have no test of their name, so add below tests: {', '.join(missing)}."
    )


def test_the_exceptions_are_there_and_declarations_are_tested_together() -> None:
    modules, tests = files_below("src/vmtl"), files_below("tests")
    assert {PurePosixPath(path) for path in PATHS_WITHOUT} <= modules
    assert PurePosixPath(TEST_OF_DECLARATIONS) in tests
