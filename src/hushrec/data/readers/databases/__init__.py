"""Ratings in databases: the rows of one SELECT, read-only and in batches, every cell as text."""
