"""Exact draws from noise distributions, and nothing else.

Privacy: every name says its own.
"""
