"""The development suite: tables, text, embeddings, pixels, counts and special cases. Run by ``development.py``."""
