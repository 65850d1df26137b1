"""Grids of seeded runs, their plots and reports: results that are not private."""
