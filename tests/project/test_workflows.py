"""Workflows and hooks name targets, paths and tools that exist; their form is checked by ``make lint``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def jobs() -> dict[str, dict[str, Any]]:
    return {
        name: job
        for file in WORKFLOWS
        for name, job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].items()
    }


def steps(key: str) -> list[str]:
    """What the steps of all jobs ``run`` or ``use``."""
    return [step[key] for job in jobs().values() for step in job["steps"] if key in step]


@pytest.mark.parametrize("command", steps("run"))
def test_targets_and_paths_of_a_step_exist(command: str) -> None:
    for target in re.findall(r"\bmake ([\w-]+)", command):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"the Makefile has no target {target}"
    for path in re.findall(r"(?<![\w/])(?:tests|examples|\.ci)/[\w/.]+|constraints[\w-]*\.txt", command):
        assert (ROOT / path).exists(), f"{path} does not exist"


@pytest.mark.parametrize("action", steps("uses"))
def test_actions_are_pinned_to_a_commit(action: str) -> None:
    assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)


def test_the_matrix_covers_systems_and_versions() -> None:
    """All three systems, and every Python from the oldest that pyproject.toml allows."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in WORKFLOWS)
    assert all(system in text for system in ("ubuntu-latest", "macos-latest", "windows-latest"))
    tested = {int(minor) for minor in re.findall(r'"3\.(\d+)"', text)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = int(project["requires-python"].removeprefix(">=3."))
    assert tested == set(range(oldest, max(tested) + 1))


def test_hooks_are_the_linters_of_the_makefile() -> None:
    content = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in content["repos"] for hook in repository["hooks"]]
    assert all(repository["repo"] == "local" for repository in content["repos"]), "hooks need no network"
    programs = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
    lint = MAKEFILE.split("\nlint:")[1].split("\n\n")[0]
    assert programs == set(re.findall(r"\$\(BIN\)/([\w-]+)", lint))
