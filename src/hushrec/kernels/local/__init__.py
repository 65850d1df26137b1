"""Loops that randomize one person's row, cell by cell or slot by slot."""
