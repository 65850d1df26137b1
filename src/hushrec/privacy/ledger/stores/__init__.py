"""Where a ledger is kept: SQLite in a file or memory, or PostgreSQL for many hosts, behind one protocol."""
