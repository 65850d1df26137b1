"""Attacks by an auditor who knows the truth: on the fits of any model."""
