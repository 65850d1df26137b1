"""Loops that fit factors: gradient descent and least squares."""
