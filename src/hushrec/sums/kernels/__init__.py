"""Loops over private rows: sums of integers, the same bit for bit in any order, and nearest neighbours."""
