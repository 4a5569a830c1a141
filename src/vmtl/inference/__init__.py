"""How posteriors are found: exactly, or by gradient steps; and what they predict for new rows."""
