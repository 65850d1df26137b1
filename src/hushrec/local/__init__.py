"""A randomized data set in place of a model: local randomizers and what can be learned from their output."""
