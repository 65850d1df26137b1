"""The verbs of whoever holds the ratings: plan, charge, fit, release data, and write the statement."""
