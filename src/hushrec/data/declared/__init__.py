"""The facts that a domain declares, with their checks and their description in words.

Privacy: public where nothing else is said.
"""
