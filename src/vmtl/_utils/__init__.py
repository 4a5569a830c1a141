"""What every package may use: files, shapes, randomness, threads, messages."""
