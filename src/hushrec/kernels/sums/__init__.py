"""Loops that add up private integers: the same bits in any order."""
