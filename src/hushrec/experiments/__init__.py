"""Which settings, which figure? Grids of seeded runs, plots and reports: of results that are not private."""
