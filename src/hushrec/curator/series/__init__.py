"""Releases that repeat under one charge: their plan, their private memory, and the next of them."""
