"""One target under Atheris: ``python fuzz/harness.py TARGET [options of libFuzzer] [files or folders]``."""

from __future__ import annotations

import hashlib
import importlib
import random
import sys
from pathlib import Path
from types import ModuleType

import atheris

HERE = Path(__file__).resolve().parent


def load(name: str) -> ModuleType:
    """The target with the package instrumented; its seeds have run, so that what is imported late is, too."""
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
    with atheris.instrument_imports(include=["vmtl"]):
        target = importlib.import_module(f"targets.{name}")
        for seed in target.SEEDS:
            target.one_input(seed)
    return target


def write_seeds(target: ModuleType, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in target.SEEDS:
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


def main() -> None:
    name, *options = sys.argv[1:]
    target = load(name)
    if options[:1] == ["--seeds"]:
        write_seeds(target, Path(options[1]))
        return
    shaped = getattr(target, "mutate", None)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        """Three in four keep the shape of the input; the rest are of bytes."""
        other = shaped(data, seed) if shaped is not None and random.Random(seed).random() < 0.75 else None
        return other if other is not None and len(other) <= max_size else atheris.Mutate(data, max_size)

    atheris.Setup([sys.argv[0], *options], target.one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
