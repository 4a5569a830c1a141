"""Fixed features: from raw columns to what an encoder reads, learned once on the training rows."""
