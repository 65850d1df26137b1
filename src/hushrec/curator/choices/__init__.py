"""Decisions before a fit: the model and the split of the budget."""
