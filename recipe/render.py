"""Render the conda recipe and hold it against pyproject.toml: the same packages, from the same versions on."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parents[1]
#: Extras that the conda package includes.
INCLUDED = ("cli", "report", "tables")
#: Names on PyPI and on conda-forge, where they differ.
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def expected() -> set[str]:
    """Requirements of pyproject.toml, as conda writes them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [
        *project["dependencies"],
        *(line for extra in INCLUDED for line in project["optional-dependencies"][extra]),
    ]
    requirements = {f"python {project['requires-python']}"}
    for line in listed:
        name, bound = re.fullmatch(r"([\w.-]+)(>=[\w.]+)", line).groups()  # type: ignore[union-attr]
        requirements.add(f"{CONDA_NAMES.get(name, name)} {bound}")
    return requirements


def main() -> int:
    recipe = Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml")
    (rendered,) = recipe.render(VariantConfig())
    package = rendered.recipe.package
    needed = {str(requirement) for requirement in rendered.recipe.requirements.run}
    print(f"{package.name} {package.version}: renders, with {len(needed)} requirements")
    if needed != expected():
        print(
            f"Not as in pyproject.toml: {', '.join(sorted(needed ^ expected()))}; repair the recipe.", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
