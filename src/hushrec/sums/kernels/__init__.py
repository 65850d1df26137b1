"""Loops that add up private integers: the result is the same, bit for bit, in any order."""
