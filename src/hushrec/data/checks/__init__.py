"""Checks of a source before anything is charged, for the curator alone."""
