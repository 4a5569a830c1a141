"""Files for `load`: mutated and signed again, as a hostile author would, so that checksums stop nothing."""

from __future__ import annotations

import random

import vmtl
from helpers.model_files import put_together, take_apart
from mutation import changed
from oracle import FOLDER, as_file, refused_in_a_sentence
from targets.small_models import fitted_classifier, fitted_forest, fitted_regressor
from vmtl._utils.tensor_files import ModelFileError


def _saved() -> tuple[bytes, ...]:
    """Models as they are saved today: a corpus of files would be out of date with the next format."""
    files = []
    for model in (fitted_classifier(), fitted_forest(), fitted_regressor()):
        model.save(FOLDER / "seed.vmtl")
        files.append((FOLDER / "seed.vmtl").read_bytes())
    return tuple(files)


SEEDS = _saved()


def one_input(data: bytes) -> None:
    file = as_file(data, "model.vmtl")
    with refused_in_a_sentence(ModelFileError):
        vmtl.load(file)


def mutate(data: bytes, seed: int) -> bytes | None:
    rng = random.Random(seed)
    try:
        table, header, payload, body = take_apart(data)
        kind = rng.randrange(8)
        if kind == 0:
            table = changed(table, rng)
        elif kind == 1:
            header = changed(header, rng)
        elif kind == 2 and body:
            place = rng.randrange(len(body))
            body = body[:place] + rng.choice((b"\0", b"\xff", b"\x7f\xc0", b"\x00\x00\xc0\x7f")) + body[place + 1 :]
        else:
            for _ in range(rng.randint(1, 2)):
                payload = changed(payload, rng)
        return put_together(table, header, payload, body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
