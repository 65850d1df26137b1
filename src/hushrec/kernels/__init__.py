"""Compiled loops: arrays in, arrays out, no files, no noise of their own."""
