"""The record of what was spent, on disk before any noise is drawn."""
