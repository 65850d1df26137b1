"""The curator's verbs: plan, charge, fit, release data, and write the statement."""
