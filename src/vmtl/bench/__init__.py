"""Benchmarks: jobs named by their arguments, records as JSON lines, tables as pure functions of records."""
