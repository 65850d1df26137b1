"""Methods that release a randomized data set instead of a model, and estimates from such a data set.

Privacy: public where nothing else is said.
"""
