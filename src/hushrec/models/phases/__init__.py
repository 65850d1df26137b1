"""Phases that several models share: each measures private sums and estimates parameters from them.

Privacy: public where nothing else is said.
"""
