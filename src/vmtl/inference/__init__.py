"""How posteriors are found: exactly, or by gradient steps; and what they say about new rows."""
