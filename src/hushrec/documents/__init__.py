"""Texts about a release: blocks of facts, the sentences of each language in one file, writers."""
