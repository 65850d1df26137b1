"""Grids of seeded runs, their data sets, figures and tables: results that are not private."""
