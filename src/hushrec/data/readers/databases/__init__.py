"""Ratings in databases: what one SELECT returns, read-only and in batches, every cell as text."""
