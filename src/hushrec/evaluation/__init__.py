"""Measures how good a release is: on held-out ratings, which no guarantee covers, or on made-up people."""
