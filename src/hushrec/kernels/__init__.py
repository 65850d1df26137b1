"""Compiled loops: arrays in, arrays out; no files and no entropy of their own."""
