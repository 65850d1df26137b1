"""The core: budgets, events, accounting, exact noise and the ledger. It knows nothing of recommenders."""
