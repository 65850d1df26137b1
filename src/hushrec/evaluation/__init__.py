"""Measures of a release's quality: on held-out data, which no guarantee covers."""
