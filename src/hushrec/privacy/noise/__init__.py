"""Exact draws from noise distributions, and nothing else."""
