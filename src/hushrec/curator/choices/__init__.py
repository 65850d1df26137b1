"""Decisions before a fit: the model, the split of the budget, and a charged look at the crowd."""
