"""Measures how good a release is. Everything here reads held-out ratings, so no result is private."""
