"""Private sums over ratings, each with the sensitivity bound that calibrates its noise.

Privacy: public where nothing else is said.
"""
