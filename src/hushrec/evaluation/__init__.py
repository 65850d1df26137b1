"""How good a release is, measured on held-out ratings, which is not private."""
