"""The benchmark against what practitioners type: sets, peers, scores and tables. Run by ``benchmarks/peers``."""
