"""Attacks on the fits of any model, by an auditor who knows all ratings."""
