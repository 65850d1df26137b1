"""The core: costs, exact noise, the ledger and the grant. It knows nothing of recommenders."""
