"""Markov chains over factors: Gibbs sweeps, and diagnostics of convergence."""
