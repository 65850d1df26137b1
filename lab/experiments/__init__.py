"""Grids of seeded runs, their data sets, plots and tables: results that are not private."""
