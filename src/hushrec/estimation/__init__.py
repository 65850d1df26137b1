"""Public in, public out: estimates from released values. This package never accesses ratings.

Privacy: public where nothing else is said.
"""
