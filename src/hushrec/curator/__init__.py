"""The curator's verbs: plan, charge, fit, release data, and write the statement.

Privacy: public where nothing else is said.
"""
