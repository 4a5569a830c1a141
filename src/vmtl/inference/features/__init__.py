"""Fixed features: from raw columns to what an encoder reads, chosen and learned once on the training rows."""
