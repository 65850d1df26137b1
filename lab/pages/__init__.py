"""Writes the tables and pictures of documentation pages from stored rows: ``python -m lab.pages.NAME``."""
