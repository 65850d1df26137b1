"""The core: costs, exact noise, the ledger and the grant. It does not depend on recommenders.

Privacy: public where nothing else is said.
"""
