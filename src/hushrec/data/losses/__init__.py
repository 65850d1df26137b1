"""Counts of the records that cleaning dropped or changed, for the curator alone."""
