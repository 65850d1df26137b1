"""Phases that several models share: a private sum, its measurement, and the estimate made from it."""
