"""Compiled loops: arrays in, arrays out. No noise of their own, no files, no privacy."""
