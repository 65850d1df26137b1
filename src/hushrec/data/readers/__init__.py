"""Readers of file formats, which return columns of text; they know formats, never the domain."""
