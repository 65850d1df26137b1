"""Which settings, which figure? Grids of seeded runs, plots and reports."""
