"""Attacks on what is published: linkage of released rows, and membership inference."""
