"""Local randomizers: each person's row is randomized alone, before anyone else sees it."""
