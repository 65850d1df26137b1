"""Exact fits of factors: private in, private out; they add no noise."""
