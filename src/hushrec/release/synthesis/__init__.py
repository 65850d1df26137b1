"""Synthetic people from a release: how many items each has, which, and how they rate them.

All of it is post-processing: rows are drawn from what the file says, by anyone who has the file.
"""
