"""Loops that compare rows or items: nearest neighbours, similarities, linkage scores."""
