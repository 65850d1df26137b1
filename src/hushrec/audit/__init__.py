"""Attacks on published data by an auditor who knows the truth; they must succeed on unprotected data."""
