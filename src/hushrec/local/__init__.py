"""A randomized data set instead of a model, and what can be learned from it.

Privacy: public where nothing else is said.
"""
