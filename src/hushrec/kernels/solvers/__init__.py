"""Loops that fit factors: least squares, gradient descent and Langevin dynamics."""
