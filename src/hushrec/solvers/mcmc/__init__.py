"""Markov chains over factors: stochastic gradient Langevin dynamics and its diagnostics."""
