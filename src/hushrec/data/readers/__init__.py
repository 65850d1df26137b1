"""Readers of files and tables: what DuckDB is told to read of each; they know formats, never the domain."""
