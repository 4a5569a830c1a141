"""Notes of a release: the changelog's section of its version, and no other."""

from __future__ import annotations

import pytest

from release_notes import notes, source_version
from vmtl import __version__

CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.0] - 2030-01-31

### Added
- One thing.

## [1.1.0] - 2029-12-01

- Another.
"""


def test_the_section_of_the_version() -> None:
    assert notes("v1.2.0", "1.2.0", CHANGELOG) == "### Added\n- One thing."
    assert notes("v1.1.0", "1.1.0", CHANGELOG) == "- Another."


def test_a_tag_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"The tag v1.2.0 is not v1.1.0"):
        notes("v1.2.0", "1.1.0", CHANGELOG)


@pytest.mark.parametrize("version", ["1.3.0", "1.2", "Unreleased"])
def test_a_version_without_a_section_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="has no section"):
        notes(f"v{version}", version, CHANGELOG)


def test_the_version_is_read_without_an_import() -> None:
    assert source_version() == __version__
