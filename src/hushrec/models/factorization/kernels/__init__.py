"""Loops that fit or draw factors: least squares, gradient descent, Gibbs draws."""
