"""The tests of numbers once more with other rounding: ``make test-portable``; all tests: ``make test MACHINE=SSE4.2``.

A processor without AVX-512, or of another maker, rounds its matrix products differently. The first set plays such a
machine on any other (``helpers.rounding``); in the others environment variables tell the libraries to leave
instructions unused. Each set is proved first, by a product whose bits differ from those of this machine as it is; a set
that changes nothing here is named and left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

#: torch computes with MKL and kernels of its own, NumPy and SciPy with OpenBLAS.
SETS: dict[str, dict[str, str]] = {
    "other rounding": {"VMTL_TEST_OTHER_ROUNDING": "1", "OPENBLAS_CORETYPE": "Nehalem"},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "SSE4.2": {"ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "OPENBLAS_CORETYPE": "Nehalem"},
    # What MKL does on processors of another maker.
    "compatible": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Sandybridge"},
}
TESTS = (
    "tests/estimators",
    "tests/gp",
    "tests/paper",
    "tests/reliability/test_bad_classes.py",
    "tests/reliability/test_bad_parameters.py",
    "tests/reliability/test_bad_predictions.py",
    "tests/reliability/test_bad_rows.py",
    "tests/reliability/test_bad_targets.py",
    "tests/reliability/test_determinism.py",
    "tests/reliability/test_layout.py",
    "tests/reliability/test_foreign_files.py",
    "tests/reliability/test_model_files.py",
    "tests/reliability/test_mutated_files.py",
    "tests/reliability/test_numerics.py",
    "tests/reliability/test_unusual_fits.py",
    "tests/_utils",
)
#: Prints one number for the bits of torch's products and one for NumPy's.
PRODUCTS = """
import zlib
import numpy as np
import torch
from helpers.rounding import switch_on_if_asked
switch_on_if_asked()
torch.set_num_threads(1)
rng = np.random.default_rng(0)
bits = {"torch": 0, "NumPy": 0}
for rows, inner, columns in ((90, 64, 37), (256, 300, 129), (7, 1000, 5)):
    for dtype in (np.float32, np.float64):
        a, b = rng.normal(size=(rows, inner)).astype(dtype), rng.normal(size=(inner, columns)).astype(dtype)
        bits["torch"] = zlib.crc32((torch.from_numpy(a) @ torch.from_numpy(b)).numpy().tobytes(), bits["torch"])
        bits["NumPy"] = zlib.crc32((a @ b).tobytes(), bits["NumPy"])
print(" ".join(f"{name}={value:08x}" for name, value in bits.items()))
"""


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with one of the sets, and nothing left of another."""
    known = {name for each in SETS.values() for name in each}
    return {**{name: value for name, value in os.environ.items() if name not in known}, **variables}


def product_bits(variables: Mapping[str, str]) -> dict[str, str]:
    """The bits of the products of each library under a set."""
    said = subprocess.run(
        [sys.executable, "-c", PRODUCTS],
        env=environment(variables),
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return dict(part.split("=") for part in said.split())


def run_tests(variables: Mapping[str, str], options: Sequence[str]) -> int:
    """The exit code of the tests under a set."""
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, env=environment(variables), check=False).returncode


def run_under(name: str, options: Sequence[str]) -> int:
    """Run what ``options`` of pytest say under one set, which must change this machine's bits."""
    if name not in SETS:
        print(f"There is no set {name!r}; choose from {', '.join(SETS)}.")
        return 2
    if product_bits(SETS[name]) == product_bits({}):
        print(f"{name}: not run: on this machine products have the same bits")
        return 1
    return run_tests(SETS[name], options)


def main(options: Sequence[str]) -> int:
    """Run the tests under every set that changes this machine's bits; the exit code says whether all passed."""
    if options and options[0] == "--under":
        return run_under(options[1], options[2:])
    here = product_bits({})
    print("as it is:", here, flush=True)
    outcome = []
    for name, variables in SETS.items():
        bits = product_bits(variables)
        setting = " ".join(f"{key}={value}" for key, value in variables.items())
        if bits["torch"] == here["torch"]:
            outcome.append((name, "not run: on this machine torch's products have the same bits"))
            continue
        print(f"{name}: {bits} with {setting}", flush=True)
        started = time.monotonic()
        code = run_tests(variables, ["-q", "-m", "not slow and not system", *options, *TESTS])
        outcome.append((name, f"{'failed' if code else 'passed'} in {time.monotonic() - started:.0f} s"))
    for name, result in outcome:
        print(f"{name}: {result}")
    ran = [result for _, result in outcome if not result.startswith("not run")]
    if not ran:
        print("No set changes the bits of this machine: nothing was tested.")
    return int(not ran or any(result.startswith("failed") for result in ran))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
