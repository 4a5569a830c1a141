"""``benchmarks`` is a folder of scripts: what they import is found from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
