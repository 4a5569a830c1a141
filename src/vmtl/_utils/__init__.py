"""What every room may use: files, shapes, randomness, threads, messages."""
