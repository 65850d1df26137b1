"""Decisions before a fit: the model that suits the declaration, and a charged look at the crowd."""
