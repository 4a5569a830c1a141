"""What a target accepts: one sentence that refuses the input. Anything else that is raised is a finding."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Characters of the longest sentence that is still one.
LONGEST = 2000


class NoSentenceError(AssertionError):
    """The input was refused by something that is not a sentence for people."""


def check_sentence(text: str) -> None:
    """Fail unless the text is one line that ends as a sentence does."""
    if "\n" in text or not text.endswith(".") or len(text) > LONGEST:
        raise NoSentenceError(repr(text[:LONGEST]))


@contextmanager
def refused_in_a_sentence(*kinds: type[Exception]) -> Iterator[None]:
    """Let errors of these kinds pass if they are sentences; warnings do not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except kinds as error:
            try:
                check_sentence(str(error))
            except NoSentenceError as unclear:
                raise unclear from error


#: A folder in memory where there is one: targets write every input to a file.
FOLDER = Path(tempfile.mkdtemp(prefix="vmtl-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def as_file(data: bytes, name: str) -> Path:
    """The input as a file of this name; the next input of the name replaces it."""
    path = FOLDER / f"{os.getpid()}-{name}"
    path.write_bytes(data)
    return path
