"""Texts about a release: blocks of facts, the sentences in one file, writers."""
