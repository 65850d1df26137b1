"""Exact fits of factors: private in, private out, no noise of their own."""
