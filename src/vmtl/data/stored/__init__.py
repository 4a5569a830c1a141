"""Rows that lie in a folder of Parquet files and need not fit into memory."""
